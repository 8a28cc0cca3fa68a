"""Small measurements on raw OpenCL through its loader alone: matrix product, bandwidth, launch, copies. Devices are PLATFORM.DEVICE.

Needs neither pyopencl nor numpy. The calls of the loader are in payloads/computations/opencl_kernels.py.
"""

import array
import ctypes
import importlib.util
import math
import os
import struct
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_ulong, c_void_p

import calibration
import correctness
import plain_checks
import weights
from device_names import bare
from worker import Skipped, Work

VERSION, EXTENSIONS, MAX_GROUP = 0x102F, 0x1030, 0x1004
READ_WRITE = 1
TYPES = {"float32": ("float", 4, "f", ""), "float16": ("half", 2, "e", "cl_khr_fp16"), "float64": ("double", 8, "d", "cl_khr_fp64")}
"""For each type: its name in C, bytes, letter of struct, and the extension that it needs."""
COPY_BYTES = 64 << 20
PERIOD = 2039
"""The period of the numbers that the kernel `fill` writes."""
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
        import opencl_properties  # imported here, since it imports this module

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

    def read(self, buffer, size, data, begin=0):
        status = self.cl.clEnqueueReadBuffer(self.queue, buffer, c_uint(0), c_size_t(begin), c_size_t(size), data, c_uint(0), None, None)
        calls.check(status, "clEnqueueReadBuffer")

    def sync(self):
        calls.check(self.cl.clFinish(self.queue), "clFinish")


class _Micro(Built, Work):
    result = None
    """The buffer of the last result, where there is one."""

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
        """A buffer of `count` numbers that differ."""
        made = self.buffer(count * self.bytes)
        self.run(self.kernel(b"fill", made, c_int(shift)), (count,))
        return made

    def part(self, buffer, begin, count):
        """`count` numbers of a buffer from number `begin` on."""
        data = ctypes.create_string_buffer(count * self.bytes)
        self.read(buffer, len(data), data, begin * self.bytes)
        self.sync()
        return list(struct.unpack(f"={count}{self.letter}", data.raw))

    def outcome(self):
        """The summary of numbers from the middle of the last result."""
        if self.result is None:
            return None
        count = min(self.count, 4096)
        return correctness.same_of_list(self.part(self.result, (self.count - count) // 2, count))


def filled_with(place, shift):
    """The number that the kernel `fill` writes at a place; it is exact in every type."""
    return ((place * 7919 + shift) % PERIOD - 1019) / 1024


class Matmul(_Micro):
    """items: 2 n^3 floating point operations. The kernel is a plain tiled one, which is slower than a vendor's library."""

    unit = "FLOP/s"
    ROWS, COLUMNS = 32, 8
    """The number of rows of the result that are compared."""

    def __init__(self, session, request):
        super().__init__(session, request)
        block = self.group * EACH
        self.side = max(int(self.options.get("side") or (4096 if session.entry["rank"] == 0 else 512)) // block, 1) * block
        self.items = 2 * self.side**3
        self.count = self.side * self.side
        self.result = self.buffer(self.count * self.bytes)
        self.product = self.kernel(b"product", c_int(self.side), self.filled(self.count, 1), self.filled(self.count, 2), self.result)
        self.sync()

    def step(self):
        self.run(self.product, (self.side // EACH, self.side // EACH), (self.group, self.group))

    def verify(self):
        """Compares some rows of the result, each by its sum and by some of its numbers, the first and the last among them."""
        self.step()
        side, name = self.side, self.request["workload"]
        before = [0.0]
        for place in range(2 * PERIOD):
            before.append(before[-1] + filled_with(place, 2))
        whole = before[PERIOD]

        def total(row):
            """The sum of a row of the right factor."""
            begin, many = row * side % PERIOD, side // PERIOD
            return many * whole + before[begin + side % PERIOD] - before[begin]

        totals = [total(row) for row in range(side)]
        got, right, got_sums, right_sums = [], [], [], []
        for row in sorted({place * (side - 1) // (self.ROWS - 1) for place in range(self.ROWS)}):
            found, left = self.part(self.result, row * side, side), [filled_with(row * side + k, 1) for k in range(side)]
            got_sums.append(sum(found))
            right_sums.append(sum(a * b for a, b in zip(left, totals)))
            for column in sorted({place * (side - 1) // (self.COLUMNS - 1) for place in range(self.COLUMNS)}):
                got.append(found[column])
                right.append(sum(left[k] * filled_with(k * side + column, 2) for k in range(side)))
        allowed = calibration.tolerance(self.dtype, side, 1.0, 1.0)
        rows = [
            correctness.compared_lists(name, got, right, allowed),
            correctness.compared_lists(name + " (sums of rows)", got_sums, right_sums, allowed * math.sqrt(side)),
        ]
        if rows[0]["passed"]:
            rows[0]["note"] = f"{len(got)} numbers in {len(got_sums)} rows of {side}x{side}, against float64"
        return [dict(row, repeat_tolerance=allowed) for row in rows]

    def found(self):
        return {"side": self.side}


class Bandwidth(_Micro):
    """c = a + b over arrays much larger than the caches; items are the bytes read and written."""

    unit = "B/s"

    def __init__(self, session, request):
        super().__init__(session, request)
        size = self.size(session)
        self.count = size // self.bytes
        self.items = 3 * size
        self.result = self.buffer(size)
        self.sum = self.kernel(b"add", self.filled(self.count, 1), self.filled(self.count, 2), self.result)
        self.sync()

    def size(self, session):
        return int(self.options.get("bytes") or (512 << 20 if session.entry["rank"] == 0 else 256 << 20))

    def step(self):
        self.run(self.sum, (self.count,))

    def verify(self):
        """Compares all of the result byte by byte, because the sum of these numbers is rounded once at most."""
        self.step()
        sums = [filled_with(place, 1) + filled_with(place, 2) for place in range(PERIOD)]
        once, at_once = struct.pack(f"={PERIOD}{self.letter}", *sums), PERIOD * 2048
        for begin in range(0, self.count, at_once):
            count = min(at_once, self.count - begin)
            data = ctypes.create_string_buffer(count * self.bytes)
            self.read(self.result, len(data), data, begin * self.bytes)
            self.sync()
            if data.raw != (once * (count // PERIOD + 1))[: len(data)]:
                return [_exact(self.request["workload"], f"numbers {begin} to {begin + count} hold a wrong sum", False)]
        return [_exact(self.request["workload"], f"all of {self.count} numbers the same as on the processor", True)]


class Launch(Bandwidth):
    """One addition of 16 numbers, whose time is that of a launch."""

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
        """Copies the buffer back from the device, and compares the bytes."""
        back = ctypes.create_string_buffer(COPY_BYTES)
        self.read(self.there, COPY_BYTES, back)
        self.sync()
        same = back.raw == self.host.raw
        return [_exact(self.request["workload"], "copied there and back" if same else "other bytes came back", same)]


class ToHost(ToDevice):
    includes = ("device_to_host",)

    def step(self):
        self.read(self.there, COPY_BYTES, self.host)


def _exact(name, note, same):
    """A row for results that have to be the same to the last bit."""
    error = 0.0 if same else None
    return {
        "name": name, "tolerance": 0.0, "max_relative_error": error, "note": note, "passed": same, "repeat_tolerance": 0.0,
        "compared_with": "what has to come out, bit by bit",
    }  # fmt: skip
