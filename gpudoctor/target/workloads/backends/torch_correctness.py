"""What torch computes on a device against float64 on the processor: outputs, gradients, and the loss of a few training steps.

The error is |got - right| by |right| (Euclidean norms) for each tensor: a wrong kernel moves all of it, rounding moves little.
"""

import correctness
import network_ir
import torch
import torch_networks
from correctness import GRADIENT_FACTOR, STEPS, small

TOLERANCES = {getattr(torch, name): value for name, value in correctness.TOLERANCES.items()}


def matrix(side, shift, dtype):
    """Numbers in -1..1 without a random generator, the same everywhere."""
    numbers = torch.arange(side * side, dtype=torch.float64)
    return (torch.remainder(numbers * 0.754877666 + shift * 0.569840296, 1.0) * 2 - 1).reshape(side, side).to(dtype)


def compared(name, got, right, tolerance):
    """One row: NaN, Inf, emptiness and constants where there should be none fail whatever the numbers."""
    got = got.detach().to("cpu").double().reshape(-1)
    right = right.detach().double().reshape(-1)
    row = {"name": name, "tolerance": tolerance, "max_relative_error": None, "note": ""}
    if got.numel() != right.numel():
        row["note"] = f"{got.numel()} numbers instead of {right.numel()}"
    elif got.numel() == 0:
        row["note"] = "empty"
    elif not bool(torch.isfinite(got).all()):
        row["note"] = "NaN" if bool(torch.isnan(got).any()) else "infinite"
    elif got.numel() > 1 and float(got.max()) == float(got.min()) and float(right.max()) != float(right.min()):
        row["note"] = f"the same number everywhere ({float(got[0]):g})"
    else:
        row["max_relative_error"] = float((got - right).norm() / right.norm().clamp_min(1e-30))
    row["passed"] = row["max_relative_error"] is not None and row["max_relative_error"] <= tolerance
    return row


def matmul(device, dtype):
    left, right = matrix(192, 1, dtype), matrix(192, 2, dtype)
    found = torch.matmul(left.to(device.torch_device), right.to(device.torch_device))
    return [compared("matmul", found, torch.matmul(left.double(), right.double()), TOLERANCES[dtype])]


def inference(request, device, dtype):
    network, _ = small(request, averages_to_any=device.kind != "ocl")
    with torch.no_grad():
        reference = torch_networks.build(network, "cpu", torch.float64, dropout=False, fused_attention=False).eval()
        right = _parts(reference(*_doubled(torch_networks.inputs(network))))
        del reference
        model = torch_networks.build(network, device.torch_device, dtype, dropout=False).eval()
        got = _parts(model(*torch_networks.inputs(network, device.torch_device, dtype)))
    return [compared(f"output {number}", a, b, TOLERANCES[dtype]) for number, (a, b) in enumerate(zip(got, right))]


def training(request, device, dtype):
    """Gradients of the first step, and the losses of a few."""
    from torch_training import Trainer

    network, classes = small(request, averages_to_any=device.kind != "ocl")
    rows, losses = [], []
    for where, kind, place in (("cpu", torch.float64, None), (device.torch_device, torch.float32, device)):
        model = torch_networks.build(network, where, kind, dropout=False, fused_attention=False).train()
        trainer = Trainer(model, network, place, dtype, request)
        given = torch_networks.inputs(network, where, kind)
        labels = torch_networks.labels(given[0].shape[0], classes, where) if network_ir.has_labels(network, classes) else None
        told = []
        for _ in range(STEPS):
            value = trainer.backward(given, labels)
            if not told:
                gradients = {name: p.grad.detach().to("cpu").double() for name, p in model.named_parameters() if p.grad is not None}
            trainer.update()
            told.append(float(value.to("cpu")))
        losses.append(told)
        rows.append(gradients)
    name = str(dtype).replace("torch.", "")
    return judged(rows, losses, TOLERANCES[dtype] * GRADIENT_FACTOR, correctness.gradient_tolerance(request, name))


def judged(rows, losses, tolerance, of_gradients):
    right, got = rows
    whole = [torch.cat([one[name].reshape(-1) for name in right if name in one] or [torch.zeros(0)]) for one in (got, right)]
    found = [compared("gradients", whole[0], whole[1], of_gradients)]
    if len(got) < len(right):
        found[0].update(passed=False, note=f"{len(right) - len(got)} of {len(right)} tensors got no gradient")
    elif float(whole[0].abs().max()) == 0.0:
        found[0].update(passed=False, note="all gradients are zero")
    elif found[0]["max_relative_error"] is not None:
        broken = correctness.wrong_tensor([_norms(name, got[name], right[name]) for name in right], of_gradients)
        if broken:
            found[0].update(passed=False, note=broken)
    found.append(compared("losses", torch.tensor(losses[1]), torch.tensor(losses[0]), tolerance))
    if losses[0][-1] < losses[0][0] and not losses[1][-1] < losses[1][0]:
        found[-1].update(passed=False, note=f"the loss falls on the processor ({losses[0][0]:.4g} to {losses[0][-1]:.4g}) and not here")
    return found


def _norms(name, got, right):
    return (name, *(float(each.norm()) for each in (got - right, right, got)))


def _parts(found):
    return found if isinstance(found, tuple) else (found,)


def _doubled(tensors):
    return [tensor.double() if tensor.is_floating_point() else tensor for tensor in tensors]
