"""Indices with duplicates, views and in-place operations, copies of odd sizes, selections: against references in plain Python."""

import math

import torch
import torch.nn.functional as F
from plain_checks import Check, Properties
from plain_reference import numbers, shaped, transposed
from torch_properties import gradients

ODD = (0, 1, 3, 17, 1025, 65537)


def cases():
    return indices + views + copies + elements


indices = Properties("index")
REPEATED = [0, 2, 2, 1, 2, 4, 0, 2]


def _added(rows, places, into):
    found = [row[:] for row in into]
    for place, row in zip(places, rows):
        found[place] = [a + b for a, b in zip(found[place], row)]
    return found


@indices
def additions_to_repeated_places(place):
    base, rows = numbers((5, 6), 1), numbers((8, 6), 2)
    wanted = _added(rows, REPEATED, base)
    x, y, i = place(base), place(rows), place.whole(REPEATED)
    wide = i.reshape(8, 1).expand(8, 6)
    yield Check("index_add", x.index_add(0, i, y), wanted, 8, 8.0)
    yield Check(
        "index_add, scaled", x.index_add(0, i, y, alpha=-2), _added([[-2 * v for v in row] for row in rows], REPEATED, base), 8, 16.0
    )
    yield Check("index_put with accumulate", x.index_put((i,), y, accumulate=True), wanted, 8, 8.0)
    yield Check("scatter_add", x.scatter_add(0, wide, y), wanted, 8, 8.0)
    sideways = place(transposed(base)).index_add(1, i, place(transposed(rows)))
    yield Check("index_add to columns", sideways, transposed(wanted), 8, 8.0)
    many = [int(value * 8) % 7 for value in numbers((3001,), 5)]
    ones = torch.ones(3001, device=place.where)
    zero = torch.zeros(7, device=place.where)
    counts = [float(many.count(value)) for value in range(7)]
    yield Check("index_add of 3001 ones to 7 places", zero.index_add(0, place.whole(many), ones), counts, 0)
    yield Check("scatter_add of 3001 ones to 7 places", zero.scatter_add(0, place.whole(many), ones), counts, 0)
    yield Check("index_put of 3001 ones to 7 places", zero.index_put((place.whole(many),), ones, accumulate=True), counts, 0)
    yield Check("bincount", torch.bincount(place.whole(many), minlength=7), [int(value) for value in counts], 0)


@indices
def gradients_of_repeated_places(place):
    table, flow = numbers((5, 6), 1), numbers((8, 6), 2)
    nothing = [[0.0] * 6 for _ in range(5)]
    wanted = _added(flow, REPEATED, nothing)
    picked = [table[i] for i in REPEATED]
    i = place.whole(REPEATED)
    for name, call in (
        ("embedding", lambda x: F.embedding(i, x)), ("index_select", lambda x: x.index_select(0, i)), ("a list of indices", lambda x: x[i]),
        ("gather", lambda x: x.gather(0, i.reshape(8, 1).expand(8, 6))),
    ):  # fmt: skip
        x = place(table, grad=True)
        got = call(x)
        yield Check(name, got, picked, 0)
        yield Check("gradient of " + name, gradients(got, place(flow), [x])[0], wanted, 8, 8.0, backward=True)
    x = place(table, grad=True)
    left = [row if i != 2 else [0.0] * 6 for i, row in enumerate(wanted)]
    yield Check("gradient of embedding with padding_idx", gradients(F.embedding(i, x, padding_idx=2), place(flow), [x])[0], left, 8, 8.0,
                backward=True)  # fmt: skip
    large = [int(value * 8) % 13 for value in numbers((2000,), 3)]
    x = place(numbers((13, 4), 1), grad=True)
    (back,) = gradients(F.embedding(place.whole(large), x), torch.ones(2000, 4, device=place.where), [x])
    yield Check("gradient of an embedding of 2000 words", back, [[float(large.count(value))] * 4 for value in range(13)], 0, backward=True)


