"""Two kernels, built from source on each OpenCL device through the ICD loader alone: saxpy and a small matrix product."""
import ctypes
import sys
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_ulong, c_void_p

ALL_TYPES, GPU, ACCELERATOR, CPU = 0xFFFFFFFF, 4, 8, 2
DEVICE_TYPE, DEVICE_NAME, PLATFORM_NAME = 0x1000, 0x102B, 0x0902
BUILD_LOG, READ_WRITE_COPY = 0x1183, 1 | 32
COUNT, SIDE = 512, 16
FACTOR = 0.75
SOURCE = b"""
__kernel void saxpy(const float a, __global const float *x, __global const float *y, __global float *out) {
    size_t i = get_global_id(0);
    out[i] = a * x[i] + y[i];
}
__kernel void product(const int side, __global const float *x, __global const float *y, __global float *out) {
    size_t row = get_global_id(0) / side, column = get_global_id(0) % side;
    float sum = 0.0f;
    for (int k = 0; k < side; ++k) sum += x[row * side + k] * y[k * side + column];
    out[get_global_id(0)] = sum;
}
"""


def run(tools, framework, wanted):
    cl = loader()
    tools.say(stage="device")
    found = devices(cl)
    if not found:
        tools.none_listed("OpenCL device", "the OpenCL loader")
    listed = [{"id": entry["id"], "name": entry["name"]} for entry in found]
    # All devices compute, and the one that was asked for is the last, because the last line that is printed counts.
    first = next(entry for entry in found if entry["id"] == tools.chosen("opencl:" + wanted if wanted else "", listed)["id"])
    pairs = []
    for entry in ([] if wanted else [entry for entry in found if entry is not first]) + [first]:
        tools.say(stage="device", ok=True, device=entry["id"], name=entry["name"], devices=listed)
        results = computed(tools, cl, entry["platform"], entry["handle"])
        pairs += [("%s on %s" % (name, entry["id"]), got, right) for name, got, right in results]
    tools.say(stage="compare")
    tools.conclude(pairs)


def loader():
    names = {"win32": ["OpenCL.dll"], "darwin": ["/System/Library/Frameworks/OpenCL.framework/OpenCL"]}
    problem = None
    for name in names.get(sys.platform, ["libOpenCL.so.1", "libOpenCL.so"]):
        try:
            cl = ctypes.CDLL(name)
        except OSError as error:
            problem = error
            continue
        for function in ("clCreateContext", "clCreateCommandQueue", "clCreateBuffer", "clCreateProgramWithSource", "clCreateKernel"):
            getattr(cl, function).restype = c_void_p
        return cl
    raise RuntimeError("there is no OpenCL loader: %s" % problem)


def check(status, what):
    if status:
        raise RuntimeError("%s: OpenCL error %d" % (what, status))


def made(create, what, *arguments):
    """The handle that a function returns whose last parameter is the error code; RuntimeError where it reports an error."""
    status = c_int(0)
    handle = create(*(arguments + (byref(status),)))
    check(status.value, what)
    return c_void_p(handle)


def text(function, handle, what):
    size = c_size_t(0)
    if function(handle, c_uint(what), c_size_t(0), None, byref(size)) or not size.value:
        return ""
    buffer = ctypes.create_string_buffer(size.value)
    function(handle, c_uint(what), size, buffer, None)
    return buffer.value.decode("utf-8", "replace").strip()


def handles(function, *arguments):
    count = c_uint(0)
    if function(*(arguments + (0, None, byref(count)))) or not count.value:
        return []
    found = (c_void_p * count.value)()
    check(function(*(arguments + (count, found, None))), "listing")
    return [c_void_p(value) for value in found]


