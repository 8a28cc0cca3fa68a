"""Order, sums, whole numbers, conversions, empty tensors. References are Python's own arithmetic."""

import math
import struct

import torch
import torch.nn.functional as F
from plain_checks import Check, Claim, Properties
from plain_reference import numbers
from torch_properties import gradients

NAN, INF = math.nan, math.inf
ODD = (1, 3, 17, 1025)


def cases():
    return order + sums + wholes + casts + empty


order = Properties("order")


@order
def sort_and_topk_with_ties(place):
    row = [2.0, -1.0, 2.0, 0.0, 0.0, 5.0, -1.0, 2.0, -0.5]
    values, places = torch.sort(place(row))
    yield Check("sort", values, sorted(row), 0)
    yield Claim("the indices of sort lead to its values", [row[i] for i in places.cpu().tolist()] == sorted(row))
    values, places = torch.sort(place(row), descending=True)
    yield Check("sort, descending", values, sorted(row, reverse=True), 0)
    yield Claim("each index of sort occurs once", sorted(places.cpu().tolist()) == list(range(9)))
    values, places = torch.topk(place(row), 4)
    yield Check("topk", values, sorted(row, reverse=True)[:4], 0)
    found = places.cpu().tolist()
    yield Claim("topk gives different places that hold its values", len(set(found)) == 4 and [row[i] for i in found] == [5, 2, 2, 2])
    smallest = torch.topk(place(row), 3, largest=False)[0]
    yield Check("topk, smallest", smallest, sorted(row)[:3], 0)
    long = numbers((1025,), 7)
    yield Check("sort of 1025", torch.sort(place(long))[0], sorted(long), 0)
    yield Check("sort of columns", torch.sort(place(numbers((33, 5), 2)), dim=0)[0].t(), [sorted(c) for c in zip(*numbers((33, 5), 2))], 0)


@order
def stable_sort_keeps_the_order_of_equals(place):
    row = [float(int(value)) for value in numbers((300,), 1)]
    places = torch.sort(place(row), stable=True)[1]
    yield Check("indices of a stable sort", places, sorted(range(300), key=lambda i: row[i]), 0)


@order
def largest_with_ties_and_nan(place):
    row = [1.0, 7.0, -3.0, 7.0, 0.0]
    yield Claim("argmax is a place of the largest", int(place(row).argmax()) in (1, 3), f"{int(place(row).argmax())}")
    yield Claim("argmin is the place of the smallest", int(place(row).argmin()) == 2)
    rows = numbers((9, 33), 4)
    values, places = place(rows).max(1)
    yield Check("max of rows", values, [max(each) for each in rows], 0)
    yield Claim("the places of max hold its values", all(r[i] == max(r) for r, i in zip(rows, places.cpu().tolist())))
    yield Check("min of columns", place(rows).min(0)[0], [min(column) for column in zip(*rows)], 0)
    broken = [1.0, NAN, 3.0, 2.0] * 9
    yield Check("max with NaN", place(broken).max(), NAN, 0)
    yield Check("min with NaN", place(broken).min(), NAN, 0)
    yield Claim("argmax finds NaN", int(place(broken).argmax()) % 4 == 1)
    yield Check("maximum with NaN", torch.maximum(place(broken), place([2.0] * 36)), [2.0, NAN, 3.0, 2.0] * 9, 0)
    yield Check("sort with NaN", torch.sort(place([1.0, NAN, -2.0]))[0], [-2.0, 1.0, NAN], 0)
    yield Claim("NaN is not equal to itself", not bool((place(broken) == place(broken)).cpu().tolist()[1]))
    yield Check("isnan", torch.isnan(place(broken)), [False, True, False, False] * 9, 0)


sums = Properties("reduction")


