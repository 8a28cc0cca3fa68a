"""Small OpenCL C kernels with references in plain Python: arithmetic, memory, atomics and copies, which must be right on any device.

The functions of the mathematical library are judged by the errors that the OpenCL specification allows (full profile, section 7.4).
"""

import ctypes
import math
import struct
from ctypes import c_int, c_size_t, c_uint

from opencl_backend import Built, calls
from plain_checks import Check, Claim, Listed, Properties
from plain_reference import ANY, numbers, product

NAN, INF = math.nan, math.inf
ODD = (1, 3, 17, 1025)


def cases():
    return arithmetic + memory + large


SOURCE = b"""
__kernel void add(__global const float *a, __global const float *b, __global float *c) { size_t i = get_global_id(0); c[i] = a[i] + b[i]; }
__kernel void subtract(__global const float *a, __global const float *b, __global float *c) {
    size_t i = get_global_id(0); c[i] = a[i] - b[i]; }
__kernel void multiply(__global const float *a, __global const float *b, __global float *c) {
    size_t i = get_global_id(0); c[i] = a[i] * b[i]; }
__kernel void divide(__global const float *a, __global const float *b, __global float *c) {
    size_t i = get_global_id(0); c[i] = a[i] / b[i]; }
__kernel void fused(__global const float *a, __global const float *b, __global float *c) {
    size_t i = get_global_id(0); c[i] = fma(a[i], b[i], a[i]); }
__kernel void larger(__global const float *a, __global const float *b, __global float *c) {
    size_t i = get_global_id(0); c[i] = fmax(a[i], b[i]); }
__kernel void power(__global const float *a, __global const float *b, __global float *c) {
    size_t i = get_global_id(0); c[i] = pow(fabs(a[i]) + 0.5f, b[i]); }
__kernel void relu(__global const float *a, __global float *c) { size_t i = get_global_id(0); c[i] = a[i] <= 0.0f ? 0.0f : a[i]; }
__kernel void exponential(__global const float *a, __global float *c) { size_t i = get_global_id(0); c[i] = exp(a[i]); }
__kernel void logarithm(__global const float *a, __global float *c) { size_t i = get_global_id(0); c[i] = log(a[i]); }
__kernel void sine(__global const float *a, __global float *c) { size_t i = get_global_id(0); c[i] = sin(a[i]); }
__kernel void cosine(__global const float *a, __global float *c) { size_t i = get_global_id(0); c[i] = cos(a[i]); }
__kernel void hyperbolic(__global const float *a, __global float *c) { size_t i = get_global_id(0); c[i] = tanh(a[i]); }
__kernel void root(__global const float *a, __global float *c) { size_t i = get_global_id(0); c[i] = sqrt(a[i]); }
__kernel void inverse_root(__global const float *a, __global float *c) { size_t i = get_global_id(0); c[i] = rsqrt(a[i]); }
__kernel void error_function(__global const float *a, __global float *c) { size_t i = get_global_id(0); c[i] = erf(a[i]); }
__kernel void to_nearest(__global const float *a, __global float *c) { size_t i = get_global_id(0); c[i] = rint(a[i]); }
__kernel void downwards(__global const float *a, __global float *c) { size_t i = get_global_id(0); c[i] = floor(a[i]); }
__kernel void without_sign(__global const float *a, __global float *c) { size_t i = get_global_id(0); c[i] = fabs(a[i]); }
__kernel void cut(__global const float *a, __global int *c) { size_t i = get_global_id(0); c[i] = convert_int(a[i]); }
__kernel void rounded(__global const float *a, __global int *c) { size_t i = get_global_id(0); c[i] = convert_int_rte(a[i]); }
__kernel void saturated(__global const float *a, __global int *c) { size_t i = get_global_id(0); c[i] = convert_char_sat(a[i]); }
__kernel void widened(__global const int *a, __global float *c) { size_t i = get_global_id(0); c[i] = convert_float(a[i]); }
__kernel void half_and_back(__global const float *a, __global float *c, __global half *room) {
    size_t i = get_global_id(0); vstore_half_rte(a[i], i, room); c[i] = vload_half(i, room); }
__kernel void whole(
    __global const int *a, __global const int *b, __global int *sum, __global int *times, __global int *by, __global int *rest) {
    size_t i = get_global_id(0); sum[i] = a[i] + b[i]; times[i] = a[i] * b[i]; by[i] = a[i] / b[i]; rest[i] = a[i] % b[i]; }
__kernel void bits(__global const int *a, __global int *c) {
    size_t i = get_global_id(0); c[i] = ((a[i] >> 3) ^ (a[i] << 5)) & 0x00ffffff | popcount(a[i]); }
__kernel void long_product(__global const int *a, __global const int *b, __global int *high, __global uint *low) {
    size_t i = get_global_id(0); long p = (long)a[i] * b[i]; high[i] = (int)(p >> 32); low[i] = (uint)(p & 0xffffffffL); }
__kernel void reversed(__global const float *a, __global float *c, const int count) {
    size_t i = get_global_id(0); c[count - 1 - i] = a[i]; }
__kernel void turned(__global const float *a, __global float *c, const int rows, const int columns) {
    size_t x = get_global_id(0), y = get_global_id(1); c[x * rows + y] = a[y * columns + x]; }
__kernel void counted(__global const int *a, __global int *c) { atomic_add(&c[a[get_global_id(0)]], 1); }
__kernel void gathered(__global const float *a, __global const int *b, __global float *c) { size_t i = get_global_id(0); c[i] = a[b[i]]; }
__kernel void of_group(__global const float *a, __global float *c, __local float *room) {
    size_t l = get_local_id(0), n = get_local_size(0);
    room[l] = a[get_global_id(0)];
    for (size_t s = n / 2; s > 0; s /= 2) { barrier(CLK_LOCAL_MEM_FENCE); if (l < s) room[l] += room[l + s]; }
    if (l == 0) c[get_group_id(0)] = room[0]; }
__kernel void in_fours(__global const float *a, __global float *c) {
    size_t i = get_global_id(0); float4 v = vload4(i, a); vstore4(v.wzyx * (float4)(1.0f, 2.0f, 3.0f, 4.0f), i, c); }
__kernel void product(const int inner, const int columns, __global const float *a, __global const float *b, __global float *c) {
    size_t x = get_global_id(0), y = get_global_id(1); float sum = 0.0f;
    for (int k = 0; k < inner; ++k) sum += a[y * inner + k] * b[k * columns + x];
    c[y * columns + x] = sum; }
__kernel void softmax(__global const float *a, __global float *c, const int count) {
    size_t r = get_global_id(0); float top = -INFINITY, sum = 0.0f;
    for (int i = 0; i < count; ++i) top = fmax(top, a[r * count + i]);
    for (int i = 0; i < count; ++i) sum += exp(a[r * count + i] - top);
    for (int i = 0; i < count; ++i) c[r * count + i] = exp(a[r * count + i] - top) / sum; }
"""
LETTERS = {"float32": "f", "int32": "i", "uint32": "I"}