def devices(cl):
    """GPUs first, then accelerators, then CPUs; within a kind as the loader lists them."""
    found = []
    for p, platform in enumerate(handles(cl.clGetPlatformIDs)):
        label = text(cl.clGetPlatformInfo, platform, PLATFORM_NAME)
        for d, device in enumerate(handles(cl.clGetDeviceIDs, platform, c_ulong(ALL_TYPES))):
            kind = c_ulong(0)
            cl.clGetDeviceInfo(device, c_uint(DEVICE_TYPE), c_size_t(8), byref(kind), None)
            rank = next((i for i, bit in enumerate((GPU, ACCELERATOR, CPU)) if kind.value & bit), 3)
            name = "%s, %s" % (text(cl.clGetDeviceInfo, device, DEVICE_NAME), label)
            found.append({"id": "opencl:%d.%d" % (p, d), "name": name, "platform": platform, "handle": device, "rank": rank})
    return sorted(found, key=lambda entry: entry["rank"])


def computed(tools, cl, platform, device):
    """[(kernel, computed numbers, right numbers)] of one device."""
    tools.say(stage="allocate")
    properties = (c_void_p * 3)(0x1084, platform.value, None)
    context = made(cl.clCreateContext, "clCreateContext", properties, c_uint(1), byref(device), None, None)
    queue = made(cl.clCreateCommandQueue, "clCreateCommandQueue", context, device, c_ulong(0))
    x, y = tools.pattern(COUNT, 3), tools.pattern(COUNT, 4)
    given = [buffer_of(cl, context, values) for values in (x, y)]
    tools.say(stage="compute")
    source = c_char_p(SOURCE)
    program = made(cl.clCreateProgramWithSource, "clCreateProgramWithSource", context, c_uint(1), byref(source), None)
    status = cl.clBuildProgram(program, c_uint(1), byref(device), c_char_p(b""), None, None)
    if status:
        raise RuntimeError("clBuildProgram: OpenCL error %d: %s" % (status, build_log(cl, program, device)))
    area = SIDE * SIDE
    results = [("saxpy", result(cl, context, queue, program, b"saxpy", c_float(FACTOR), given, COUNT),
                [FACTOR * a + b for a, b in zip(x, y)]),
               ("product", result(cl, context, queue, program, b"product", c_int(SIDE), given, area),
                [sum(x[i // SIDE * SIDE + k] * y[k * SIDE + i % SIDE] for k in range(SIDE)) for i in range(area)])]
    return results


def buffer_of(cl, context, values):
    data = (c_float * len(values))(*values)
    return made(cl.clCreateBuffer, "clCreateBuffer", context, c_ulong(READ_WRITE_COPY), c_size_t(ctypes.sizeof(data)), data)


def build_log(cl, program, device):
    size = c_size_t(0)
    cl.clGetProgramBuildInfo(program, device, c_uint(BUILD_LOG), c_size_t(0), None, byref(size))
    buffer = ctypes.create_string_buffer(size.value + 1)
    cl.clGetProgramBuildInfo(program, device, c_uint(BUILD_LOG), size, buffer, None)
    return buffer.value.decode("utf-8", "replace").strip()[:1500]


def result(cl, context, queue, program, name, scalar, given, count):
    """The numbers that the kernel wrote. The output buffer holds NaN before, so that a kernel that writes nothing is noticed."""
    kernel = made(cl.clCreateKernel, "clCreateKernel", program, c_char_p(name))
    output = buffer_of(cl, context, [float("nan")] * count)
    for number, argument in enumerate([scalar] + given + [output]):
        check(cl.clSetKernelArg(kernel, c_uint(number), c_size_t(ctypes.sizeof(argument)), byref(argument)), "clSetKernelArg")
    check(cl.clEnqueueNDRangeKernel(queue, kernel, c_uint(1), None, byref(c_size_t(count)), None, c_uint(0), None, None),
          "clEnqueueNDRangeKernel")
    check(cl.clFinish(queue), "clFinish")
    found = (c_float * count)()
    check(cl.clEnqueueReadBuffer(queue, output, c_uint(1), c_size_t(0), c_size_t(ctypes.sizeof(found)), found, c_uint(0), None, None),
          "clEnqueueReadBuffer")
    return list(found)
