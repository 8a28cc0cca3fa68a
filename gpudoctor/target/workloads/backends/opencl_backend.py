"""Small measurements on raw OpenCL through its loader alone: matrix product, bandwidth, launch, copies. Devices are PLATFORM.DEVICE.

Needs neither pyopencl nor numpy. How the loader is called stands in payloads/computations/opencl_kernels.py, which is shared.
"""

import array
import ctypes
import importlib.util
import os
import struct
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_ulong, c_void_p

import correctness
import plain_checks
import weights
from device_names import bare
from worker import Skipped, Work

VERSION, EXTENSIONS, MAX_GROUP = 0x102F, 0x1030, 0x1004
READ_WRITE = 1
TYPES = {"float32": ("float", 4, "f", ""), "float16": ("half", 2, "e", "cl_khr_fp16"), "float64": ("double", 8, "d", "cl_khr_fp64")}
"""In C, bytes, in struct, the extension that brings it."""
COPY_BYTES = 64 << 20
# Each work-item of the product computes EACH x EACH numbers of a block of (GROUP * EACH)^2, from tiles in local memory.
EACH = 4
SOURCE = b"""
#ifdef NEEDS
#pragma OPENCL EXTENSION NEEDS : enable
#endif
#define BLOCK (GROUP * EACH)
__kernel void fill(__global T *x, const int shift) {
    const size_t i = get_global_id(0);
    x[i] = (T)((int)((i * 7919 + shift) % 2039) - 1019) / (T)1024;
}
__kernel void add(__global const T *a, __global const T *b, __global T *c) {
    const size_t i = get_global_id(0);
    c[i] = a[i] + b[i];
}
__kernel void product(const int side, __global const T *a, __global const T *b, __global T *c) {
    __local T left[GROUP][BLOCK], right[GROUP][BLOCK];
    const int x = get_local_id(0), y = get_local_id(1);
    const int column = get_group_id(0) * BLOCK, row = get_group_id(1) * BLOCK;
    SUM sum[EACH][EACH];
    for (int i = 0; i < EACH; ++i) for (int j = 0; j < EACH; ++j) sum[i][j] = 0;
    for (int k = 0; k < side; k += GROUP) {
        for (int i = 0; i < EACH; ++i) {
            left[x][i * GROUP + y] = a[(row + i * GROUP + y) * side + k + x];
            right[y][i * GROUP + x] = b[(k + y) * side + column + i * GROUP + x];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int m = 0; m < GROUP; ++m)
            for (int i = 0; i < EACH; ++i)
                for (int j = 0; j < EACH; ++j) sum[i][j] += left[m][i * GROUP + y] * right[m][j * GROUP + x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < EACH; ++i)
        for (int j = 0; j < EACH; ++j) c[(row + i * GROUP + y) * side + column + j * GROUP + x] = sum[i][j];
}
"""


