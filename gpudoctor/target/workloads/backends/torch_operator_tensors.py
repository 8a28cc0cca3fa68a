"""Operators on tensors: arithmetic, indices, order, reductions, transforms, linear algebra, random numbers, optimisers, detection."""

import torch
from torch_operator_inputs import SINGLE, WHOLES, WIDE, I, M, P, T, Table


def cases():
    return (
        _arithmetic()
        + _wholes()
        + _shapes()
        + _indices()
        + _order()
        + _reductions()
        + _transforms()
        + _algebra()
        + _random()
        + _optimisers()
        + _boxes()
    )


def _arithmetic():
    t = Table("arithmetic")
    x, y = T(6, 20), P(6, 20)
    t.add("add_broadcast", lambda x, y: x + y, x, T(20))
    t.add("mul", lambda x, y: x * y, x, y)
    t.add("div", lambda x, y: x / y, x, y)
    t.add("pow", lambda x: x.pow(3), x)
    t.add("sqrt", torch.sqrt, y)
    t.add("rsqrt", torch.rsqrt, y)
    t.add("exp", torch.exp, x)
    t.add("log", lambda y: torch.log(y + 1), y, slack=2.0)
    t.add("sin_cos", lambda x: (torch.sin(x * 3), torch.cos(x * 3)), x, slack=2.0)
    t.add("erf", torch.erf, x)
    t.add("abs", torch.abs, x)
    t.add("clamp", lambda x: x.clamp(-0.5, 0.5), x)
    t.add("maximum", torch.maximum, x, y)
    t.add("where", lambda c, x, y: torch.where(c, x, y), M(6, 20), x, y)
    t.add("masked_fill", lambda x, m: x.masked_fill(m, -2.0), x, M(6, 20))
    t.plain("round_floor_ceil", lambda x: (torch.round(x * 4), torch.floor(x * 4), torch.ceil(x * 4)), x)
    t.add("addcmul_inplace", lambda x, y: (x * 1).addcmul_(y, y, value=0.5).mul_(2), x, y)
    t.add("lerp", lambda x, y: torch.lerp(x, y, 0.3), x, y)
    t.plain("cast_to_half_and_back", lambda x: x.to(torch.float16).to(torch.float32), x, dtypes=SINGLE, slack=100.0)
    return t


def _wholes():
    t = Table("whole numbers")
    x = T(6, 20)
    t.plain("integer_add", lambda x: x + x, x, dtypes=WHOLES)
    t.plain("integer_mul", lambda x: x * 2, x, dtypes=WHOLES)
    t.plain("integer_floor_divide", lambda x: torch.div(x, 3, rounding_mode="floor"), x, dtypes=WHOLES)
    t.plain("integer_sum", lambda x: x.sum(1), x, dtypes=WHOLES)
    t.plain("integer_compare", lambda x: x > 1, x, dtypes=(*WHOLES, "float32"))
    t.plain("integer_bitwise", lambda x: (x & 3) | 4, x, dtypes=WHOLES)
    t.plain("integer_remainder", lambda x: x % 3, x, dtypes=WHOLES)
    t.plain("integer_cast", lambda x: x.to(torch.float32) * 0.5, x, dtypes=WHOLES)
    t.plain("bool_logic", lambda m: (~m, m & m.flip(0), m.any(0), m.all(1), m.sum()), M(6, 20), dtypes=("bool",))
    t.plain("bincount", lambda i: torch.bincount(i, minlength=12), I(10, 50), dtypes=("int64",))
    return t


def _shapes():
    t = Table("shape")
    x = T(4, 6, 8)
    t.add("transpose_contiguous", lambda x: x.transpose(0, 2).contiguous(), x)
    t.add("cat", lambda x, y: torch.cat((x, y), 1), x, x)
    t.add("stack_chunk", lambda x: torch.stack(x.chunk(3, 1)), x)
    t.add("roll", lambda x: torch.roll(x, 3, 1), x)
    t.add("flip", lambda x: torch.flip(x, (1,)), x)
    t.add("repeat_expand", lambda x: x.repeat(2, 1, 1) + x[:1].expand(8, 6, 8), x)
    t.add("strided_slice", lambda x: x[:, ::2, 1:7:3] * 2, x)
    t.add("tril_triu", lambda x: (torch.tril(x), torch.triu(x, 1)), x)
    t.add("pad_of_a_slice", lambda x: (x * 1)[:, 1:5].clone(), x)
    t.plain(
        "arange_linspace",
        lambda x: torch.arange(20, device=x.device) * 0.5 + torch.linspace(0, 1, 20, device=x.device),
        T(1),
        dtypes=SINGLE,
    )
    t.plain("one_hot", lambda i: torch.nn.functional.one_hot(i, 10), I(10, 6), dtypes=("int64",))
    return t


