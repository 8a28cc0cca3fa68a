"""What validate measures, written by hand with torch and torchvision alone: this file imports nothing of gpudoctor."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torchvision

NETWORKS = ("resnet18", "resnet50", "vgg16", "mobilenet_v2")
SIDE = {"cpu": 1024}
BYTES = {"cpu": 256 << 20}


def network(name: str, task: str, batch: int, device: str) -> Callable[[], object]:
    """One step of a network of torchvision on random images of 224x224."""
    torch.manual_seed(0)
    model = getattr(torchvision.models, name)(weights=None).to(device)
    images = torch.randn(batch, 3, 224, 224, device=device)
    if task == "inference":
        model.eval()

        def infer() -> torch.Tensor:
            with torch.no_grad():
                return model(images)

        return infer
    model.train()
    labels = torch.randint(0, 1000, (batch,), device=device)
    cross_entropy = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def train() -> None:
        optimizer.zero_grad()
        cross_entropy(model(images), labels).backward()
        optimizer.step()

    return train


def micro(name: str, device: str) -> Callable[[], object]:
    """matmul, memory_bandwidth or launch."""
    kind = torch.device(device).type
    if name == "matmul":
        side = SIDE.get(kind, 4096)
        left, right = (torch.rand(side, side, device=device) * 2 - 1 for _ in range(2))
        return lambda: torch.matmul(left, right)
    if name == "memory_bandwidth":
        count = BYTES.get(kind, 512 << 20) // 4
        a, b, c = (torch.rand(count, device=device) for _ in range(3))
        return lambda: torch.add(a, b, out=c)
    few = torch.ones(16, device=device)
    return lambda: few.add_(1)