@indices
def gather_and_scatter(place):
    rows = numbers((4, 9), 1)
    picks = [[(r * 5 + c * 7) % 9 for c in range(5)] for r in range(4)]
    yield Check("gather", place(rows).gather(1, place.whole(picks)), [[row[i] for i in pick] for row, pick in zip(rows, picks)], 0)
    different, given = [[(r + 2 * c) % 9 for c in range(4)] for r in range(4)], numbers((4, 4), 2)
    wanted = [row[:] for row in rows]
    for row, places, values in zip(wanted, different, given):
        for at, value in zip(places, values):
            row[at] = value
    yield Check("scatter", place(rows).scatter(1, place.whole(different), place(given)), wanted, 0)
    chosen = place([rows[0], rows[2]])
    copied = [rows[2], rows[1], rows[0], rows[3]]
    yield Check("index_copy", place(rows).index_copy(0, place.whole([2, 0]), chosen), copied, 0)
    yield Check("index_fill", place(rows).index_fill(1, place.whole([0, 8]), 5.0), [[5.0, *row[1:8], 5.0] for row in rows], 0)
    changed = place(rows)
    changed[1:3, ::4] = 7.0
    yield Check(
        "a slice that is set",
        changed,
        [[7.0 if 1 <= r < 3 and c % 4 == 0 else v for c, v in enumerate(row)] for r, row in enumerate(rows)],
        0,
    )
    last = place(rows)[:, -1]
    yield Check("the last column", last, [row[-1] for row in rows], 0)


@indices
def selections(place):
    rows, other = numbers((5, 13), 1), numbers((5, 13), 2)
    mask = [[(r * 3 + c) % 4 == 1 for c in range(13)] for r in range(5)]
    x, y, m = place(rows), place(other), place.truth(mask)
    chosen = [[a if t else b for a, b, t in zip(*each)] for each in zip(rows, other, mask)]
    yield Check("where", torch.where(m, x, y), chosen, 0)
    broken = torch.full((5, 13), math.nan, device=place.where)
    yield Check(
        "where ignores the other side",
        torch.where(m, x, broken).nan_to_num(9.0),
        [[a if t else 9.0 for a, t in zip(*each)] for each in zip(rows, mask)],
        0,
    )
    yield Check("masked_fill", x.masked_fill(m, -3.0), [[-3.0 if t else a for a, t in zip(*each)] for each in zip(rows, mask)], 0)
    yield Check("masked_select", x[m], [a for each in zip(rows, mask) for a, t in zip(*each) if t], 0)
    yield Check("nonzero", torch.nonzero(m), [[r, c] for r in range(5) for c in range(13) if mask[r][c]], 0)
    leaf, flow = place(rows, grad=True), numbers((5, 13), 4)
    back = gradients(torch.where(m, leaf, y), place(flow), [leaf])[0]
    yield Check("gradient of where", back, [[f if t else 0.0 for f, t in zip(*each)] for each in zip(flow, mask)], 0, backward=True)
    back = gradients(leaf.masked_fill(m, 0.0), place(flow), [leaf])[0]
    yield Check("gradient of masked_fill", back, [[0.0 if t else f for f, t in zip(*each)] for each in zip(flow, mask)], 0, backward=True)
    lower = [[v if c <= r + 1 else 0.0 for c, v in enumerate(row)] for r, row in enumerate(rows)]
    yield Check("tril", torch.tril(x, 1), lower, 0)


views = Properties("shape")


@views
def views_and_changes_in_place(place):
    rows = numbers((4, 6), 1)
    base = place(rows)
    base[:, 2].add_(10)
    base.t()[5].mul_(2)
    base.view(-1)[0].fill_(99.0)
    base.narrow(0, 1, 2).sub_(1)
    wanted = [[(v + 10 * (c == 2)) * (2 if c == 5 else 1) for c, v in enumerate(row)] for row in rows]
    wanted[0][0] = 99.0
    wanted = [[v - (1 <= r < 3) for v in row] for r, row in enumerate(wanted)]
    yield Check("changes through views", base, wanted, 2)
    x = place(rows)
    yield Check("in-place relu", F.relu(x.clone(), inplace=True), [[max(v, 0.0) for v in row] for row in rows], 0)
    yield Check("addcmul in place", x.clone().addcmul_(x, x, value=0.5), [[v + v * v / 2 for v in row] for row in rows], 2)
    yield Check(
        "lerp", torch.lerp(x, x.flip(0), 0.25), [[a + 0.25 * (b - a) for a, b in zip(*each)] for each in zip(rows, rows[::-1])], 4, 2.0
    )
    leaf = place(rows, grad=True)
    inner = leaf * 1
    inner[:, ::2] *= 3
    back = gradients(inner, torch.ones(4, 6, device=place.where), [leaf])[0]
    yield Check("gradient through a changed view", back, [[3.0, 1.0] * 3] * 4, 0, backward=True)