def _indices():
    t = Table("index")
    x = T(10, 8)
    t.add("index_select", lambda x, i: x.index_select(0, i), x, I(10, 7))
    t.add("gather", lambda x, i: x.gather(1, i), x, I(8, 10, 5))
    t.add("scatter", lambda x, y: (x * 1).scatter(0, torch.arange(5, device=x.device).reshape(5, 1).expand(5, 8), y), x, T(5, 8))
    t.add("scatter_add", lambda x, i, y: (x * 1).scatter_add(0, i, y), x, I(10, 5, 8), T(5, 8), slack=2.0)
    t.add("index_put", lambda x, y: (x * 1).index_put((torch.tensor([1, 3, 5], device=x.device),), y), x, T(3, 8))
    t.add("index_put_accumulate", lambda x, i, y: (x * 1).index_put((i,), y, accumulate=True), x, I(10, 12), T(12, 8), slack=2.0)
    t.add("index_add", lambda x, i, y: (x * 1).index_add(0, i, y), x, I(10, 12), T(12, 8), slack=2.0)
    t.add("fancy_index", lambda x, i: x[i], x, I(10, 6))
    t.add("mask_index", lambda x, m: x[m], x, M(10, 8))
    t.plain("nonzero", lambda m: torch.nonzero(m), M(6, 7), dtypes=("bool",))
    t.plain("unique", lambda i: torch.unique(i, return_inverse=True), I(9, 40), dtypes=("int64",))
    t.add("take_along_dim", lambda x, i: torch.take_along_dim(x, i, 1), x, I(8, 10, 3))
    return t


def _order():
    t = Table("order")
    x = T(5, 40)
    t.add("sort", lambda x: torch.sort(x, 1)[0], x)
    t.add("argsort", lambda x: x.gather(1, torch.argsort(x, 1, descending=True)), x)
    t.add("topk", lambda x: torch.topk(x, 7, 1)[0], x)
    t.plain("argmax", lambda x: torch.argmax(x, 1), x, dtypes=WIDE)
    t.add("max_dim", lambda x: torch.max(x, 1)[0], x, dtypes=WIDE)
    t.add("cumsum", lambda x: torch.cumsum(x, 1), x, slack=4.0)
    t.add("cumprod", lambda x: torch.cumprod(x, 1), P(3, 12), slack=4.0)
    t.plain("searchsorted", lambda x: torch.searchsorted(torch.linspace(-1, 1, 9, device=x.device, dtype=x.dtype), x), x, dtypes=WIDE)
    t.plain("median", lambda x: torch.median(x, 1)[0], T(5, 41), dtypes=WIDE)
    t.plain("integer_sort", lambda i: torch.sort(i)[0], I(99, 60), dtypes=("int64",))
    return t


def _reductions():
    t = Table("reduction")
    x = P(6, 8, 50)
    t.add("sum", lambda x: x.sum(), x)
    t.add("sum_dims", lambda x: x.sum((0, 2)), x)
    t.add("mean", lambda x: x.mean(-1), x)
    t.add("var", lambda x: x.var(-1), x, slack=8.0)
    t.add("std", lambda x: x.std((0, 1)), x, slack=8.0)
    t.add("amax_amin", lambda x: (x.amax(-1), x.amin(0)), x, dtypes=WIDE)
    t.add("prod", lambda x: x.prod(-1), P(4, 10), slack=4.0)
    t.add("norm", lambda x: torch.norm(x, dim=-1), x)
    t.add("logsumexp", lambda x: torch.logsumexp(x, -1), x, slack=2.0)
    t.add("cosine_similarity", lambda x, y: torch.nn.functional.cosine_similarity(x, y, -1), T(6, 32), P(6, 32), slack=20.0)
    t.add("cdist", lambda x, y: torch.cdist(x, y), T(6, 5), T(7, 5), dtypes=WIDE, slack=10.0)
    return t