@sums
def sums_of_many(place):
    """Sums of a million times 0.1 in float32: adding one number after another would be wrong by a percent."""
    tenth = struct.unpack("f", struct.pack("f", 0.1))[0]
    for count in (1, 3, 17, 1025, 300001):
        yield Check(f"sum of {count}", torch.full((count,), 0.1, device=place.where).sum(), tenth * count, 4 + math.sqrt(count))
    many = torch.full((4, 50001), 0.1, device=place.where)
    yield Check("sum of rows", many.sum(1), [tenth * 50001] * 4, 4 + math.sqrt(50001))
    yield Check("sum of columns", many.t().sum(0), [tenth * 50001] * 4, 4 + math.sqrt(50001))
    yield Check("mean", many.mean(1), [tenth] * 4, 4 + math.sqrt(50001))
    rows = numbers((7, 1025), 1)
    yield Check("sum of numbers of both signs", place(rows).sum(1), [math.fsum(row) for row in rows], 0)
    yield Check("sum of columns of both signs", place(rows).sum(0), [math.fsum(column) for column in zip(*rows)], 0)
    yield Check("sum of all", place(rows).sum(), math.fsum(map(math.fsum, rows)), 0)


@sums(dtypes=("bfloat16", "float16"))
def sums_in_16_bit(place):
    """Sums of ones in 16 bit, which would end at 256 or 2048 if the sum itself were kept in 16 bit."""
    yield Check("sum of 1000 ones", torch.ones(1000, dtype=place.kind, device=place.where).sum(), 1000.0, 2)
    yield Check("sum of 4096 ones", torch.ones(3, 4096, dtype=place.kind, device=place.where).sum(1), [4096.0] * 3, 2)
    yield Check("product of 4096", torch.ones(2, 4096, dtype=place.kind, device=place.where) @ place([[1.0]] * 4096), [[4096.0]] * 2, 2)


@sums
def moments_and_norms(place):
    rows = numbers((5, 33), 2)
    x = place(rows)
    means = [math.fsum(row) / 33 for row in rows]
    spread = [math.fsum((v - m) ** 2 for v in row) for row, m in zip(rows, means)]
    yield Check("mean", x.mean(1), means, 8, 1.0)
    yield Check("var", x.var(1), [value / 32 for value in spread], 16)
    yield Check("var of all that there is", x.var(1, unbiased=False), [value / 33 for value in spread], 16)
    yield Check("std", x.std(1), [math.sqrt(value / 32) for value in spread], 16)
    yield Check("norm", x.norm(dim=1), [math.sqrt(math.fsum(v * v for v in row)) for row in rows], 16)
    yield Check("norm of sizes", x.norm(p=1, dim=1), [math.fsum(map(abs, row)) for row in rows], 16)
    yield Check("norm, largest", x.norm(p=INF, dim=1), [max(map(abs, row)) for row in rows], 0)
    yield Check("prod", (x[:, :9] + 3).prod(1), [math.prod(v + 3 for v in row[:9]) for row in rows], 16)
    yield Check("var of one number", x[:, :1].var(1), [NAN] * 5, 0)
    yield Check("any and all", torch.stack(((x > 1.9).any(1), (x > -3).all(1))), [[max(r) > 1.9 for r in rows], [True] * 5], 0)
    given = place(rows, grad=True)
    slope = [[2 * (v - m) / 32 for v in row] for row, m in zip(rows, means)]
    yield Check("gradient of var", gradients(given.var(1).sum(), None, [given])[0], slope, 16, 0.25, backward=True)


@sums
def running_sums(place):
    for count in ODD:
        row, total, wanted = numbers((count,), 3), 0.0, []
        for value in row:
            total += value
            wanted.append(total)
        yield Check(f"cumsum of {count}", place(row).cumsum(0), wanted, 0)
    rows = numbers((3, 40), 1)
    yield Check("cumsum of columns", place(rows).cumsum(0)[2], [math.fsum(column) for column in zip(*rows)], 0)
    x, flow = place(rows[0], grad=True), numbers((40,), 9)
    yield Check("gradient of cumsum", gradients(x.cumsum(0), place(flow), [x])[0], [math.fsum(flow[i:]) for i in range(40)], 0,
                backward=True)  # fmt: skip


