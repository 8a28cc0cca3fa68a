"""Losses, dropout, optimisers, clipping, loss scaling and the accumulation of gradients, against their formulas."""

import math

import torch
import torch.nn.functional as F
from plain_checks import Check, Claim, Properties
from plain_reference import cross_entropy, numbers, softmax
from torch_properties import gradients


def cases():
    return losses + dropouts + optimisers + bookkeeping


losses = Properties("loss")


@losses
def cross_entropy_in_every_form(place):
    rows, labels = [[v * 3 for v in row] for row in numbers((6, 5), 1)], [0, 4, 2, 2, 1, 3]
    weight = [1.0, 0.5, 2.0, 0.25, 1.5]
    x, y, w = place(rows), place.whole(labels), place(weight)
    for name, settings, known in (
        ("cross_entropy", {}, {}), ("cross_entropy with weights", {"weight": w}, {"weight": weight}),
        ("cross_entropy with ignore_index", {"ignore_index": 2}, {"ignored": 2}),
        ("cross_entropy with label smoothing", {"label_smoothing": 0.25}, {"smoothing": 0.25}),
        ("cross_entropy with all of it", {"weight": w, "ignore_index": 2, "label_smoothing": 0.25},
         {"weight": weight, "ignored": 2, "smoothing": 0.25}),
    ):  # fmt: skip
        each, shares = cross_entropy(rows, labels, **known)
        yield Check(name, F.cross_entropy(x, y, **settings), math.fsum(each) / math.fsum(shares), 32, 4.0)
        yield Check(name + ", each", F.cross_entropy(x, y, reduction="none", **settings), each, 32, 8.0)
        yield Check(name + ", summed", F.cross_entropy(x, y, reduction="sum", **settings), math.fsum(each), 32, 8.0)
    leaf = place(rows, grad=True)
    kept = [(row, label) for row, label in zip(rows, labels) if label != 2]
    wanted = [
        [0.0] * 5 if label == 2 else [(s - (c == label)) / len(kept) for c, s in enumerate(softmax(row))]
        for row, label in zip(rows, labels)
    ]
    yield Check(
        "gradient of cross_entropy", gradients(F.cross_entropy(leaf, y, ignore_index=2), None, [leaf])[0], wanted, 32, 1.0, backward=True
    )
    large = [[1000.0, -1000.0, 0.0], [-5000.0, 5000.0, 5000.0]]
    yield Check(
        "cross_entropy of large numbers", F.cross_entropy(place(large), place.whole([0, 1]), reduction="none"), [0.0, math.log(2)], 32, 1.0
    )


@losses
def other_losses(place):
    rows, goals = numbers((5, 7), 1), numbers((5, 7), 2)
    x, y = place(rows), place(goals)
    off = [a - b for p, q in zip(rows, goals) for a, b in zip(p, q)]
    yield Check("mse_loss", F.mse_loss(x, y), math.fsum(v * v for v in off) / 35, 16)
    yield Check("mse_loss, summed", F.mse_loss(x, y, reduction="sum"), math.fsum(v * v for v in off), 16)
    yield Check("l1_loss", F.l1_loss(x, y), math.fsum(map(abs, off)) / 35, 16)
    yield Check("smooth_l1_loss", F.smooth_l1_loss(x, y), math.fsum(v * v / 2 if abs(v) < 1 else abs(v) - 0.5 for v in off) / 35, 16)
    leaf = place(rows, grad=True)
    back = gradients(F.mse_loss(leaf, y), None, [leaf])[0]
    yield Check("gradient of mse_loss", back.reshape(-1), [2 * v / 35 for v in off], 8, backward=True)
    logits, truth = [200.0, -200.0, 0.0, 3.0, -3.0, 200.0, 1.0], [1.0, 0.0, 0.5, 0.0, 1.0, 0.0, 0.25]
    plain = [max(v, 0.0) - v * t + math.log1p(math.exp(-abs(v))) for v, t in zip(logits, truth)]
    z, t = place(logits), place(truth)
    yield Check("binary_cross_entropy_with_logits", F.binary_cross_entropy_with_logits(z, t, reduction="none"), plain, 16, 1.0)
    yield Check("binary_cross_entropy_with_logits, mean", F.binary_cross_entropy_with_logits(z, t), math.fsum(plain) / 7, 16)
    chances = [0.0, 1.0, 0.25, 0.5]
    wanted = [0.0, 0.0, -math.log(0.75), -math.log(0.5)]
    yield Check(
        "binary_cross_entropy", F.binary_cross_entropy(place(chances), place([0.0, 1.0, 0.0, 1.0]), reduction="none"), wanted, 16, 1.0
    )
    logs = [[math.log(v) for v in softmax(row)] for row in rows]
    shares = [softmax(row) for row in goals]
    divergence = [s * (math.log(s) - v) for p, q in zip(logs, shares) for v, s in zip(p, q)]
    yield Check("kl_div", F.kl_div(place(logs), place(shares), reduction="sum"), math.fsum(divergence), 64, 1.0)


