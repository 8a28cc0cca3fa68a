"""Computes a network on a device layer by layer, forward and backward, and compares each layer with float64 of its own inputs.

Each layer gets what the device computed before it, so that errors do not add up and each ReLU or maximum decides as in the reference: a
layer is right to within its own rounding, at the measured shape, or it is wrong. Backward, autograd computes the gradients of one layer
at a time, from those of the layers behind it.
"""

import math
import time

import torch
from calibration import Check, tolerance
from torch_networks import child_name
from torch_projection import BatchNorm, Product, bias_gradient, pooled_gradient
from torch_reference import FORMULAS

PRODUCTS = ("conv", "linear")
EXACT = (
    "relu", "relu6", "add", "max_pool", "concat", "slice", "every_second", "flatten", "tokens", "image", "reflect_pad", "add_rows",
)  # fmt: skip
"""Kinds of layers that choose, copy or round once: in the arithmetic of the type there is one right result, and a layer with that result
passes."""
NORMS = ("batch_norm", "group_norm", "instance_norm", "layer_norm")
ENOUGH = 5.0
"""The number of standard deviations by which the share of numbers that are dropped out may differ from the expected one."""


CANCELS = 32.0
"""Where the terms of sums cancel further than this (the gradient of a bias before a normalisation), the rest is rounding, and the error is
relative to this share of the terms."""


class Layer:
    __slots__ = ("child", "given", "listed", "made", "result")

    def __init__(self, listed, child, given, made, result):
        self.listed, self.child, self.given, self.made, self.result = listed, child, given, made, result