class Place(Built):
    """Runs a kernel of SOURCE: `place(name, given, outputs)` returns the numbers that it wrote, in the order of its outputs."""

    def __init__(self, session):
        super().__init__(session)
        self.program = self.built(SOURCE, "")

    def put(self, given, kind="float32"):
        data = struct.pack(f"={len(given)}{LETTERS[kind]}", *given)
        made = self.buffer(max(len(data), 4))
        self.write(made, len(data), data)
        self.sync()
        return made

    def take(self, buffer, count, kind="float32"):
        data = ctypes.create_string_buffer(max(count * 4, 1))
        self.read(buffer, count * 4, data)
        self.sync()
        return Listed(struct.unpack(f"={count}{LETTERS[kind]}", data.raw[: count * 4]), kind)

    def __call__(self, name, given, outputs=("float32",), sizes=None, group=None, room=None, more=()):
        """`given`: lists (of numbers with a point: float), `outputs`: types; each output has as many numbers as the first input."""
        count = room or len(given[0])
        buffers = [self.put(each, "float32" if isinstance(each[0], float) else "int32") for each in given]
        spoilt = [self.put([NAN if kind == "float32" else 0x7F7F7F7F] * count, kind) for kind in outputs]
        self.run(self.kernel(name.encode(), *buffers, *spoilt, *more), sizes or (len(given[0]),), group)
        self.sync()
        return [self.take(buffer, count, kind) for buffer, kind in zip(spoilt, outputs)]