dropouts = Properties("dropout")


@dropouts
def dropout_drops_and_scales(place):
    count = 20001
    layer, ones = torch.nn.Dropout(0.25).to(place.where), torch.ones(count, device=place.where, requires_grad=True)
    torch.manual_seed(3)
    first = layer(ones)
    values = first.detach().cpu().tolist()
    share = values.count(0.0) / count
    # The tolerance is five standard deviations of a binomial distribution.
    yield Claim("a quarter is dropped", abs(share - 0.25) < 5 * math.sqrt(0.25 * 0.75 / count), f"{share:.1%} of the numbers are zero")
    kept = [value for value in values if value]
    yield Claim("what is kept is scaled by 1 / (1 - p)", kept and max(abs(v - 4 / 3) for v in kept) < 1e-6, f"{kept[:1]}")
    near = sum(1 for a, b in zip(values, values[1:]) if not a and not b) / count
    yield Claim("neighbours are dropped independently", abs(near - 0.0625) < 0.012, f"{near:.1%} of the pairs are zero")
    back = gradients(first.sum(), None, [ones])[0].cpu().tolist()
    yield Claim("the gradient passes where the output does", back == values, backward=True)
    second = layer(ones).detach().cpu().tolist()
    yield Claim("the next call drops others", second != values)
    torch.manual_seed(3)
    yield Claim("the same seed drops the same", layer(ones).detach().cpu().tolist() == values)
    torch.manual_seed(4)
    yield Claim("another seed drops others", layer(ones).detach().cpu().tolist() != values)
    layer.eval()
    yield Claim("nothing is dropped in evaluation", layer(ones).detach().cpu().tolist() == [1.0] * count)
    yield Claim("p = 0 drops nothing", F.dropout(ones, 0.0).detach().cpu().tolist() == [1.0] * count)
    yield Claim("p = 1 drops all", not any(F.dropout(ones, 1.0).detach().cpu().tolist()))
    yield Claim("training=False drops nothing", F.dropout(ones, 0.5, training=False).detach().cpu().tolist() == [1.0] * count)
    planes = F.dropout2d(torch.ones(40, 30, 3, 3, device=place.where), 0.5).cpu().reshape(1200, 9).tolist()
    yield Claim(
        "dropout2d drops whole channels", all(len(set(plane)) == 1 for plane in planes) and 450 < sum(not p[0] for p in planes) < 750
    )


optimisers = Properties("optimiser")


def _sgd(p, g, s, rate, momentum=0.0, nesterov=False, weight_decay=0.0, dampening=0.0):
    g = g + weight_decay * p
    if momentum:
        s["m"] = g if "m" not in s else momentum * s["m"] + (1 - dampening) * g
        g = g + momentum * s["m"] if nesterov else s["m"]
    return p - rate * g