wholes = Properties("whole numbers")


def _wrapped(value, bits):
    """The integer wrapped to `bits` bits in two's complement."""
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


@wholes
def division_of_whole_numbers(place):
    pairs = [(a, b) for a in (-7, -6, -1, 0, 1, 5, 7, 2**31 + 5) for b in (-3, -2, 1, 2, 3)]
    a, b = (place.whole([each[side] for each in pairs]) for side in (0, 1))
    yield Check("floor division", torch.div(a, b, rounding_mode="floor"), [x // y for x, y in pairs], 0)
    yield Check(
        "truncating division", torch.div(a, b, rounding_mode="trunc"), [int(math.copysign(abs(x) // abs(y), x * y)) for x, y in pairs], 0
    )
    yield Check("remainder", a % b, [x % y for x, y in pairs], 0)
    yield Check("fmod", torch.fmod(a, b), [int(math.copysign(abs(x) % abs(y), x)) for x, y in pairs], 0)
    yield Check("true division", (a[:35] / b[:35]), [x / y for x, y in pairs[:35]], 2)


@wholes
def overflow_of_whole_numbers(place):
    for kind, bits in ((torch.int8, 8), (torch.int16, 16), (torch.int32, 32), (torch.int64, 64)):
        edge = 2 ** (bits - 1)
        given = [edge - 1, -edge, edge - 2, 1, 0, -1, edge // 3] * 5
        x = place(given, kind)
        name = str(kind).replace("torch.", "")
        yield Check(f"sum in {name}", x + x, [_wrapped(2 * value, bits) for value in given], 0)
        yield Check(f"product in {name}", x * 3, [_wrapped(3 * value, bits) for value in given], 0)
        yield Check(f"difference in {name}", x - 5, [_wrapped(value - 5, bits) for value in given], 0)
    bytes_ = [0, 1, 127, 128, 254, 255] * 7
    yield Check("sum in uint8", place(bytes_, torch.uint8) + 3, [(value + 3) % 256 for value in bytes_], 0)
    yield Check("sum of int32 has room", place([2**31 - 1] * 5, torch.int32).sum(), 5 * (2**31 - 1), 0)
    yield Check("sum of uint8 has room", place([255] * 1025, torch.uint8).sum(), 255 * 1025, 0)
    large = [2**53 + 1, -(2**53) - 1, 2**62 + 3]
    yield Check("int64 beyond a double", place.whole(large) + 1, [value + 1 for value in large], 0)
    yield Check("shifts", torch.stack((place.whole(large) >> 3, place.whole([1, 3, -5]) << 4)), [[v >> 3 for v in large], [16, 48, -80]], 0)


casts = Properties("conversion")


@casts
def conversions_to_whole_numbers(place):
    given = [0.0, 0.9, -0.9, 1.5, -1.5, 2.5, 126.99, -127.5, 3.999, -3.999, 100.0] * 4
    for kind in (torch.int32, torch.int64, torch.int8, torch.int16):
        yield Check("to " + str(kind).replace("torch.", ""), place(given).to(kind), [int(value) for value in given], 0)
    yield Check("to bool", place([0.0, -0.0, 0.5, NAN, INF, 2.0**-130]).to(torch.bool)[:5], [False, False, True, True, True], 0)
    wide = [2**24 + 1, 2**24 + 3, -(2**24) - 1, 2**31 + 2**7, 2**40 + 1, 16777215]
    wanted = [struct.unpack("f", struct.pack("f", value))[0] for value in wide]
    yield Check("int64 to float32", place.whole(wide).to(torch.float32), wanted, 0)
    yield Check("uint8 to float32", place(list(range(0, 256, 5)), torch.uint8).to(torch.float32), [float(v) for v in range(0, 256, 5)], 0)


def _nearest(value, kept, lowest, largest):
    """The nearest number with `kept` bits behind the first, ties to even; `lowest` is the exponent of the smallest normal one."""
    if value != value or abs(value) == INF or value == 0:
        return value
    step = 2.0 ** (max(math.frexp(value)[1] - 1, lowest) - kept)
    found = round(value / step) * step
    return math.copysign(INF, value) if abs(found) > largest else found


@casts
def rounding_to_16_bit(place):
    one = [1 + k * 2.0**-12 for k in range(0, 70)]
    given = [*one, *(-value * 4 for value in one), 65504.0, 65519.0, 65520.0, 1e6, 3.3895e38, 3.4e38, 0.0, INF, -INF, NAN, 1 / 3, math.pi]
    given = [struct.unpack("f", struct.pack("f", value))[0] for value in given]
    tiny = [2.0**-24, 2.0**-25, 3 * 2.0**-25, 2.0**-16 * 1.0009765625]
    for kind, kept, lowest, largest in ((torch.bfloat16, 7, -126, 3.3895313892515355e38), (torch.float16, 10, -14, 65504.0)):
        name = str(kind).replace("torch.", "")
        wanted = [_nearest(value, kept, lowest, largest) for value in given + (tiny if kind == torch.float16 else [])]
        x = place(given + (tiny if kind == torch.float16 else []))
        got = x.to(kind)
        yield Check(f"float32 to {name} and back", got.to(torch.float32), wanted, 0)
        yield Check(f"a sum in {name}", (got[:140] + got[:140]).to(torch.float32), [2 * value for value in wanted[:140]], 0)
        step = 2.0**-kept
        a, b = [1 + step * (k % 5) for k in range(40)], [step / 2 * (1 + 2 * (k % 3)) for k in range(40)]
        rounded = [_nearest(p + q, kept, lowest, largest) for p, q in zip(a, b)]
        yield Check(f"rounding of a sum in {name}", (place(a).to(kind) + place(b).to(kind)).to(torch.float32), rounded, 0)


@casts
def nan_of_low_bits_stays_nan(place):
    """The NaN 0x7f800001 becomes infinite where only its upper half is kept."""
    x = place([0x7F800001, 0x7FC00000, -0x7FFFFF], torch.int32).view(torch.float32)
    yield Check("NaN to bfloat16", x.to(torch.bfloat16).to(torch.float32), [NAN, NAN, NAN], 0)


empty = Properties("empty tensors")


@empty
def reductions_over_nothing(place):
    nothing = torch.empty(0, 5, device=place.where)
    yield Check("sum over nothing", nothing.sum(0), [0.0] * 5, 0)
    yield Check("sum of nothing", nothing.sum(), 0.0, 0)
    yield Check("prod over nothing", nothing.prod(0), [1.0] * 5, 0)
    yield Check("mean of nothing", nothing.mean(), NAN, 0)
    yield Check("all and any of nothing", torch.stack((nothing.bool().all(), nothing.bool().any())), [True, False], 0)
    x = place(numbers((3, 4)))
    yield Check(
        "product over nothing",
        torch.matmul(torch.empty(3, 0, device=place.where), torch.empty(0, 4, device=place.where)),
        [[0.0] * 4] * 3,
        0,
    )
    yield Check("cat with nothing", torch.cat((nothing[:, :4], x)), numbers((3, 4)), 0)
    yield Claim("softmax of nothing", tuple(F.softmax(nothing, 1).shape) == (0, 5))
    yield Claim("relu of nothing", tuple(F.relu(nothing).shape) == (0, 5))
    yield Claim("a selection of nothing", tuple(x[x > 100].shape) == (0,))
    image = torch.empty(0, 3, 8, 8, device=place.where)
    yield Claim("convolution of no images", tuple(F.conv2d(image, torch.ones(4, 3, 3, 3, device=place.where)).shape) == (0, 4, 6, 6))
    added = x.clone().index_add_(0, place.whole([]), torch.empty(0, 4, device=place.where))
    yield Check("index_add of nothing", added, numbers((3, 4)), 0)