arithmetic = Properties("arithmetic")
SPECIAL = [
    0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    3.0,
    -3.0,
    2.5,
    -2.5,
    1.5,
    6.0,
    10.0,
    -10.0,
    64.0,
    -64.0,
    80.0,
    -80.0,
    2.0**100,
    -(2.0**100),
    INF,
    -INF,
    NAN,
]


@arithmetic
def elements_of_odd_sizes(place):
    for count in ODD:
        a, b = numbers((count,), 1), [v + 3 for v in numbers((count,), 2)]
        for name, call, units in (
            ("add", lambda p, q: p + q, 1), ("subtract", lambda p, q: p - q, 1), ("multiply", lambda p, q: p * q, 1),
            ("divide", lambda p, q: p / q, 8), ("fused", lambda p, q: p * q + p, 1), ("larger", max, 0),
            ("power", lambda p, q: (abs(p) + 0.5) ** q, 64),
        ):  # fmt: skip
            yield Check(f"{name} of {count}", place(name, [a, b])[0], [call(p, q) for p, q in zip(a, b)], units)


def _special(name, right, units, given=SPECIAL):
    def check(place):
        wanted = [right(x) for x in given] * 3
        yield Check(name, place(name, [given * 3])[0], wanted, units)

    arithmetic(check, name=name + "_of_special_numbers")


def _finite(call, up=INF, down=-INF):
    """`call` for finite numbers; `up` and `down` for the infinities; NaN stays NaN."""
    return lambda x: NAN if x != x else up if x == INF else down if x == -INF else call(x)


POSITIVE = [0.25, 1.0, 2.0, 3.5, 100.0, 1e-6, 1e30, INF, NAN, -1.0]
_special("relu", lambda x: x if x > 0 or x != x else 0.0, 0)
_special("exponential", _finite(lambda x: math.exp(x) if x < 88 else INF, INF, 0.0), 8)
_special("hyperbolic", _finite(math.tanh, 1.0, -1.0), 12)
_special("error_function", _finite(math.erf, 1.0, -1.0), 34)
_special("to_nearest", _finite(lambda x: float(round(x))), 0)
_special("downwards", _finite(lambda x: float(math.floor(x))), 0)
_special("without_sign", _finite(abs, INF, INF), 0)
_special("sine", _finite(math.sin, NAN, NAN), 10, [v for v in SPECIAL if not 1e6 < abs(v) < INF])
_special("cosine", _finite(math.cos, NAN, NAN), 10, [v for v in SPECIAL if not 1e6 < abs(v) < INF])
_special("root", _finite(lambda x: math.sqrt(x) if x >= 0 else NAN, INF, NAN), 8, POSITIVE)
_special("inverse_root", _finite(lambda x: 1 / math.sqrt(x) if x > 0 else NAN, 0.0, NAN), 6, POSITIVE)
_special("logarithm", _finite(lambda x: math.log(x) if x > 0 else NAN, INF, NAN), 8, POSITIVE)