def _transforms():
    t = Table("transform and complex")
    x = T(4, 32)
    t.add("rfft_irfft", lambda x: torch.fft.irfft(torch.fft.rfft(x), 32), x, dtypes=WIDE, slack=4.0)
    t.add("fft2", lambda x: torch.view_as_real(torch.fft.fft2(torch.view_as_complex(x))), T(3, 8, 8, 2), dtypes=WIDE, slack=4.0)
    t.add("stft", _short_transform, T(2, 64), dtypes=WIDE, slack=4.0)
    t.add(
        "complex_mul",
        lambda x, y: torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(y)),
        T(6, 8, 2),
        P(6, 8, 2),
        dtypes=WIDE,
    )
    t.add("complex_abs", lambda x: torch.view_as_complex(x).abs(), P(6, 8, 2), dtypes=WIDE)
    return t


def _short_transform(x):
    return torch.view_as_real(torch.stft(x, 16, window=torch.ones(16, dtype=x.dtype, device=x.device), return_complex=True))


def _algebra():
    t = Table("linear algebra")

    def symmetric(x):
        return x @ x.transpose(-2, -1) + 4 * torch.eye(6, dtype=x.dtype, device=x.device)

    def apart(x):
        """A matrix with singular values far from zero and from each other, because otherwise the gradient is not unique."""
        return x + torch.eye(6, 4, dtype=x.dtype, device=x.device) * torch.arange(3, 15, 3, dtype=x.dtype, device=x.device)

    x = T(3, 6, 6)
    more = {"dtypes": WIDE, "slack": 50.0}
    t.add("inverse", lambda x: torch.inverse(symmetric(x)), x, **more)
    t.add("solve", lambda x, y: torch.linalg.solve(symmetric(x), y), x, T(3, 6, 2), **more)
    t.add("cholesky", lambda x: torch.linalg.cholesky(symmetric(x)), x, **more)
    t.add("det", lambda x: torch.linalg.det(symmetric(x)), x, **more)
    t.add("eigenvalues", lambda x: torch.linalg.eigvalsh(symmetric(x)), x, **more)
    t.add("singular_values", lambda x: torch.linalg.svdvals(apart(x)), T(3, 6, 4), **more)
    t.plain("svd", lambda x: _whole(torch.linalg.svd(x, full_matrices=False)), T(3, 6, 4), **more)
    t.plain("qr", lambda x: _product(torch.linalg.qr(x)), T(3, 6, 4), **more)
    return t


def _whole(parts):
    left, values, right = parts
    return left * values.unsqueeze(-2) @ right


def _product(parts):
    return parts[0] @ parts[1]


def _random():
    """Random numbers, judged by their moments and by the seed, because the numbers themselves differ between devices."""
    t = Table("random numbers")
    t.plain("randn", lambda x: _twice(lambda: torch.randn(20000, device=x.device, dtype=x.dtype)), T(1), judge=_normal)
    t.plain("rand", lambda x: _twice(lambda: torch.rand(20000, device=x.device, dtype=x.dtype)), T(1), judge=_uniform)
    t.plain("generator", lambda x: _seeded(x), T(1), dtypes=SINGLE, judge=_normal)
    t.plain("randint", lambda x: _twice(lambda: torch.randint(0, 10, (20000,), device=x.device)), I(2, 1), dtypes=("int64",), judge=_digits)
    t.plain("randperm", lambda x: (torch.randperm(500, device=x.device).sort()[0],), I(2, 1), dtypes=("int64",), judge=_permutation)
    t.plain(
        "dropout", lambda x: (torch.nn.functional.dropout(torch.ones(20000, device=x.device, dtype=x.dtype), 0.25),), T(1), judge=_dropped
    )
    t.plain(
        "bernoulli",
        lambda x: (torch.bernoulli(torch.full((20000,), 0.25, device=x.device, dtype=x.dtype)),),
        T(1),
        dtypes=SINGLE,
        judge=_quarter,
    )
    t.plain("multinomial", _drawn, T(1), dtypes=SINGLE, judge=lambda got: _moment(got[0].double().mean(), 0.75, 0.02))
    return t


