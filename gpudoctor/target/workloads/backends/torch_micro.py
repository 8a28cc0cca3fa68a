"""Small measurements on torch: matrix product, memory bandwidth, copies to and from the host, launch latency, files of a folder."""

import os

import matrix_products
import torch
import torch_correctness
from worker import Skipped, Work

MATRIX = {"cpu": 1024}
"""Side of the square matrices; where nothing is said, 4096."""
STREAM_BYTES = {"cpu": 256 << 20}
COPY_BYTES = 64 << 20
ONEDNN = "oneDNN of torch (float32_matmul_precision 'medium')"


def prepare(name, device, dtype, request):
    if name not in KINDS:
        raise Skipped(f"torch has no micro workload '{name}'")
    return KINDS[name](device, dtype, request)


class _Micro(Work):
    def __init__(self, device, dtype, request):
        self.device, self.dtype, self.request, self.last = device, dtype, request, None

    def sync(self):
        self.device.sync(self.last)

    def memory_peak(self):
        return self.device.memory_peak()

    def memory_now(self):
        return self.device.memory_now()


class Matmul(_Micro):
    """items: 2 n^3 floating point operations."""

    unit = "FLOP/s"

    def __init__(self, device, dtype, request):
        super().__init__(device, dtype, request)
        self.side = int(request.get("options", {}).get("side") or MATRIX.get(device.kind, 4096))
        self.items = 2 * self.side**3
        self.left, self.right = (torch_correctness.matrix(self.side, shift, dtype).to(device.torch_device) for shift in (1, 2))

    def step(self):
        self.last = torch.matmul(self.left, self.right)

    def verify(self):
        return torch_correctness.matmul(self.device, self.dtype)

    def found(self):
        if self.device.kind != "cpu" or self.dtype != torch.float32:
            return {"side": self.side}
        return {"side": self.side, "products": [*self._products(), *matrix_products.by_numpy(self.side)]}

    def _products(self):
        """By torch's own way, and by oneDNN, which a lower precision lets it take: what that costs in precision is said beside it."""
        mkl = getattr(torch.backends, "mkl", None)
        own = "torch with MKL" if mkl is not None and mkl.is_available() else "torch"
        found = [matrix_products.row(own, self.step, self.side)]
        if hasattr(torch, "set_float32_matmul_precision"):
            before = torch.get_float32_matmul_precision()
            try:
                torch.set_float32_matmul_precision("medium")
                self.step()
                rows = self.left[:64].double() @ self.right.double()
                error = float((self.last[:64].double() - rows).abs().max() / rows.abs().max())
                found.append(matrix_products.row(ONEDNN, self.step, self.side, error))
            finally:
                torch.set_float32_matmul_precision(before)
        return found


class Bandwidth(_Micro):
    """c = a + b over arrays much larger than the caches: items are bytes read and written."""

    unit = "B/s"

    def __init__(self, device, dtype, request):
        super().__init__(device, dtype, request)
        size = int(request.get("options", {}).get("bytes") or STREAM_BYTES.get(device.kind, 512 << 20))
        count = size // torch.ones(1, dtype=dtype).element_size()
        self.a = torch.ones(count, dtype=dtype, device=device.torch_device)
        self.b, self.c = torch.ones_like(self.a), torch.ones_like(self.a)
        self.items = 3 * size

    def step(self):
        torch.add(self.a, self.b, out=self.c)
        self.last = self.c


class ToDevice(_Micro):
    unit = "B/s"
    includes = ("host_to_device",)

    def __init__(self, device, dtype, request):
        super().__init__(device, dtype, request)
        if device.kind == "cpu":
            raise Skipped("the processor has no host to copy from")
        self.items = COPY_BYTES
        self.host = torch.ones(COPY_BYTES // 4)
        if device.kind == "cuda":
            self.host = self.host.pin_memory()
        self.there = self.host.to(device.torch_device)

    def step(self):
        self.there.copy_(self.host)
        self.last = self.there


class ToHost(ToDevice):
    includes = ("device_to_host",)

    def step(self):
        self.host.copy_(self.there)
        self.last = self.there


class Launch(_Micro):
    """One addition of 16 numbers: what is left is what a launch costs."""

    unit = "launches/s"

    def __init__(self, device, dtype, request):
        super().__init__(device, dtype, request)
        self.a = torch.ones(16, dtype=dtype, device=device.torch_device)

    def step(self):
        self.a.add_(1)
        self.last = self.a


class Files(_Micro):
    """Reads small files of a folder, one a step, round and round (options.folder): what a data loader waits for."""

    unit = "files/s"
    includes = ("read",)

    def __init__(self, device, dtype, request):
        super().__init__(device, dtype, request)
        folder = request.get("options", {}).get("folder")
        if not folder:
            raise Skipped("no folder was given (--dataset DIR)")
        files = [entry for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
        names = sorted(entry.path for entry in files if entry.stat().st_size <= 1 << 20)
        if not names:
            raise Skipped(f"{folder} holds no files of 1 MiB or less")
        self.names, self.next = names[:2000], 0

    def step(self):
        with open(self.names[self.next], "rb") as file:
            file.read()
        self.next = (self.next + 1) % len(self.names)

    def sync(self):
        pass


KINDS = {
    "matmul": Matmul, "memory_bandwidth": Bandwidth, "host_to_device": ToDevice, "device_to_host": ToHost, "launch": Launch, "files": Files,
}  # fmt: skip