def _calls():
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.path.join(folder, "payloads", "computations", "opencl_kernels.py")
    spec = importlib.util.spec_from_file_location("opencl_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


calls = _calls()


def open_session(request):
    return Session(request)


class Session:
    def __init__(self, request):
        try:
            self.cl = calls.loader()
        except RuntimeError as error:
            raise Skipped(str(error)) from error
        found = calls.devices(self.cl)
        wanted = bare(request.get("device"), "opencl")
        chosen = [entry for entry in found if not wanted or entry["id"] == "opencl:" + wanted]
        if not chosen:
            names = ", ".join(entry["id"] for entry in found) or "nothing"
            raise Skipped("the OpenCL loader lists no {}, but {}".format(wanted or "device", names))
        self.entry, self.device = chosen[0], chosen[0]["handle"]

    def about(self):
        return {
            "framework_version": calls.text(self.cl.clGetDeviceInfo, self.device, VERSION), "device": bare(self.entry["id"], "opencl"),
            "device_name": self.entry["name"],
        }  # fmt: skip

    def prepare(self, request):
        if request["task"] != "micro":
            raise Skipped("raw OpenCL has no networks, only small measurements")
        kinds = {
            "matmul": Matmul, "memory_bandwidth": Bandwidth, "bandwidth": Bandwidth, "launch": Launch, "host_to_device": ToDevice,
            "device_to_host": ToHost,
        }  # fmt: skip
        if request["workload"] not in kinds:
            raise Skipped("OpenCL has no micro workload '{}'".format(request["workload"]))
        return kinds[request["workload"]](self, request)

    def operators(self, request):
        import opencl_properties  # which needs this module

        return plain_checks.run(opencl_properties.cases(), request, opencl_properties.Place(self))


class Built:
    """A context and a queue of a device, and programs, buffers and kernels in it."""

    def __init__(self, session):
        self.cl, self.device = session.cl, session.device
        properties = (c_void_p * 3)(0x1084, session.entry["platform"].value, None)
        self.context = calls.made(self.cl.clCreateContext, "clCreateContext", properties, c_uint(1), byref(self.device), None, None)
        self.queue = calls.made(self.cl.clCreateCommandQueue, "clCreateCommandQueue", self.context, self.device, c_ulong(0))

    def built(self, text, settings):
        source = c_char_p(text)
        made = calls.made(self.cl.clCreateProgramWithSource, "clCreateProgramWithSource", self.context, c_uint(1), byref(source), None)
        status = self.cl.clBuildProgram(made, c_uint(1), byref(self.device), c_char_p(settings.encode()), None, None)
        if status:
            raise RuntimeError(f"clBuildProgram: OpenCL error {status}: {calls.build_log(self.cl, made, self.device)}")
        return made

    def buffer(self, size):
        return calls.made(self.cl.clCreateBuffer, "clCreateBuffer", self.context, c_ulong(READ_WRITE), c_size_t(size), None)

    def kernel(self, name, *arguments):
        made = calls.made(self.cl.clCreateKernel, "clCreateKernel", self.program, c_char_p(name))
        for number, argument in enumerate(arguments):
            size = c_size_t(ctypes.sizeof(argument))
            calls.check(self.cl.clSetKernelArg(made, c_uint(number), size, byref(argument)), "clSetKernelArg")
        return made

    def run(self, kernel, sizes, group=None):
        sizes = (c_size_t * len(sizes))(*sizes)
        group = (c_size_t * len(group))(*group) if group else None
        status = self.cl.clEnqueueNDRangeKernel(self.queue, kernel, c_uint(len(sizes)), None, sizes, group, c_uint(0), None, None)
        calls.check(status, "clEnqueueNDRangeKernel")

    def write(self, buffer, size, data):
        status = self.cl.clEnqueueWriteBuffer(self.queue, buffer, c_uint(0), c_size_t(0), c_size_t(size), data, c_uint(0), None, None)
        calls.check(status, "clEnqueueWriteBuffer")

    def read(self, buffer, size, data):
        status = self.cl.clEnqueueReadBuffer(self.queue, buffer, c_uint(0), c_size_t(0), c_size_t(size), data, c_uint(0), None, None)
        calls.check(status, "clEnqueueReadBuffer")

    def sync(self):
        calls.check(self.cl.clFinish(self.queue), "clFinish")


class _Micro(Built, Work):
    def __init__(self, session, request):
        super().__init__(session)
        self.request, self.options = request, request.get("options", {})
        self.dtype = request.get("dtype", "float32")
        if self.dtype not in TYPES:
            raise Skipped(f"OpenCL C has no {self.dtype}")
        self.type, self.bytes, self.letter, extension = TYPES[self.dtype]
        if extension and extension not in calls.text(self.cl.clGetDeviceInfo, self.device, EXTENSIONS).split():
            raise Skipped("{} has no {} ({})".format(session.entry["name"], self.dtype, extension))
        largest = c_size_t(0)
        self.cl.clGetDeviceInfo(self.device, c_uint(MAX_GROUP), c_size_t(ctypes.sizeof(largest)), byref(largest), None)
        self.group = 16 if largest.value >= 256 else 8
        self.program = self._built(extension)

    def _built(self, extension):
        settings = "-DT={} -DSUM={} -DGROUP={} -DEACH={}".format(self.type, "double" if self.bytes == 8 else "float", self.group, EACH)
        settings += " -DNEEDS=" + extension if extension else ""
        return self.built(SOURCE, settings)

    def filled(self, count, shift):
        """A buffer of `count` numbers that are no constant."""
        made = self.buffer(count * self.bytes)
        self.run(self.kernel(b"fill", made, c_int(shift)), (count,))
        return made

    def numbers(self, name, count):
        """(a buffer of numbers of weights.py, the same numbers as the device has them)."""
        data = struct.pack(f"={count}{self.letter}", *[float(value) for value in weights.values(name, (count,))])
        made = self.buffer(len(data))
        self.write(made, len(data), data)
        self.sync()
        return made, struct.unpack(f"={count}{self.letter}", data)

    def result(self, buffer, count):
        data = ctypes.create_string_buffer(count * self.bytes)
        self.read(buffer, len(data), data)
        self.sync()
        return list(struct.unpack(f"={count}{self.letter}", data.raw))

    def spoiled(self, count):
        """A buffer of NaN, so that a kernel that does nothing is seen."""
        data = struct.pack(f"={count}{self.letter}", *[float("nan")] * count)
        made = self.buffer(len(data))
        self.write(made, len(data), data)
        self.sync()
        return made

    def judged(self, got, right):
        return [correctness.compared_lists(self.request["workload"], got, right, correctness.TOLERANCES[self.dtype])]


class Matmul(_Micro):
    """items: 2 n^3 floating point operations. A plain tiled kernel: less than a vendor's library reaches."""

    unit = "FLOP/s"
    SMALL = 128

    def __init__(self, session, request):
        super().__init__(session, request)
        block = self.group * EACH
        self.side = max(int(self.options.get("side") or (4096 if session.entry["rank"] == 0 else 512)) // block, 1) * block
        self.items = 2 * self.side**3
        count = self.side * self.side
        self.product = self._prepared(self.side, self.filled(count, 1), self.filled(count, 2), self.buffer(count * self.bytes))
        self.sync()

    def _prepared(self, side, *buffers):
        return self.kernel(b"product", c_int(side), *buffers)

    def _run(self, kernel, side):
        self.run(kernel, (side // EACH, side // EACH), (self.group, self.group))

    def step(self):
        self._run(self.product, self.side)

    def verify(self):
        side = self.SMALL
        (a, left), (b, right) = (self.numbers(name, side * side) for name in ("left", "right"))
        c = self.spoiled(side * side)
        self._run(self._prepared(side, a, b, c), side)
        columns = [right[column::side] for column in range(side)]
        rows = [left[row * side : (row + 1) * side] for row in range(side)]
        return self.judged(self.result(c, side * side), [sum(p * q for p, q in zip(row, column)) for row in rows for column in columns])

    def found(self):
        return {"side": self.side}


class Bandwidth(_Micro):
    """c = a + b over arrays much larger than the caches: items are bytes read and written."""

    unit = "B/s"

    def __init__(self, session, request):
        super().__init__(session, request)
        size = self.size(session)
        self.count = size // self.bytes
        self.items = 3 * size
        self.sum = self.kernel(b"add", self.filled(self.count, 1), self.filled(self.count, 2), self.buffer(size))
        self.sync()

    def size(self, session):
        return int(self.options.get("bytes") or (512 << 20 if session.entry["rank"] == 0 else 256 << 20))

    def step(self):
        self.run(self.sum, (self.count,))

    def verify(self):
        count = 1024
        (a, left), (b, right) = (self.numbers(name, count) for name in ("left", "right"))
        c = self.spoiled(count)
        self.run(self.kernel(b"add", a, b, c), (count,))
        return self.judged(self.result(c, count), [x + y for x, y in zip(left, right)])


class Launch(Bandwidth):
    """One addition of 16 numbers: what is left is what a launch costs."""

    unit = "launches/s"

    def __init__(self, session, request):
        super().__init__(session, request)
        self.items = 1

    def size(self, session):
        return 16 * self.bytes


class ToDevice(_Micro):
    unit = "B/s"
    includes = ("host_to_device",)

    def __init__(self, session, request):
        super().__init__(session, request)
        self.items = COPY_BYTES
        numbers = array.array("f", weights.values("left", (1 << 16,)))
        self.host = ctypes.create_string_buffer(numbers.tobytes() * (COPY_BYTES // (4 << 16)), COPY_BYTES)
        self.there = self.buffer(COPY_BYTES)
        self.write(self.there, COPY_BYTES, self.host)
        self.sync()

    def step(self):
        self.write(self.there, COPY_BYTES, self.host)

    def verify(self):
        """Copies back what was copied to the device, and compares the bytes."""
        back = ctypes.create_string_buffer(COPY_BYTES)
        self.read(self.there, COPY_BYTES, back)
        self.sync()
        same = back.raw == self.host.raw
        note, error = ("copied there and back", 0.0) if same else ("other bytes came back", None)
        return [{"name": self.request["workload"], "tolerance": 0.0, "max_relative_error": error, "note": note, "passed": same}]


class ToHost(ToDevice):
    includes = ("device_to_host",)

    def step(self):
        self.read(self.there, COPY_BYTES, self.host)