def _drawn(x):
    return torch.multinomial(torch.tensor([0.0, 1.0, 3.0], device=x.device), 20000, True) - 1


def _twice(make):
    torch.manual_seed(7)
    first = make()
    torch.manual_seed(7)
    return first, make()


def _seeded(x):
    made = []
    for _ in range(2):
        generator = torch.Generator(device=x.device)
        generator.manual_seed(11)
        made.append(torch.randn(20000, device=x.device, generator=generator))
    return tuple(made)


def _moment(got, wanted, within):
    return "" if abs(float(got) - wanted) <= within else f"{float(got):.4g} instead of about {wanted:g}"


def _same(got):
    return "" if torch.equal(got[0], got[1]) else "the same seed gives other numbers"


def _normal(got):
    x = got[0].double()
    return _same(got) or _moment(x.mean(), 0.0, 0.05) or _moment(x.std(), 1.0, 0.05)


def _uniform(got):
    x = got[0].double()
    return _same(got) or _moment(x.mean(), 0.5, 0.02) or ("" if 0 <= float(x.min()) and float(x.max()) <= 1 else "outside of 0..1")


def _digits(got):
    x = got[0].double()
    return _same(got) or _moment(x.mean(), 4.5, 0.15) or ("" if 0 <= float(x.min()) and float(x.max()) <= 9 else "outside of 0..9")


def _permutation(got):
    return "" if torch.equal(got[0], torch.arange(500)) else "no permutation"


def _dropped(got):
    x = got[0].double()
    return _moment((x == 0).double().mean(), 0.25, 0.03) or _moment(x.max(), 1 / 0.75, 0.02)


def _quarter(got):
    return _moment(got[0].double().mean(), 0.25, 0.03)


def _optimisers():
    t = Table("optimiser")
    for kind, name, settings in (
        ("sgd", "SGD", {"lr": 0.1, "momentum": 0.9}), ("adam", "Adam", {"lr": 0.01}), ("adamw", "AdamW", {"lr": 0.01}),
        ("rmsprop", "RMSprop", {"lr": 0.01}),
    ):  # fmt: skip
        for way in ("plain", "foreach", "fused"):
            if way == "fused" and kind == "rmsprop":
                continue
            words = {} if way == "plain" else {way: True}
            t.plain(
                f"{kind}_{way}",
                lambda x, y, n=name, s=dict(settings, **words): _steps(n, s, x, y),
                T(6, 10),
                T(10),
                dtypes=WIDE,
                slack=20.0,
            )
    t.plain("clip_grad_norm", _clipped, T(6, 10), dtypes=WIDE, slack=4.0)
    return t


def _steps(name, settings, *start):
    parameters = [x.detach().clone().requires_grad_() for x in start]
    steps = getattr(torch.optim, name)(parameters, **settings)
    for _ in range(4):
        steps.zero_grad()
        sum((p * p * p).sum() + p.sum() for p in parameters).backward()
        steps.step()
    return tuple(p.detach() for p in parameters)


def _clipped(x):
    p = x.detach().clone().requires_grad_()
    (p * p).sum().backward()
    torch.nn.utils.clip_grad_norm_([p], 0.5)
    return p.grad


def _boxes():
    """Operators of torchvision, where the environment has it."""
    t = Table("detection")

    def boxes(corner, size):
        return torch.cat((corner * 10, corner * 10 + size * 8), 1)

    def nms(corner, size, score):
        import torchvision

        return torchvision.ops.nms(boxes(corner, size), score, 0.3)

    def roi_align(x, corner, size):
        import torchvision

        return torchvision.ops.roi_align(x, [boxes(corner + 1, size).detach()], (3, 3), aligned=True)

    t.plain("nms", nms, P(30, 2), P(30, 2), T(30), dtypes=SINGLE)
    t.add("roi_align", roi_align, T(1, 4, 24, 24), T(5, 2), P(5, 2), dtypes=WIDE, slack=10.0)
    return t