@arithmetic
def whole_numbers(place):
    pairs = [(a, b) for a in (-7, -1, 0, 1, 7, 2**31 - 1, 123456789, -(2**30)) for b in (-3, -2, 1, 2, 3)]
    a, b = ([each[side] for each in pairs] for side in (0, 1))
    wrapped = [[(call(x, y) + 2**31) % 2**32 - 2**31 for x, y in pairs] for call in (lambda x, y: x + y, lambda x, y: x * y)]
    by = [int(math.copysign(abs(x) // abs(y), x * y)) for x, y in pairs]
    for what, got, right in zip(("sum", "product", "quotient", "remainder"), place("whole", [a, b], ["int32"] * 4),
                                (*wrapped, by, [x - y * q for (x, y), q in zip(pairs, by)])):  # fmt: skip
        yield Check(what, got, right, 0)
    right = [((x >> 3) ^ (x << 5)) & 0x00FFFFFF | bin(x & 0xFFFFFFFF).count("1") for x in a]
    yield Check("shifts and bits", place("bits", [a], ["int32"])[0], right, 0)
    high, low = place("long_product", [a, a[::-1]], ["int32", "uint32"])
    whole = [x * y for x, y in zip(a, a[::-1])]
    yield Check("upper half of a product of 64 bit", high, [v >> 32 for v in whole], 0)
    yield Check("lower half of a product of 64 bit", low, [v & 0xFFFFFFFF for v in whole], 0)


@arithmetic
def conversions(place):
    given = [0.0, 0.9, -0.9, 1.5, -1.5, 2.5, 126.99, -127.5, 3.999, -3.999, 100.0] * 4
    yield Check("convert_int", place("cut", [given], ["int32"])[0], [int(v) for v in given], 0)
    yield Check("convert_int_rte", place("rounded", [given], ["int32"])[0], [round(v) for v in given], 0)
    wide = [0.0, 300.0, -300.0, 127.4, -128.4, 5.7, 1e20] * 3
    yield Check("convert_char_sat", place("saturated", [wide], ["int32"])[0], [int(max(-128, min(127, v))) for v in wide], 0)
    large = [2**24 + 1, 2**24 + 3, -(2**24) - 1, 2**31 - 1, 0, 7]
    yield Check("convert_float", place("widened", [large])[0], [struct.unpack("f", struct.pack("f", v))[0] for v in large], 0)
    fine = [
        struct.unpack("f", struct.pack("f", v))[0] for v in [1 + k * 2.0**-12 for k in range(70)] + [1 / 3, -math.pi, 65504.0, 2.0**-24]
    ]
    got = place("half_and_back", [fine], more=[place.buffer(len(fine) * 2)])[0]
    yield Check("float16 and back", got, [struct.unpack("e", struct.pack("e", v))[0] if v != 2.0**-24 else ANY for v in fine], 0)


memory = Properties("memory")


@memory
def orders_of_memory(place):
    for count in ODD:
        a = numbers((count,), 3)
        yield Check(f"{count} reversed", place("reversed", [a], more=[c_int(count)])[0], a[::-1], 0)
    for rows, columns in ((3, 5), (17, 33), (64, 31)):
        a = numbers((rows * columns,), 2)
        got = place("turned", [a], sizes=(columns, rows), more=[c_int(rows), c_int(columns)])[0]
        yield Check(f"{rows} x {columns} turned", got, [a[y * columns + x] for x in range(columns) for y in range(rows)], 0)
    a = numbers((64,), 5)
    got = place("in_fours", [a], sizes=(16,))[0]
    yield Check("vectors of four", got, [a[i * 4 + 3 - k] * (k + 1) for i in range(16) for k in range(4)], 0)
    picks = [(i * 7) % 64 for i in range(129)]
    buffers = [place.put(a), place.put(picks, "int32"), place.put([NAN] * 129)]
    place.run(place.kernel(b"gathered", *buffers), (129,))
    place.sync()
    yield Check("gathered", place.take(buffers[2], 129), [a[i] for i in picks], 0)


@memory
def atomics_and_local_memory(place):
    picks = [(i * i) % 7 for i in range(3001)]
    buffers = [place.put(picks, "int32"), place.put([0] * 7, "int32")]
    place.run(place.kernel(b"counted", *buffers), (3001,))
    place.sync()
    yield Check("atomic_add of 3001 to 7 places", place.take(buffers[1], 7, "int32"), [picks.count(v) for v in range(7)], 0)
    a = numbers((512,), 4)
    room, total = place.put(a), place.put([NAN] * 8)
    kernel = place.kernel(b"of_group", room, total)
    calls.check(place.cl.clSetKernelArg(kernel, c_uint(2), c_size_t(64 * 4), None), "clSetKernelArg")
    place.run(kernel, (512,), (64,))
    place.sync()
    yield Check("sums of groups in local memory", place.take(total, 8), [math.fsum(a[g * 64 : g * 64 + 64]) for g in range(8)], 0)


@memory
def copies(place):
    for count in (1, 3, 17, 1025, 65537):
        given = [(v * 7) % 251 - 125 for v in range(count)]
        there = place.put(given, "int32")
        yield Check(f"{count} there and back", place.take(there, count, "int32"), given, 0)
        other = place.put([0] * count, "int32")
        status = place.cl.clEnqueueCopyBuffer(
            place.queue, there, other, c_size_t(0), c_size_t(0), c_size_t(count * 4), c_uint(0), None, None
        )
        calls.check(status, "clEnqueueCopyBuffer")
        place.sync()
        yield Check(f"copy of {count} on the device", place.take(other, count, "int32"), given, 0)
    part = ctypes.create_string_buffer(12)
    status = place.cl.clEnqueueReadBuffer(place.queue, there, c_uint(1), c_size_t(65534 * 4), c_size_t(12), part, c_uint(0), None, None)
    calls.check(status, "clEnqueueReadBuffer")
    yield Check("the last three numbers", Listed(struct.unpack("=3i", part.raw), "int32"), given[-3:], 0)


@memory
def other_inputs_give_other_results(place):
    """The same kernel and buffers with other numbers, which shows results that are kept from an earlier call."""
    buffers = [place.put([0.0] * 100), place.put([1.0] * 100), place.put([NAN] * 100)]
    kernel = place.kernel(b"add", *buffers)
    for step in range(6):
        a = numbers((100,), step)
        data = struct.pack("=100f", *a)
        place.write(buffers[0], len(data), data)
        place.run(kernel, (100,))
        place.sync()
        yield Check(f"call {step}", place.take(buffers[2], 100), [v + 1 for v in a], 0)


large = Properties("product")


@large
def products_and_softmax(place):
    for rows, inner, columns in ((1, 1, 1), (3, 5, 2), (17, 33, 9), (64, 128, 65)):
        a, b = numbers((rows, inner), 1), numbers((inner, columns), 2)
        flat = [[v for row in each for v in row] for each in (a, b)]
        buffers = [place.put(each) for each in flat] + [place.put([NAN] * (rows * columns))]
        place.run(place.kernel(b"product", c_int(inner), c_int(columns), *buffers), (columns, rows))
        place.sync()
        right = [v for row in product(a, b) for v in row]
        yield Check(f"product {rows}x{inner}x{columns}", place.take(buffers[2], rows * columns), right, 8, "all")
    rows = [[1000.0, 1000.0, -1000.0], [-5000.0, 0.0, 1.0]]
    flat = [v for row in rows for v in row]
    got = place("softmax", [flat], sizes=(2,), more=[c_int(3)])[0]
    e = math.exp(-1.0)
    yield Check("softmax of large numbers", got, [0.5, 0.5, 0.0, 0.0, e / (1 + e), 1 / (1 + e)], 32, 1.0)


@large
def many_numbers(place):
    count = 1 << 18
    a, b = ([float((i * step) % 2039 - 1019) for i in range(count)] for step in (7919, 104729))
    got = place("add", [a, b])[0].tolist()
    wrong = [i for i, (x, y, z) in enumerate(zip(a, b, got)) if x + y != z]
    yield Claim("each of 262144 sums", not wrong, f"{len(wrong)} are wrong, the first at {wrong[:1]}")