def _adam(p, g, s, rate, betas=(0.9, 0.999), weight_decay=0.0, apart=False):
    p, g = (p * (1 - rate * weight_decay), g) if apart else (p, g + weight_decay * p)
    s["t"] = s.get("t", 0) + 1
    s["m"] = betas[0] * s.get("m", 0.0) + (1 - betas[0]) * g
    s["v"] = betas[1] * s.get("v", 0.0) + (1 - betas[1]) * g * g
    return p - rate * s["m"] / (1 - betas[0] ** s["t"]) / (math.sqrt(s["v"] / (1 - betas[1] ** s["t"])) + 1e-8)


def _rmsprop(p, g, s, rate, alpha=0.9):
    s["v"] = alpha * s.get("v", 0.0) + (1 - alpha) * g * g
    return p - rate * g / (math.sqrt(s["v"]) + 1e-8)


OPTIMISERS = {
    "sgd": ("SGD", {"lr": 0.1}, lambda p, g, s: _sgd(p, g, s, 0.1)),
    "sgd_momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}, lambda p, g, s: _sgd(p, g, s, 0.1, 0.9)),
    "sgd_nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.2},
                     lambda p, g, s: _sgd(p, g, s, 0.1, 0.9, True, 0.2)),
    "sgd_decay": ("SGD", {"lr": 0.1, "momentum": 0.5, "weight_decay": 0.25, "dampening": 0.5},
                  lambda p, g, s: _sgd(p, g, s, 0.1, 0.5, False, 0.25, 0.5)),
    "adam": ("Adam", {"lr": 0.01, "weight_decay": 0.25}, lambda p, g, s: _adam(p, g, s, 0.01, weight_decay=0.25)),
    "adamw": ("AdamW", {"lr": 0.01, "weight_decay": 0.25}, lambda p, g, s: _adam(p, g, s, 0.01, weight_decay=0.25, apart=True)),
    "rmsprop": ("RMSprop", {"lr": 0.01, "alpha": 0.9}, lambda p, g, s: _rmsprop(p, g, s, 0.01)),
}  # fmt: skip


def _optimiser(name):
    kind, settings, formula = OPTIMISERS[name]

    def run(place):
        start = [[v + 0.0625 for v in numbers((19,), shift)] for shift in (1, 2)]
        for way in ({}, {"foreach": False}):
            parameters = [place(values, grad=True) for values in start]
            optimiser = getattr(torch.optim, kind)(parameters, **settings, **way)
            right, states = [values[:] for values in start], [[{} for _ in values] for values in start]
            for step in range(3):
                flows = [numbers((19,), step * 2 + which + 3) for which in (0, 1)]
                optimiser.zero_grad()
                sum((p * place(flow)).sum() for p, flow in zip(parameters, flows)).backward()
                optimiser.step()
                right = [[formula(p, g, s) for p, g, s in zip(*each)] for each in zip(right, flows, states)]
            for p, wanted in zip(parameters, right):
                yield Check(f"{name} after three steps", p, wanted, 64, 2.0)

    return run


for _name in OPTIMISERS:
    optimisers(_optimiser(_name), name=_name + "_by_its_formula")


@optimisers
def clipping_of_gradients(place):
    for limit in (0.5, 1e6):
        p, q = place(numbers((11,), 1), grad=True), place(numbers((3, 2), 2), grad=True)
        ((p * p).sum() + (q * 3).sum()).backward()
        flow = [2 * v for v in numbers((11,), 1)]
        norm = math.sqrt(math.fsum(v * v for v in flow) + 6 * 9)
        returned = torch.nn.utils.clip_grad_norm_([p, q], limit)
        factor = min(1.0, limit / (norm + 1e-6))
        yield Check("the norm that clip_grad_norm_ returns", returned, norm, 16)
        yield Check("clipped gradients", p.grad, [v * factor for v in flow], 32, 0.1)
        yield Check("clipped gradients of all tensors", q.grad, [[3 * factor] * 2] * 3, 32)
    p = place(numbers((11,), 1), grad=True)
    (p * 4 * p).sum().backward()
    torch.nn.utils.clip_grad_value_([p], 3.0)
    yield Check("clip_grad_value_", p.grad, [max(-3.0, min(3.0, 8 * v)) for v in numbers((11,), 1)], 4)


