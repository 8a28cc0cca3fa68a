"""Layers that cost much, compared by projection with float64 on the processor.

Items and channels, each with a sign, are summed in float64: those of the device's result, and, by linearity, those of the input. One image
of one channel is computed instead of all of them, yet every number of the device's result enters with its full error: the expected norm of
the difference is that of the whole tensor.
"""

import math

import torch
from torch_reference import padded, signs

AT_ONCE = 1 << 22
"""The number of elements that are widened to float64 at once."""
ENOUGH = 128
"""The least number of elements in a comparison; where one projection has fewer, several are made."""


class Product:
    """A convolution; a linear layer is one of 1x1. Each comparison is (got, right, scale, depth): two flat tensors in float64, the root of
    the sum of the squared products behind them, and how many products one sum has."""

    def __init__(self, x, weight, settings):
        """x: N x C x H x W, weight: O x C/groups x k x k, on the processor, in any type."""
        self.groups, self.kernel, self.stride = settings.get("groups", 1), weight.shape[2], settings.get("stride", 1)
        self.by = settings.get("padding", 0)
        self.n, self.c, self.h, self.w = x.shape
        self.x, self.weight, self.out = x, weight, weight.shape[0]
        self.rows, self.columns = ((side + 2 * self.by - self.kernel) // self.stride + 1 for side in (self.h, self.w))
        self.each_out, self.each_in = self.out // self.groups, self.c // self.groups
        self.offsets = [(row, column) for row in range(self.kernel) for column in range(self.kernel)]
        self.of_weight, self.of_x = rms(weight), rms(x)

    def forward(self, y, bias):
        """The comparison of the result."""
        items, by_channel = signs(self.n, 3), self._signs(self.each_out, self.rows * self.columns, 1)
        got = self._summed(items, by_channel, y)
        x = _over_items(items, self.x).reshape(self.groups, self.each_in, -1)
        many = by_channel.shape[1]
        right = torch.zeros(self.groups, many, self.rows, self.columns, dtype=torch.float64)
        weight = self._over_results(by_channel, self.weight).reshape(self.groups, many, self.each_in, -1)
        planes = torch.matmul(weight.permute(0, 1, 3, 2).reshape(self.groups, -1, self.each_in), x)
        planes = padded(planes.reshape(self.groups, many, -1, self.h, self.w), self.by)
        for place, (row, column) in enumerate(self.offsets):
            right += self._seen(planes[:, :, place], row, column)
        if bias is not None:
            right += float(items.sum()) * torch.matmul(by_channel, bias.double().reshape(self.groups, -1, 1))[..., None]
        depth = self.each_in * self.kernel**2
        scale = math.sqrt(right.numel() * self.n * self.each_out * depth) * self.of_weight * self.of_x
        return got.reshape(-1), right.reshape(-1), scale, depth

    def of_input(self, g, gradient):
        """The comparison of the input's gradient, where g is that of the result."""
        items, by_channel = signs(self.n, 3), self._signs(self.each_in, self.h * self.w, 2)
        got = self._summed(items, by_channel, gradient)
        many = by_channel.shape[1]
        right = torch.zeros(self.groups, many, self.h + 2 * self.by, self.w + 2 * self.by, dtype=torch.float64)
        g_summed = _over_items(items, g).reshape(self.groups, self.each_out, -1)
        signed = self._over_channels(by_channel)  # shape: groups x many x positions of the kernel x output channels
        planes = torch.matmul(signed.reshape(self.groups, -1, self.each_out), g_summed)
        planes = planes.reshape(self.groups, many, -1, self.rows, self.columns)
        for place, (row, column) in enumerate(self.offsets):
            self._seen(right, row, column).add_(planes[:, :, place])
        right = right[..., self.by : self.by + self.h, self.by : self.by + self.w]
        depth = max(1, self.each_out * self.kernel**2 // self.stride**2)
        scale = math.sqrt(right.numel() * self.n * self.each_in * depth) * self.of_weight * rms(g)
        return got.reshape(-1), right.reshape(-1), scale, depth

    def of_weights(self, g, gradient):
        """The comparison of the weights' gradient, summed over the channels of the result alone, because items cannot be separated in
        it."""
        by_channel = signs(self.each_out, 1).expand(self.groups, 1, -1)
        got = self._over_results(by_channel, gradient)[:, 0]
        summed = torch.matmul(by_channel, g.double().reshape(self.n, self.groups, self.each_out, -1))
        summed = summed.reshape(self.n, self.groups, self.rows, self.columns)
        right = torch.zeros(self.groups, self.each_in, len(self.offsets), dtype=torch.float64)
        for n in range(self.n):
            sides = self.h + 2 * self.by, self.w + 2 * self.by
            spread = torch.zeros(self.groups, len(self.offsets), *sides, dtype=torch.float64)
            for place, (row, column) in enumerate(self.offsets):
                self._seen(spread[:, place], row, column).copy_(summed[n])
            spread = spread[..., self.by : self.by + self.h, self.by : self.by + self.w]
            spread = spread.reshape(self.groups, len(self.offsets), -1)
            right += torch.matmul(self.x[n].double().reshape(self.groups, self.each_in, -1), spread.permute(0, 2, 1))
        depth = self.n * self.rows * self.columns
        scale = math.sqrt(right.numel() * self.each_out * depth) * rms(g) * self.of_x
        return got.reshape(-1), right.reshape(-1), scale, depth

    def _signs(self, channels, places, shift):
        """groups x projections x channels of a group."""
        many = min(channels, max(1, ENOUGH // max(1, places * self.groups)))
        return signs(many * channels, shift).reshape(1, many, channels).expand(self.groups, -1, -1)

    def _seen(self, plane, row, column):
        """The part of padded planes that the place (row, column) of the kernel meets."""
        s = self.stride
        return plane[..., row : row + s * (self.rows - 1) + 1 : s, column : column + s * (self.columns - 1) + 1 : s]

    def _summed(self, items, by_channel, images):
        """Images summed over items and over the channels of each group: groups x projections x places."""
        return torch.matmul(by_channel, _over_items(items, images).reshape(self.groups, by_channel.shape[2], -1))

    def _over_results(self, by_channel, weight):
        """Weights summed over the channels of the result: groups x projections x numbers of one channel."""
        grouped = weight.reshape(self.groups, self.each_out, -1)
        return sum(torch.matmul(by_channel[:, :, part], grouped[:, part].double()) for part in self._parts())

    def _over_channels(self, by_channel):
        """Weights summed over the channels of the input: groups x projections x places of the kernel x channels of the result."""
        grouped = self.weight.reshape(self.groups, self.each_out, self.each_in, -1)
        parts = [torch.matmul(by_channel[:, None], grouped[:, part].double()) for part in self._parts()]
        return torch.cat(parts, 1).permute(0, 2, 3, 1)

    def _parts(self):
        """The channels of the result, in parts that are small enough in float64."""
        many = max(1, AT_ONCE * self.each_out // self.weight.numel())
        return [slice(begin, begin + many) for begin in range(0, self.each_out, many)]


def _over_items(items, images):
    """Items, each with its sign, summed in float64."""
    found = images[0].double() * float(items[0])
    for image, sign in zip(images[1:], items[1:].tolist()):
        found.add_(image, alpha=sign)
    return found


class BatchNorm:
    """Batch normalisation over the statistics of the batch: for each channel the result, and the gradient, are weighted sums of its input.

    Comparisons as those of Product; `given` are the sums that the gradient needs."""

    def __init__(self, x, parameters, eps):
        self.n, self.c = x.shape[:2]
        self.x = x.double().reshape(self.n, self.c, -1)
        self.many = self.n * self.x.shape[2]
        self.mean = self.x.sum((0, 2)) / self.many
        self.variance = (torch.linalg.vector_norm(self.x, dim=(0, 2)).pow(2) / self.many - self.mean.pow(2)).clamp_min(0.0)
        if bool((self.variance < 1e-6 * self.mean.pow(2)).any()):  # cancellation: the difference of two large numbers has few exact digits
            self.variance = (self.x - self.mean[:, None]).pow(2).sum((0, 2)) / self.many
        self.slope = 1 / torch.sqrt(self.variance + eps)
        self.weight, self.bias = parameters["weight"].double(), parameters["bias"].double()
        projections = max(1, ENOUGH // self.x.shape[2])
        self.signs = signs(projections * self.n * self.c, 1).reshape(projections, self.n, self.c)

    def _summed(self, images, factor=None):
        signed = self.signs if factor is None else self.signs * factor
        return torch.matmul(signed.reshape(len(signed), -1), images.double().reshape(self.n * self.c, -1))

    def forward(self, y):
        factor = self.weight * self.slope
        right = self._summed(self.x, factor) + (self.signs * (self.bias - self.mean * factor)).sum((1, 2))[:, None]
        got = self._summed(y)
        size = float((factor * self.mean).abs().max()) * math.sqrt(right.numel() * self.n * self.c)
        return got.reshape(-1), right.reshape(-1), size, self.many

    def backward(self, g, of_input, of_weight, of_bias):
        """[(name, comparison)] of the three gradients; those that are None are left out."""
        g = g.double().reshape(self.n, self.c, -1)
        total = g.sum((0, 2))
        weighted = self.slope * ((g * self.x).sum((0, 2)) - self.mean * total)
        size = torch.linalg.vector_norm(g, dim=(0, 2))
        found = []
        if of_weight is not None:
            scale = float((size * (1 + self.mean.abs() * self.slope)).norm())
            found.append(("weight", (of_weight.double(), weighted, scale, self.many)))
        if of_bias is not None:
            found.append(("bias", (of_bias.double(), total, float(size.norm()), self.many)))
        if of_input is not None:
            factor, along = self.weight * self.slope, -self.weight * self.slope.pow(2) * weighted / self.many
            rest = -factor * total / self.many - along * self.mean
            right = self._summed(g, factor) + self._summed(self.x, along) + (self.signs * rest).sum((1, 2))[:, None]
            scale = float((size * factor).norm()) * math.sqrt(len(self.signs))
            found.append(("", (self._summed(of_input).reshape(-1), right.reshape(-1), scale, self.many)))
        return found

    def moved(self, before, share):
        """{name: (running statistic after a step, how far it moved)}: a share of those of the batch, the variance without its bias."""
        batch = {"running_mean": self.mean, "running_var": self.variance * self.many / max(1, self.many - 1)}
        return {name: (1 - share) * before[name] + share * value for name, value in batch.items()}


def rms(x):
    flat = x.detach().reshape(-1)
    return float(flat.float().norm()) / math.sqrt(flat.numel()) if flat.numel() else 0.0


def bias_gradient(g):
    """(right, scale, depth) of the gradient of a bias: g of the result, N x O x places."""
    flat = g.double().reshape(g.shape[0], g.shape[1], -1)
    return flat.sum((0, 2)), float(flat.norm()), flat.shape[0] * flat.shape[2]


def pooled_gradient(x, y, g, gradient):
    """(got, right) of two sums for each plane that no choice among equal numbers changes: of the gradient, and of it times the input."""
    planes = [part.double().reshape(-1, part.shape[2] * part.shape[3]) for part in (x, y, g, gradient)]
    x, y, g, gradient = planes
    return torch.cat([gradient.sum(1), (gradient * x).sum(1)]), torch.cat([g.sum(1), (g * y).sum(1)])