@views
def shapes_and_orders(place):
    cube = numbers((2, 3, 4), 1)
    x = place(cube)
    moved = [[[cube[a][b][c] for a in range(2)] for b in range(3)] for c in range(4)]
    yield Check("permute and contiguous", x.permute(2, 1, 0).contiguous(), moved, 0)
    yield Check("reshape of a permuted tensor", x.permute(2, 1, 0).reshape(-1), [v for a in moved for b in a for v in b], 0)
    yield Check("flip", x.flip(0, 2), [[row[::-1] for row in plane] for plane in cube[::-1]], 0)
    yield Check("roll", torch.roll(x, 1, 2), [[[*row[-1:], *row[:-1]] for row in plane] for plane in cube], 0)
    yield Check("cat along the last side", torch.cat((x, x[:, :, :1]), 2), [[[*row, row[0]] for row in plane] for plane in cube], 0)
    yield Check("cat of permuted", torch.cat((x.transpose(0, 1), x.transpose(0, 1)), 1), [[p[b] for p in cube] * 2 for b in range(3)], 0)
    yield Check("stack and chunk", torch.stack(x.chunk(3, 1)), [[[plane[b]] for plane in cube] for b in range(3)], 0)
    yield Check("repeat", x[0].repeat(2, 2), [row * 2 for row in cube[0]] * 2, 0)
    yield Check("expand", (x[:1].expand(3, 3, 4) + 0), [cube[0]] * 3, 0)
    yield Check("repeat_interleave", x[0].repeat_interleave(2, 0), [row for row in cube[0] for _ in (0, 1)], 0)
    yield Check("strides of two and three", x[:, ::2, 1::3] + 0, [[row[1::3] for row in plane[::2]] for plane in cube], 0)
    yield Check("unfold", x[0, 0].unfold(0, 2, 1), [cube[0][0][i : i + 2] for i in range(3)], 0)
    yield Check("diagonal", torch.diagonal(x[0]), [cube[0][i][i] for i in range(3)], 0)
    grown = [[v for v in row for _ in range(3)] for row in cube[0] for _ in range(2)]
    yield Check("nearest neighbours", F.interpolate(x[None, :1], scale_factor=(2, 3), mode="nearest"), [[grown]], 0)
    corners = F.interpolate(place([[[[0.0, 1.0, 2.0]] * 2]]), size=(2, 5), mode="bilinear", align_corners=True)
    yield Check("bilinear with its corners", corners, [[[[0.0, 0.5, 1.0, 1.5, 2.0]] * 2]], 8, 2.0)
    halves = F.interpolate(place([[[[0.0, 1.0]]]]), size=(1, 4), mode="bilinear", align_corners=False)
    yield Check("bilinear between centres", halves, [[[[0.0, 0.25, 0.75, 1.0]]]], 8, 1.0)
    tiles = place([[[[float(c)]] for c in range(4)]])
    yield Check("pixel_shuffle", F.pixel_shuffle(tiles, 2), [[[[0.0, 1.0], [2.0, 3.0]]]], 0)


copies = Properties("copy")


@copies
def copies_of_odd_sizes(place):
    for count in ODD:
        for kind, given in ((torch.float32, [v % 251 / 8.0 for v in range(count)]), (torch.int64, list(range(count))),
                            (torch.uint8, [v % 256 for v in range(count)]), (torch.bool, [v % 3 == 0 for v in range(count)])):  # fmt: skip
            if count > 1025 and kind in (torch.int64, torch.bool):
                continue
            host = torch.tensor(given, dtype=kind)
            there = host.to(place.where)
            name = f"{count} of " + str(kind).replace("torch.", "")
            yield Check(f"copy of {name} there and back", there.clone(), given, 0)
            target = torch.zeros_like(there)
            target.copy_(host)
            back = torch.empty_like(host)
            back.copy_(target)
            yield Check(f"copy_ of {name}", back, given, 0)


