"""Small measurements on torch: matrix product, memory bandwidth, copies to and from the host, launch latency, files of a folder."""

import os

import matrix_products
import torch
import torch_correctness
import torch_networks
from torch_layers import cpu
from worker import Skipped, Work

MATRIX = {"cpu": 1024}
"""The side of the square matrices by kind of device; 4096 for the others."""
STREAM_BYTES = {"cpu": 256 << 20}
COPY_BYTES = 64 << 20
AT_ONCE, LAUNCHES = 1 << 22, 100
SEEN = 1 << 14
"""The number of elements of a result that are looked at after each sample."""
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

    def outcome(self):
        """The summary of a part of the last result, spread over it, because all of it would cost more than the step."""
        if self.last is None:
            return None
        flat = self.last.detach().reshape(-1)
        return torch_correctness.same([flat[:: max(1, flat.numel() // SEEN)]])

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
        self.step()
        self.sync()
        return torch_correctness.matmul(self.left, self.right, self.last, self.dtype, self.request)

    def found(self):
        if self.device.kind != "cpu" or self.dtype != torch.float32:
            return {"side": self.side}
        return {"side": self.side, "products": [*self._products(), *matrix_products.by_numpy(self.side)]}

    def _products(self):
        """Rows of the product as torch computes it, and by oneDNN, which torch uses at a lower precision setting, with the error of
        both."""
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
    """c = a + b over arrays much larger than the caches; items are the bytes read and written."""

    unit = "B/s"

    def __init__(self, device, dtype, request):
        super().__init__(device, dtype, request)
        size = int(request.get("options", {}).get("bytes") or STREAM_BYTES.get(device.kind, 512 << 20))
        count = size // torch.ones(1, dtype=dtype).element_size()
        self.a, self.b = (repeated(count, name, dtype).to(device.torch_device) for name in ("left", "right"))
        self.c = torch.full_like(self.a, float("nan"))
        self.items = 3 * size

    def step(self):
        torch.add(self.a, self.b, out=self.c)
        self.last = self.c

    def verify(self):
        """Compares all of the result exactly, because a sum of two numbers is rounded once, and so the same everywhere."""
        self.step()
        self.sync()
        a, b = self.a, self.b
        return [compared_parts(self.request["workload"], self.c, lambda part: cpu(a[part]) + cpu(b[part]))]


class ToDevice(_Micro):
    unit = "B/s"
    includes = ("host_to_device",)

    def __init__(self, device, dtype, request):
        super().__init__(device, dtype, request)
        if device.kind == "cpu":
            raise Skipped("the processor has no host to copy from")
        self.items = COPY_BYTES
        self.host = repeated(COPY_BYTES // 4, "left", torch.float32)
        if device.kind == "cuda":
            self.host = self.host.pin_memory()
        self.there = self.host.to(device.torch_device)

    def step(self):
        self.there.copy_(self.host)
        self.last = self.there

    def verify(self):
        """Copies there and back. The target is overwritten before, so that a copy that does nothing is noticed."""
        self.there.zero_()
        self.there.copy_(self.host)
        back = torch.zeros_like(self.host)
        back.copy_(self.there)
        self.sync()
        kept = repeated(COPY_BYTES // 4, "left", torch.float32)
        return [compared_parts(self.request["workload"], back, lambda part: kept[part])]


class ToHost(ToDevice):
    includes = ("device_to_host",)

    def step(self):
        self.host.copy_(self.there)
        self.last = self.there

    def outcome(self):
        return torch_correctness.same([self.host[:: self.host.numel() // SEEN]])


class Launch(_Micro):
    """One addition of 16 numbers, whose time is that of a launch."""

    unit = "launches/s"

    def __init__(self, device, dtype, request):
        super().__init__(device, dtype, request)
        self.a = torch.ones(16, dtype=dtype, device=device.torch_device)

    def step(self):
        self.a.add_(1)
        self.last = self.a

    def verify(self):
        """Adds 1 some times, and compares the count."""
        self.a.fill_(1)
        for _ in range(LAUNCHES):
            self.step()
        self.sync()
        found = compared_parts("launch", self.a, lambda part: torch.full_like(cpu(self.a[part]), 1 + LAUNCHES))
        self.a.fill_(1)
        return [found]

    def outcome(self):
        return None  # the result differs at each step, because it counts


class Files(_Micro):
    """Reads the small files of a folder (options.folder) again and again, one a step, as a data loader does."""

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


def repeated(count, name, dtype):
    """A tensor of `count` numbers from weights.py."""
    return torch_networks.values(name, (count,)).to(dtype)


def compared_parts(name, got, wanted):
    """A row of a long result of which each number has to be the same as `wanted(slice)`."""
    many, wrong, first = got.numel(), 0, None
    for begin in range(0, many, AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        differs = cpu(got[part]) != wanted(part)
        found = int(differs.sum())
        if found and first is None:
            first = begin + int(differs.to(torch.uint8).argmax())
        wrong += found
    note = f"each of {many} numbers the same as on the processor"
    if wrong:
        note = f"{wrong} of {many} numbers differ, the first is number {first}"
    error = None if wrong else 0.0
    return {
        "name": name, "max_relative_error": error, "tolerance": 0.0, "note": note, "passed": not wrong, "repeat_tolerance": 0.0,
        "compared_with": "the same work on the processor",
    }  # fmt: skip


KINDS = {
    "matmul": Matmul, "memory_bandwidth": Bandwidth, "host_to_device": ToDevice, "device_to_host": ToHost, "launch": Launch, "files": Files,
}  # fmt: skip
