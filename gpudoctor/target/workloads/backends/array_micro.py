"""Small measurements for frameworks of arrays (TensorFlow, JAX): matrix product, bandwidth, launch, copies.

A framework hands over its calls: put(numpy array) -> array on the device, host(array) -> numpy array, matmul, add, wait(array), on_cpu.
"""

import correctness
import matrix_products
import numpy
import weights
from worker import Skipped, Work

SIDE, SIDE_ON_CPU = 4096, 1024
STREAM_BYTES, STREAM_BYTES_ON_CPU = 512 << 20, 256 << 20
COPY_BYTES = 64 << 20


def prepare(name, calls, dtype, request):
    kinds = {
        "matmul": Matmul, "memory_bandwidth": Bandwidth, "bandwidth": Bandwidth, "launch": Launch, "host_to_device": ToDevice,
        "device_to_host": ToHost,
    }  # fmt: skip
    if name not in kinds:
        raise Skipped("{} has no micro workload '{}'".format(request["framework"], name))
    return kinds[name](calls, dtype, request)


class _Micro(Work):
    def __init__(self, calls, dtype, request):
        self.calls, self.dtype, self.name, self.options = calls, dtype, request["workload"], request.get("options", {})
        self.request, self.last = request, None

    def array(self, name, shape):
        return self.calls.put(weights.values(name, shape).astype(self.calls.dtypes[self.dtype]))

    def sync(self):
        if self.last is not None:
            self.calls.wait(self.last)

    def outcome(self):
        return None if self.last is None else correctness.same([self.calls.host(self.last)])


class Matmul(_Micro):
    """items: 2 n^3 floating point operations."""

    unit = "FLOP/s"

    def __init__(self, calls, dtype, request):
        super().__init__(calls, dtype, request)
        self.side = int(self.options.get("side") or (SIDE_ON_CPU if calls.on_cpu else SIDE))
        self.items = 2 * self.side**3
        self.left, self.right = (self.array(name, (self.side, self.side)) for name in ("left", "right"))

    def step(self):
        self.last = self.calls.matmul(self.left, self.right)

    def verify(self):
        given = [self.calls.host(each) for each in (self.left, self.right)]
        return [correctness.product(self.name, *given, self.calls.host(self.calls.matmul(self.left, self.right)), self.dtype, self.request)]

    def found(self):
        more = {"products": matrix_products.by_numpy(self.side)} if self.calls.on_cpu and self.dtype == "float32" else {}
        return dict(more, side=self.side)


class Bandwidth(_Micro):
    """c = a + b over arrays much larger than the caches; items are the bytes read and written."""

    unit = "B/s"
    bytes = 0

    def __init__(self, calls, dtype, request):
        super().__init__(calls, dtype, request)
        size = self.bytes or int(self.options.get("bytes") or (STREAM_BYTES_ON_CPU if calls.on_cpu else STREAM_BYTES))
        count = size // numpy.dtype(calls.dtypes[dtype]).itemsize
        self.items = 3 * size
        self.a, self.b = (self.array(name, (count,)) for name in ("left", "right"))

    def step(self):
        self.last = self.calls.add(self.a, self.b)

    def verify(self):
        """Compares all of the result exactly, because a sum of two numbers is rounded once, and so the same everywhere."""
        a, b = (self.calls.host(each) for each in (self.a, self.b))
        return [correctness.exactly(self.name, self.calls.host(self.calls.add(self.a, self.b)), a + b)]


class Launch(Bandwidth):
    """One addition of a few numbers, whose time is that of a launch."""

    unit = "launches/s"
    bytes = 64

    def __init__(self, calls, dtype, request):
        super().__init__(calls, dtype, request)
        self.items = 1


class ToDevice(_Micro):
    unit = "B/s"
    includes = ("host_to_device",)

    def __init__(self, calls, dtype, request):
        super().__init__(calls, dtype, request)
        if calls.on_cpu:
            raise Skipped("the processor has no host to copy from")
        self.items = COPY_BYTES
        self.kept = weights.values("left", (COPY_BYTES // 4,))

    def step(self):
        self.last = self.calls.put(self.kept)

    def verify(self):
        there = self.calls.put(self.kept)
        return [correctness.exactly(self.name, self.calls.host(self.calls.add(there, there)), self.kept + self.kept)]


class ToHost(ToDevice):
    includes = ("device_to_host",)

    def __init__(self, calls, dtype, request):
        super().__init__(calls, dtype, request)
        self.there = calls.put(self.kept)

    def step(self):
        # an array keeps its copy on the host, so each copy needs a new array
        self.calls.host(self.calls.add(self.there, self.there))

    def sync(self):
        pass
