"""Vulkan through wgpu of the target (wgpu-py): matrix product, bandwidth, launch. The device is its number in Vulkan's list.

Of the bindings that are kept wgpu is the one that compiles its shaders itself, from the WGSL below, and brings its library in the wheel;
with `vulkan` or `kp` machine code of shaders (SPIR-V) would have to be shipped.
"""

import array
import os
import struct

import correctness
import plain_checks
from device_names import bare
from worker import Skipped, Work

GROUP = 16
PERIOD = 2039
"""After so many places the numbers that arrays are filled with begin again."""
PRODUCT = """
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
const SIDE: u32 = %du;
var<workgroup> left: array<array<f32, 16>, 16>;
var<workgroup> right: array<array<f32, 16>, 16>;
@compute @workgroup_size(16, 16)
fn main(@builtin(local_invocation_id) here: vec3<u32>, @builtin(global_invocation_id) at: vec3<u32>) {
    var sum = 0.0;
    for (var k = 0u; k < SIDE; k += 16u) {
        left[here.y][here.x] = a[at.y * SIDE + k + here.x];
        right[here.y][here.x] = b[(k + here.y) * SIDE + at.x];
        workgroupBarrier();
        for (var i = 0u; i < 16u; i += 1u) { sum += left[here.y][i] * right[i][here.x]; }
        workgroupBarrier();
    }
    c[at.y * SIDE + at.x] = sum;
}
"""
SUM = """
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
const COUNT: u32 = %du;
const ROW: u32 = %du;
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) at: vec3<u32>) {
    let i = at.y * ROW + at.x;
    if (i < COUNT) { c[i] = a[i] + b[i]; }
}
"""
MOST_GROUPS = 65535
"""In one direction of a launch, by WebGPU."""


def open_session(request):
    return Session(request)


def value(place, shift):
    """What is at a place of an array: exact in float32."""
    return ((place * 7919 + shift) % PERIOD - 1019) / 1024


class Session:
    def __init__(self, request):
        os.environ["WGPU_BACKEND_TYPE"] = "Vulkan"
        import wgpu

        self.wgpu = wgpu
        listed = [each for each in wgpu.gpu.enumerate_adapters_sync() if each.info["backend_type"] == "Vulkan"]
        number = int(bare(request.get("device"), "vulkan") or 0)
        if number >= len(listed):
            names = ", ".join(each.info["device"] for each in listed) or "nothing"
            raise Skipped(f"wgpu lists no Vulkan device {number}, but {names}")
        self.adapter = listed[number]
        self.processor = self.adapter.info["adapter_type"] == "CPU"
        limits = self.adapter.limits
        wanted = {"max-buffer-size", "max-storage-buffer-binding-size"}
        self.largest = min(limits[name] for name in wanted)
        self.device = self.adapter.request_device_sync(required_limits={name: limits[name] for name in wanted})

    def about(self):
        info = self.adapter.info
        return {"framework_version": self.wgpu.__version__, "device_name": info["device"], "driver": info["description"]}

    def prepare(self, request):
        kinds = {"matmul": Matmul, "memory_bandwidth": Bandwidth, "launch": Launch}
        if request["workload"] not in kinds:
            raise Skipped("by Vulkan only {} are measured".format(", ".join(kinds)))
        if request.get("dtype", "float32") != "float32":
            raise Skipped("the shaders compute in float32")
        return kinds[request["workload"]](self, request)