@copies
def copies_of_strided_tensors(place):
    rows = numbers((17, 9), 1)
    host = torch.tensor(rows, dtype=place.kind)
    yield Check("a transposed tensor to the device", host.t().to(place.where), transposed(rows), 0)
    yield Check("every second column to the device", host[:, ::2].to(place.where), [row[::2] for row in rows], 0)
    there = host.clone().to(place.where)
    yield Check("a transposed tensor back", there.t(), transposed(rows), 0)
    target = torch.zeros(9, 17, device=place.where).t()
    target.copy_(host)
    yield Check("a copy into a transposed tensor", target, rows, 0)
    part = torch.zeros(17, 20, device=place.where)
    part[:, 3:12].copy_(there)
    yield Check("a copy into a part", part, [[0.0] * 3 + row + [0.0] * 8 for row in rows], 0)
    there.add_(1)
    yield Check("a clone is independent", host, rows, 0)
    kept = torch.tensor([1.0, 2.0]).to(place.where)
    first = kept.clone()
    kept.zero_()
    yield Check("a clone does not follow", first, [1.0, 2.0], 0)


elements = Properties("arithmetic")


@elements
def elements_of_odd_sizes(place):
    """Sizes at which the last numbers do not fill a vector."""
    for count in (1, 3, 17, 31, 1025):
        a, b = numbers((count,), 1), numbers((count,), 2)
        x, y = place(a), place(b)
        yield Check(f"sum of {count}", x + y, [p + q for p, q in zip(a, b)], 0)
        yield Check(f"product of {count}", x * y, [p * q for p, q in zip(a, b)], 0)
        yield Check(f"difference of {count}", x - y, [p - q for p, q in zip(a, b)], 0)
        yield Check(f"quotient of {count}", x / (y + 3), [p / (q + 3) for p, q in zip(a, b)], 4)
        yield Check(f"power of {count}", (x + 3) ** 2.5, [(p + 3) ** 2.5 for p in a], 16)
        yield Check(f"root of {count}", torch.rsqrt(x + 3), [1 / math.sqrt(p + 3) for p in a], 8)
        yield Check(f"comparison of {count}", x > y, [p > q for p, q in zip(a, b)], 0)
        yield Check(f"larger of {count}", torch.maximum(x, y), [max(p, q) for p, q in zip(a, b)], 0)
        yield Check(f"sum of {count} and a slice", torch.cat((x, x))[1::2] + y, [(a + a)[1::2][i] + b[i] for i in range(count)], 0)


@elements
def repeated_calls_and_changed_inputs(place):
    """The same call with other numbers, which shows results that are kept from an earlier call."""
    for step in range(6):
        rows = numbers((8, 9), step)
        x = place(rows)
        yield Check(f"call {step} of relu", F.relu(x), [[max(v, 0.0) for v in row] for row in rows], 0)
        yield Check(f"call {step} of a sum", x.sum(1), [math.fsum(row) for row in rows], 0)
        yield Check(f"call {step} of a product", x @ x.t(), [[math.fsum(a * b for a, b in zip(p, q)) for q in rows] for p in rows], 8, 32.0)
    flat = numbers((40,), 1)
    kept = place(flat)
    for step in range(3):
        kept.add_(1)
        yield Check(f"change {step} in place", kept * 2, [2 * (v + step + 1) for v in flat], 0)


@elements
def broadcasting(place):
    a, b, c = numbers((4, 1, 5), 1), numbers((3, 1), 2), numbers((5,), 3)
    wanted = shaped([a[i][0][k] * b[j][0] + c[k] for i in range(4) for j in range(3) for k in range(5)], (4, 3, 5))
    leaves = [place(each, grad=True) for each in (a, b, c)]
    got = leaves[0] * leaves[1] + leaves[2]
    flow = numbers((4, 3, 5), 4)
    yield Check("broadcast product and sum", got, wanted, 2, 4.0)
    right = (
        [[[math.fsum(flow[i][j][k] * b[j][0] for j in range(3)) for k in range(5)]] for i in range(4)],
        [[math.fsum(flow[i][j][k] * a[i][0][k] for i in range(4) for k in range(5))] for j in range(3)],
        [math.fsum(flow[i][j][k] for i in range(4) for j in range(3)) for k in range(5)],
    )
    for back, each in zip(gradients(got, place(flow), leaves), right):
        yield Check("gradient of a broadcast tensor", back, each, 16, "all", backward=True)