class Layers:
    """One pass over a network. `context()` returns the context of mixed precision; `dtype` names the type of the computation.

    `noise(name of the layer, tensor)` disturbs the results of a layer, forward and backward, which shows the effect of rounding on the
    whole.
    """

    def __init__(self, network, model, dtype, context, noise=None, limit=None):
        """`limit`: seconds for the comparison; layers of one kind and shape are then compared once, until the time is over."""
        self.network, self.model, self.dtype, self.context = network, model, dtype, context
        self.limit, self.done = limit, set()
        self.noise = noise or (lambda _, x: x)
        self.forwards, self.gradients, self.statistics, self.dropouts = [], [], [], []
        self.parameter_gradients, self.kept = {}, []
        self.seconds = 0.0

    def forward(self, inputs, training, check=True):
        """The outputs, in the network's order; each layer is checked."""
        values = dict(zip(self.model.input_names, inputs))
        readers = {name: layer.name for layer in self.network.layers for name in layer.inputs}
        for layer, (name, child, function, sources, _) in zip(self.network.layers, self.model.steps):
            module = getattr(self.model, child) if function is None else None
            if layer.kind == "attention":
                module.train(False)  # its result can be computed only without the dropout inside
            given = [values[source] for source in sources]
            before = _statistics(module) if training and layer.kind == "batch_norm" else None
            given = [_leaf(x) if training else x for x in given]
            with torch.set_grad_enabled(training), self.context():
                taken = [x.clone() for x in given] if _in_place(function) else given
                made = module(*taken) if function is None else function(*taken)
            one = Layer(layer, module, given, made, made.detach())
            values[name] = self.noise(layer.name, one.result)
            if check:
                self._timed(self._check_forward, one, training, before)
            if training:
                self.kept.append(one)
            else:
                for source in sources:
                    if readers[source] == layer.name and source not in self.network.outputs:
                        values.pop(source, None)
        return [values[name] for name in self.network.outputs]

    def backward(self, of_outputs, check=True):
        """The gradients of the parameters, {name: tensor on the device}, from those of the outputs."""
        known = dict(zip(self.network.outputs, of_outputs))
        while self.kept:
            one = self.kept.pop()
            g = known.pop(one.listed.name, None)
            if g is None or not one.made.requires_grad:
                continue
            named = [] if one.child is None else [(name, p) for name, p in one.child.named_parameters() if p.requires_grad]
            inputs = [x for x in one.given if x.requires_grad]
            found = torch.autograd.grad(one.made, inputs + [p for _, p in named], g.to(one.made.dtype), allow_unused=True)
            of_inputs, of_parameters = found[: len(inputs)], dict(zip([name for name, _ in named], found[len(inputs) :]))
            if check:
                self._timed(self._check_backward, one, g, of_inputs, of_parameters)
            tied = one.listed.settings["table"] if one.listed.kind == "tied_linear" else one.listed.name
            names = [name for name, x in zip(one.listed.inputs, one.given) if x.requires_grad]
            for name, part in zip(names, of_inputs):
                if part is not None:
                    part = self.noise(one.listed.name, part)
                    known[name] = part if name not in known else known[name] + part
            for name, part in of_parameters.items():
                if part is not None:
                    self._add(child_name(tied) + "." + name, self.noise(one.listed.name, part))
        return self.parameter_gradients

    def _add(self, name, part):
        self.parameter_gradients[name] = self.parameter_gradients[name] + part if name in self.parameter_gradients else part

    def _timed(self, check, one, *given):
        if self.limit is not None:
            shapes = tuple(tuple(x.shape) for x in one.given)
            alike = (check.__name__, one.listed.kind, repr(sorted(one.listed.settings.items())), shapes)
            if alike in self.done or self.seconds > self.limit:
                return
            self.done.add(alike)
        begin = time.perf_counter()
        check(one, *given)
        self.seconds += time.perf_counter() - begin

    def _check_forward(self, one, training, before):
        layer, got = one.listed, cpu(one.result)
        inputs, parameters = [cpu(x) for x in one.given], _parameters(one.child)
        if layer.kind == "dropout":
            share = one.child.p if training and getattr(one.child, "training", False) and hasattr(one.child, "p") else 0.0
            self.dropouts.append(dropped(layer.name, inputs[0], got, share, self.dtype))
            return
        if layer.kind in PRODUCTS:
            found = self._product(one).forward(_as_planes(got, layer.kind), parameters.get("bias"))
            self.forwards.append(self.judged(layer.name, *found, narrowable=True))
            return
        if layer.kind == "batch_norm" and training:
            norm = BatchNorm(inputs[0], parameters, layer.settings["eps"])
            self.forwards.append(self.judged(layer.name, *norm.forward(got)))
            self._moved(one, before, norm)
            return
        right = _reference(layer, parameters, inputs)
        self.forwards.append(self._plain(layer, layer.name, got, right))

    def _check_backward(self, one, g, of_inputs, of_parameters):
        layer, g = one.listed, cpu(g)
        where = [f"{layer.name} (input)" for _ in of_inputs]
        if layer.kind in PRODUCTS:
            product = self._product(one)
            planes = _as_planes(g, layer.kind)
            if of_inputs and of_inputs[0] is not None:
                found = product.of_input(planes, _as_planes(cpu(of_inputs[0]), layer.kind))
                self.gradients.append(self.judged(where[0], *found, narrowable=True))
            found = product.of_weights(planes, cpu(of_parameters["weight"]))
            self.gradients.append(self.judged(layer.name + ".weight", *found, narrowable=True))
            if "bias" in of_parameters:
                right, scale, depth = bias_gradient(planes)
                self.gradients.append(self.judged(layer.name + ".bias", cpu(of_parameters["bias"]).double(), right, scale, depth))
            return
        inputs = [cpu(x) for x in one.given]
        if layer.kind == "batch_norm":
            norm = BatchNorm(inputs[0], _parameters(one.child), layer.settings["eps"])
            given = [cpu(x) for x in (of_inputs[0] if of_inputs else None, of_parameters.get("weight"), of_parameters.get("bias"))]
            for name, found in norm.backward(g, *given):
                self.gradients.append(self.judged(f"{layer.name}.{name}" if name else where[0], *found))
            return
        if layer.kind == "max_pool":
            got, right = pooled_gradient(inputs[0], cpu(one.result), g, cpu(of_inputs[0]))
            scale = float(g.double().norm()) * max(1.0, float(inputs[0].abs().max()))
            self.gradients.append(self.judged(where[0], got, right, scale, 16))
            return
        if layer.kind == "dropout":
            got, kept = cpu(of_inputs[0]), (cpu(one.result) != 0) | (inputs[0] == 0)
            share = one.child.p if getattr(one.child, "training", False) and hasattr(one.child, "p") else 0.0
            right = torch.where(kept & ((got != 0) | (inputs[0] != 0)), g.double() / (1 - share), torch.zeros((), dtype=torch.float64))
            self.gradients.append(self._plain(layer, where[0], got, right))
            return
        self._by_autograd(one, g, inputs, of_inputs, of_parameters)

    def _by_autograd(self, one, g, inputs, of_inputs, of_parameters):
        """The gradients of a formula in float64, by autograd."""
        layer = one.listed
        parameters = {name: value.double() for name, value in _parameters(one.child).items() if not name.startswith("running")}
        exact = layer.kind in EXACT and all(x.dtype == g.dtype for x in inputs)
        leaves = [x.double() if x.is_floating_point() and not exact else x.clone() for x in inputs]
        wanted = [x for x, original in zip(leaves, one.given) if original.requires_grad]
        wanted += [parameters[name] for name in of_parameters]
        for x in wanted:
            x.requires_grad_()
        with torch.enable_grad():
            right = torch.autograd.grad(
                FORMULAS[layer.kind](layer.settings, parameters, *leaves), wanted, g if exact else g.double(), allow_unused=True
            )
        names = [f"{layer.name} (input)" for _ in of_inputs] + [f"{layer.name}.{name}" for name in of_parameters]
        for name, got, wanted_one in zip(names, [*of_inputs, *of_parameters.values()], right):
            if wanted_one is not None:
                self.gradients.append(self._plain(layer, name, cpu(got), wanted_one, g))

    def _product(self, one):
        x, parameters = cpu(one.given[0]), _parameters(one.child)
        weight = parameters["weight"]
        return Product(_as_planes(x, one.listed.kind), weight if weight.dim() == 4 else weight[:, :, None, None], one.listed.settings)

    def _plain(self, layer, name, got, right, g=None):
        """Adds the check of a tensor against a reference of the same shape."""
        if got is None:
            return Check(name, math.inf, 1.0, note="no gradient")
        if got.shape != right.shape:
            return Check(name, math.inf, 1.0, note=f"its shape is {list(got.shape)}, not {list(right.shape)}")
        if got.dtype == right.dtype and torch.equal(got, right):
            return Check(name, 0.0, tolerance(self.dtype, 1, 1.0, 1.0))
        right = right.detach().double().reshape(-1)
        depth, scale = 16, 0.0
        if layer.kind in NORMS:
            depth = max(16, got.numel() // max(1, got.shape[1] if got.dim() > 1 else got.numel()))
            scale = float(g.double().norm()) if g is not None else 0.0
        if layer.kind in ("attention", "tied_linear", "average_to"):
            depth = 4096
        if layer.kind == "sinusoid":
            depth = 1000**2  # an angle near 1000 is rounded before its sine is computed, which costs digits
        return self.judged(name, got.detach().double().reshape(-1), right, scale, depth, layer.kind in ("attention", "tied_linear"))

    def judged(self, name, got, right, scale, depth, narrowable=False):
        """A check of two flat tensors in float64."""
        if not bool(torch.isfinite(got).all()):
            return Check(name, math.inf, 1.0, note="NaN" if bool(torch.isnan(got).any()) else "infinite")
        norm, off = float(right.norm()), got - right
        if not norm:
            return Check(name, float(off.norm()), tolerance(self.dtype, depth, scale or 1.0, 1.0))
        size = max(norm, scale / CANCELS)
        error = float(off.norm()) / size
        along = float(torch.dot(off, right)) / (norm * size * error) if error else 0.0
        return Check(name, error, tolerance(self.dtype, depth, scale, size), along, max(scale / size, 1.0), depth, narrowable)

    def _moved(self, one, before, norm):
        """Checks the running statistics after a step, by their change and by their values."""
        for name, right in norm.moved(before, one.listed.settings["momentum"]).items():
            off, step = cpu(getattr(one.child, name)).double() - right, right - before[name]
            self.statistics.append(self.judged(f"{one.listed.name}.{name}", step + off, step, float(right.norm()), norm.many))


def dropped(name, x, got, share, dtype):
    """The check of dropout: whether the expected share of the numbers is zero, and the others are scaled."""
    here = x != 0
    many, zeros = int(here.sum()), int((here & (got == 0)).sum())
    if share and many:
        reach = ENOUGH * math.sqrt(share * (1 - share) / many) + 1.0 / many
        if abs(zeros / many - share) > reach:
            return Check(name, math.inf, reach, note=f"{100.0 * zeros / many:.3g} % of the numbers are dropped, not {100 * share:g} %")
    kept = got != 0
    right, found = (x.double() / (1 - share))[kept], got.double()[kept]
    if not share and zeros:
        return Check(name, math.inf, 1.0, note=f"{zeros} numbers are dropped where none should be")
    if not bool(torch.isfinite(got).all()):
        return Check(name, math.inf, 1.0, note="not a number")
    norm = float(right.norm())
    return Check(name, float((found - right).norm()) / norm if norm else 0.0, tolerance(dtype, 1, 1.0, 1.0))


def cpu(x):
    return None if x is None else x.detach().to("cpu")


def _leaf(x):
    x = x.detach()
    return x.requires_grad_() if x.is_floating_point() else x


def _in_place(function):
    return bool(getattr(function, "keywords", {}).get("inplace"))


def _parameters(child):
    """Parameters and running statistics on the processor, by name."""
    if child is None:
        return {}
    found = {name: cpu(p) for name, p in child.named_parameters()}
    found.update((name, cpu(b)) for name, b in child.named_buffers() if name in ("running_mean", "running_var"))
    return found


def _statistics(module):
    return {name: cpu(getattr(module, name)).double().clone() for name in ("running_mean", "running_var")}


def _as_planes(x, kind):
    """Images unchanged; the rows of numbers that a linear layer reads as one image with as many pixels."""
    return x if kind == "conv" else x.reshape(-1, x.shape[-1]).t()[None, :, :, None]


def _reference(layer, parameters, inputs):
    if layer.kind in EXACT and len({x.dtype for x in inputs}) == 1:
        with torch.no_grad():
            return FORMULAS[layer.kind](layer.settings, parameters, *inputs)
    parameters = {name: value.double() if value.is_floating_point() else value for name, value in parameters.items()}
    with torch.no_grad():
        return FORMULAS[layer.kind](layer.settings, parameters, *[x.double() if x.is_floating_point() else x for x in inputs])