class _Shader(Work):
    """c of two arrays a and b by one shader. `count`: numbers of each array; `groups`: of a launch."""

    includes = ("compute",)

    def __init__(self, session, request, count, source, groups):
        self.session, self.request, self.count, self.groups = session, request, count, groups
        gpu, usage = session.device, session.wgpu.BufferUsage
        inputs = [gpu.create_buffer_with_data(data=filled(count, shift), usage=usage.STORAGE) for shift in (1, 2)]
        self.result = gpu.create_buffer(size=4 * count, usage=usage.STORAGE | usage.COPY_SRC)
        shader = gpu.create_shader_module(code=source)
        self.pipeline = gpu.create_compute_pipeline(layout="auto", compute={"module": shader, "entry_point": "main"})
        entries = [
            {"binding": place, "resource": {"buffer": buffer, "offset": 0, "size": 4 * count}}
            for place, buffer in enumerate((*inputs, self.result))
        ]
        self.bound = gpu.create_bind_group(layout=self.pipeline.get_bind_group_layout(0), entries=entries)

    def step(self):
        commands = self.session.device.create_command_encoder()
        computing = commands.begin_compute_pass()
        computing.set_pipeline(self.pipeline)
        computing.set_bind_group(0, self.bound)
        computing.dispatch_workgroups(*self.groups)
        computing.end()
        self.session.device.queue.submit([commands.finish()])

    def sync(self):
        """By reading one number: on_submitted_work_done_sync of wgpu 0.32 raises a TypeError."""
        self.session.device.queue.read_buffer(self.result, size=4)

    def part(self, begin, count):
        """Numbers of the result from number `begin` on."""
        data = self.session.device.queue.read_buffer(self.result, buffer_offset=4 * begin, size=4 * count)
        return list(struct.unpack(f"={count}f", bytes(data)))

    def outcome(self):
        count = min(self.count, 4096)
        return correctness.same_of_list(self.part((self.count - count) // 2 // 2 * 2, count))


def filled(count, shift):
    once = array.array("f", (value(place, shift) for place in range(PERIOD)))
    return (once * -(-count // PERIOD))[:count]


class Matmul(_Shader):
    """items: 2 n^3 floating point operations. A plain tiled shader: less than a vendor's library reaches."""

    unit = "FLOP/s"
    ROWS = 4

    def __init__(self, session, request):
        asked = int(request.get("options", {}).get("side") or (256 if session.processor else 4096))
        self.side = max(min(asked, int((session.largest // 4) ** 0.5)) // GROUP, 1) * GROUP
        super().__init__(session, request, self.side**2, PRODUCT % self.side, (self.side // GROUP, self.side // GROUP))
        self.items = 2 * self.side**3

    def verify(self):
        """Rows of the result, first and last ones among them, against float64."""
        self.step()
        self.sync()
        side, got, right = self.side, [], []
        for row in (0, 1, side // 2, side - 1)[: self.ROWS]:
            left = [value(row * side + k, 1) for k in range(side)]
            columns = range(0, side, max(1, side // 64))
            numbers = self.part(row * side, side)
            got += [numbers[column] for column in columns]
            right += [sum(left[k] * value(k * side + column, 2) for k in range(side)) for column in columns]
        scale = max(abs(number) for number in right)
        check = plain_checks.Check("product", plain_checks.Listed(got, "float32"), right, units=4 * side**0.5, scale=scale)
        error, tolerance, said = check.judged()
        note = said or f"{len(got)} numbers of {side}x{side}, against float64"
        return [{"name": self.request["workload"], "max_relative_error": error, "tolerance": tolerance, "note": note,
                 "passed": not said, "repeat_tolerance": tolerance}]  # fmt: skip

    def found(self):
        return {"side": self.side}


class Bandwidth(_Shader):
    """c = a + b over arrays much larger than the caches: items are bytes read and written."""

    unit = "B/s"

    def __init__(self, session, request):
        size = min(self.size(session, request), session.largest)
        count = size // 4
        groups = -(-count // 256)
        across = min(groups, MOST_GROUPS)
        super().__init__(session, request, count, SUM % (count, across * 256), (across, -(-groups // across)))
        self.items = 3 * 4 * count

    def size(self, session, request):
        return int(request.get("options", {}).get("bytes") or (128 << 20 if session.processor else 256 << 20))

    def verify(self):
        """Parts from all over the result, number by number: the sums are rounded once at most."""
        self.step()
        self.sync()
        wrong = ""
        for begin in sorted({0, self.count // 3 // 2 * 2, max(self.count - 2 * PERIOD, 0) // 2 * 2}):
            got = self.part(begin, min(2 * PERIOD, self.count - begin))
            wanted = struct.unpack(f"={len(got)}f", struct.pack(
                f"={len(got)}f", *(value((begin + place) % PERIOD, 1) + value((begin + place) % PERIOD, 2) for place in range(len(got)))
            ))  # fmt: skip
            wrong = wrong or ("" if list(wanted) == got else f"numbers {begin} to {begin + len(got)} hold a wrong sum")
        return [{"name": self.request["workload"], "max_relative_error": None if wrong else 0.0, "tolerance": 0.0,
                 "note": wrong or "parts from all over the result, the same as on the processor", "passed": not wrong,
                 "repeat_tolerance": 0.0}]  # fmt: skip


class Launch(Bandwidth):
    """One addition of 16 numbers: what is left is what a launch costs."""

    unit = "launches/s"

    def __init__(self, session, request):
        super().__init__(session, request)
        self.items = 1

    def size(self, session, request):
        return 16 * 4
