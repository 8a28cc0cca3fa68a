"""torch with convolutions of another kind, for tests: sound ones that round differently, and faulty ones. OTHER_ARITHMETIC names one.

Sound: im2col, winograd-2, winograd-4 (3x3 convolutions of stride 1 by F(2x2) and F(4x4)), noise (1e-6 relative on all that a convolution
gives), no-onednn, bf16 (float32 convolutions compute in bfloat16), tf32 (operands are rounded to ten bits).
Faulty: times-0.9, turned, shuffled (gradients of convolution weights), input-times-0.9 (gradients of inputs), lost-above-64 (results are
wrong for images larger than 64), last-item (the last image of a batch is computed from the first), frozen-statistics,
slow-statistics (momentum 0.01), no-dropout, unscaled-dropout, no-momentum (of SGD), stale-adam (second moments never move),
relu-gradient (passes everywhere), residual-lost (the gradient of an addition reaches one side only), late-nan (after 40 convolutions).
"""

import os

KIND = os.environ.get("OTHER_ARITHMETIC", "")

if KIND:
    import torch
    import torch.nn.functional as F

    CONV, seen = F.conv2d, [0]

    def im2col(x, weight, bias, stride, padding, dilation, groups):
        n, _, h, w = x.shape
        out, each, k, _ = weight.shape
        rows, columns = ((side + 2 * padding[0] - k) // stride[0] + 1 for side in (h, w))
        seen = F.unfold(x, k, padding=padding, stride=stride).reshape(n, groups, each * k * k, rows * columns)
        found = torch.matmul(weight.reshape(groups, out // groups, -1), seen).reshape(n, out, rows, columns)
        return found if bias is None else found + bias[:, None, None]

    WINOGRAD = {
        2: (
            [[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]],
            [[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]],
            [[1, 1, 1, 0], [0, 1, -1, -1]],
        ),
        4: (
            [
                [4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0], [0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0],
                [0, 4, 0, -5, 0, 1],
            ],
            [
                [1 / 4, 0, 0], [-1 / 6, -1 / 6, -1 / 6], [-1 / 6, 1 / 6, -1 / 6], [1 / 24, 1 / 12, 1 / 6], [1 / 24, -1 / 12, 1 / 6],
                [0, 0, 1],
            ],
            [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]],
        ),
    }  # fmt: skip
    """Transforms of image, kernel and result."""

    def winograd(size):
        b, g, a = (torch.tensor(each, dtype=torch.float32) for each in WINOGRAD[size])

        def computed(x, weight, bias, stride, padding, dilation, groups):
            if weight.shape[2] != 3 or stride[0] != 1 or groups != 1 or x.dtype != torch.float32:
                return CONV(x, weight, bias, stride, padding, dilation, groups)
            n, _, h, w = x.shape
            rows, columns = (-(-(side + 2 * padding[0] - 2) // size) for side in (h, w))
            by = padding[0]
            x = F.pad(x, (by, columns * size + 2 - w - by, by, rows * size + 2 - h - by))
            tiles = x.unfold(2, size + 2, size).unfold(3, size + 2, size)
            tiles = torch.einsum("ij,ncxyjk,lk->ilncxy", b, tiles, b)
            weight = torch.einsum("ij,ocjk,lk->iloc", g, weight, g)
            found = torch.matmul(weight[:, :, None], tiles.reshape(*tiles.shape[:4], -1)).reshape(size + 2, size + 2, n, -1, rows, columns)
            found = torch.einsum("ij,jknoxy,lk->noxiyl", a, found, a).reshape(n, -1, rows * size, columns * size)
            found = found[:, :, : h + 2 * by - 2, : w + 2 * by - 2]
            return found if bias is None else found + bias[:, None, None]

        return computed

    def noisy(x):
        return x * (1 + 1e-6 * torch.randn_like(x))

    class Noise(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return noisy(x)

        @staticmethod
        def backward(ctx, g):
            return noisy(g)

    class Spoilt(torch.autograd.Function):
        """What it is given, with a gradient that `how` makes of the right one."""

        @staticmethod
        def forward(ctx, x, how):
            ctx.how = how
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return ctx.how(g), None

    class Rounded(torch.autograd.Function):
        """Operands of a product in fewer bits, forward and backward."""

        @staticmethod
        def forward(ctx, x, weight, bias, more):
            ctx.save_for_backward(narrow(x), narrow(weight))
            ctx.more = more
            found = CONV(narrow(x), narrow(weight), None, *more)
            return found if bias is None else found + bias[:, None, None]

        @staticmethod
        def backward(ctx, g):
            x, weight = ctx.saved_tensors
            stride, padding, dilation, groups = ctx.more
            mask = (ctx.needs_input_grad[0], True, False)
            given = torch.ops.aten.convolution_backward(narrow(g), x, weight, None, stride, padding, dilation, False, [0, 0], groups, mask)
            return given[0], given[1], g.sum((0, 2, 3)) if ctx.needs_input_grad[2] else None, None

    def narrow(x):
        if KIND == "bf16":
            return x.bfloat16().float()
        bits = x.contiguous().view(torch.int32)
        return ((bits + 4096) & ~8191).view(torch.float32)

    WEIGHT = {
        "times-0.9": lambda g: g * 0.9, "turned": lambda g: -g,
        "shuffled": lambda g: g.reshape(-1)[torch.randperm(g.numel(), generator=torch.Generator().manual_seed(1))].reshape(g.shape),
    }  # fmt: skip

    def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        stride, padding, dilation = ((each, each) if isinstance(each, int) else each for each in (stride, padding, dilation))
        more = (stride, padding, dilation, groups)
        if x.dtype == torch.float64:
            return CONV(x, weight, bias, *more)
        if KIND == "im2col":
            return im2col(x, weight, bias, *more)
        if KIND.startswith("winograd"):
            return winograd(int(KIND[-1]))(x, weight, bias, *more)
        if KIND in ("bf16", "tf32"):
            return Rounded.apply(x, weight, bias, more)
        if KIND == "noise":
            return Noise.apply(CONV(Noise.apply(x), Noise.apply(weight), bias, *more))
        if KIND in WEIGHT:
            return CONV(x, Spoilt.apply(weight, WEIGHT[KIND]), bias, *more)
        if KIND == "input-times-0.9":
            return CONV(Spoilt.apply(x, lambda g: g * 0.9), weight, bias, *more)
        if KIND == "last-item" and x.shape[0] > 1:
            x = torch.cat([x[:-1], x[:1]])
        found = CONV(x, weight, bias, *more)
        if KIND == "lost-above-64" and x.shape[2] > 64:
            found = torch.cat([found[:, :, :-1], found[:, :, -1:] * 0.5], 2)
        return found

    F.conv2d = conv2d
    if KIND == "no-onednn":
        torch.backends.mkldnn.enabled = False
    NORM, DROPOUT, RELU, ADD = F.batch_norm, F.dropout, F.relu, torch.add
    if KIND in ("frozen-statistics", "slow-statistics"):

        def batch_norm(x, mean, variance, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
            return NORM(x, mean, variance, weight, bias, training, 0.0 if KIND == "frozen-statistics" else 0.01, eps)

        F.batch_norm = batch_norm
    if KIND == "no-dropout":
        F.dropout = lambda x, p=0.5, training=True, inplace=False: x
    if KIND == "unscaled-dropout":
        F.dropout = lambda x, p=0.5, training=True, inplace=False: DROPOUT(x, p, training) * (1 - p) if training else x
    if KIND == "relu-gradient":
        F.relu = lambda x, inplace=False: x + (RELU(x) - x).detach()
    if KIND == "residual-lost":
        torch.add = lambda x, y, **more: ADD(x, y.detach(), **more)
    if KIND == "no-momentum":
        step = torch.optim.SGD.step

        def forgetful(self, closure=None):
            for group in self.param_groups:
                group["momentum"] = 0.0
            return step(self, closure)

        torch.optim.SGD.step = forgetful
    if KIND == "stale-adam":
        once = torch.optim.Adam.step

        def stale(self, closure=None):
            found = once(self, closure)
            for kept in self.state.values():
                kept["exp_avg_sq"].fill_(1e-4)
            return found

        torch.optim.Adam.step = stale