@optimisers
def loss_scaling_skips_infinite_gradients(place):
    newer = getattr(getattr(torch, "amp", None), "GradScaler", None)
    if newer is None:
        raise NotImplementedError("this torch has no torch.amp.GradScaler")
    scaler = newer(place.device.kind, init_scale=1024.0, growth_interval=2)
    p = place([1.0, 2.0, 3.0], grad=True)
    optimiser = torch.optim.SGD([p], lr=0.5)
    right, scales = [1.0, 2.0, 3.0], []
    for factor in (1.0, math.inf, 2.0, 1.0):
        optimiser.zero_grad()
        scaler.scale((p * factor).sum()).backward()
        scaler.step(optimiser)
        scaler.update()
        scales.append(float(scaler.get_scale()))
        right = right if factor == math.inf else [v - 0.5 * factor for v in right]
        yield Check(f"parameters after a gradient of {factor:g}", p, right, 8)
    yield Claim("the scale halves after infinity, and doubles after two good steps", scales == [1024, 512, 512, 1024], f"{scales}")


bookkeeping = Properties("gradient")


@bookkeeping
def gradients_add_up_and_stop(place):
    p = place(numbers((9,), 1), grad=True)
    other = place(numbers((9,), 2))
    for _ in range(2):
        (p * other).sum().backward()
    yield Check("two backward passes add up", p.grad, [2 * v for v in numbers((9,), 2)], 2, backward=True)
    p.grad = None
    (p.detach() * p).sum().backward()
    yield Check("no gradient through detach", p.grad, numbers((9,), 1), 2, backward=True)
    with torch.no_grad():
        still = p * 2
    yield Claim("no_grad makes no graph", not still.requires_grad)
    p.grad = None
    with torch.enable_grad():
        (p * p * p).sum().backward()
    yield Check("gradient of a cube", p.grad, [3 * v * v for v in numbers((9,), 1)], 8, backward=True)
    x = place([0.5], grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), [x], create_graph=True)
    yield Check("second derivative", gradients(first.sum(), None, [x])[0], [3.0], 8, backward=True)


@bookkeeping
def a_network_learns(place):
    """Least squares by gradient descent: each step follows the formula, and the loss ends at the right value."""
    rows, goal = numbers((24, 3), 1), [0.5, -1.0, 2.0]
    targets = [[math.fsum(a * b for a, b in zip(row, goal)) + 0.25] for row in rows]
    layer = torch.nn.Linear(3, 1)
    with torch.no_grad():
        layer.weight.fill_(0.125)
        layer.bias.zero_()
    layer = layer.to(place.where)
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.25, momentum=0.5)
    x, y = place(rows), place(targets)
    weight, moved, history = [0.125] * 3 + [0.0], [0.0] * 4, []
    for step in range(25):
        optimiser.zero_grad()
        loss = F.mse_loss(layer(x), y)
        loss.backward()
        optimiser.step()
        off = [math.fsum(a * b for a, b in zip([*row, 1.0], weight)) - t[0] for row, t in zip(rows, targets)]
        flow = [2 * math.fsum(o * [*row, 1.0][i] for o, row in zip(off, rows)) / 24 for i in range(4)]
        moved = [flow[i] if not step else 0.5 * moved[i] + flow[i] for i in range(4)]
        weight = [w - 0.25 * m for w, m in zip(weight, moved)]
        history.append((float(loss.detach().cpu()), math.fsum(o * o for o in off) / 24))
    yield Check("the loss of each step", torch.tensor([got for got, _ in history]), [right for _, right in history], 256, 1.0)
    yield Check("the weights that it learnt", layer.weight, [weight[:3]], 256, 1.0)
    yield Check("the bias that it learnt", layer.bias, [weight[3]], 256, 1.0)
