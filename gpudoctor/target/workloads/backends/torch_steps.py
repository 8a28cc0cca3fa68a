"""The parts of a training step beside its layers: the loss, the whole step by autograd, the optimiser, and whether anything is learnt."""

import math

import calibration
import torch
import torch_correctness
import torch_networks
from calibration import Check, tolerance
from network_ir import GraphBuilder
from torch_layers import cpu
from torch_training import Trainer
from torch_training import loss as device_loss

MOST = 1 << 16
"""The number of elements of a tensor of parameters that are compared, the first and the last ones among them."""
MOMENTUM, BETAS, EPSILON = 0.9, (0.9, 0.999), 1e-8
STEPS = 2
LESSONS, RATE = 25, 0.1
LEARNT = 0.5
"""The loss of the small task has to fall to this share of its first value; on the processor it falls to a tenth."""


def loss(trainer, outputs, labels, scale):
    """(checks of the loss and of its gradients, the scaled gradients of the outputs)."""
    leaves = [x.detach().requires_grad_() for x in outputs]
    with torch.enable_grad(), trainer.context:
        value = device_loss(tuple(leaves) if len(leaves) > 1 else leaves[0], labels)
    found = torch.autograd.grad(value * scale, leaves)
    wide = [cpu(x).double() for x in outputs]
    if labels is not None and len(wide) == 1:
        rows = torch.arange(len(wide[0]))
        moved = wide[0] - wide[0].amax(1, keepdim=True)
        shares = torch.exp(moved)
        total = shares.sum(1, keepdim=True)
        right = float((torch.log(total[:, 0]) - moved[rows, cpu(labels)]).mean())
        gradients = shares / total
        gradients[rows, cpu(labels)] -= 1
        wanted = [gradients * scale / len(wide[0])]
    else:
        right = sum(float((x * x).mean()) for x in wide)
        wanted = [2 * x * scale / x.numel() for x in wide]
    got = float(value.detach().to("cpu"))
    checks = [Check("loss", abs(got - right) / max(abs(right), 1e-30), tolerance("float32", 4096, 1.0, 1.0))]
    for number, (a, b) in enumerate(zip(found, wanted)):
        error = torch_correctness.relative(a, b)
        checks.append(Check(f"output {number} (gradient)", error, tolerance(torch_correctness.name_of(a.dtype), 4096, 1.0, 1.0)))
    return checks, list(found)


def failed_row(name, note):
    """A failed row without numbers, for results that cannot be compared."""
    return {"name": name, "max_relative_error": None, "tolerance": 0.0, "note": note, "passed": False}


def whole(subject, trainer, labels, levels, scale, known=None):
    """Rows of the step as it is measured: gradients of all parameters against those of the layers one by one, then the optimiser.

    `known`: the gradients of the layers one by one, where the caller has them."""
    _no_dropout(subject.model, True)
    try:
        gradients = _gradients(subject, trainer, labels, levels, scale, known)
        return [gradients, optimiser(subject, trainer, labels)]
    finally:
        _no_dropout(subject.model, False)


def _no_dropout(model, off):
    for module in model.modules():
        if type(module).__name__ in ("Dropout", "Attention"):
            module.train(not off)


def _gradients(subject, trainer, labels, levels, scale, known):
    """Compares the gradients. A tensor beyond its tolerance is computed again with other inputs, because near the kink of a ReLU rounding
    decides."""
    undecided, again, worst, twice = None, subject.inputs, None, ""
    for attempt in range(torch_correctness.UNDECIDED):
        right = known if known and not attempt else _one_by_one(subject, trainer, again, labels, scale)
        got = _by_autograd(trainer, again, labels)
        missing = sorted(set(right) - set(got))
        if missing:
            note = f"{len(missing)} of {len(right)} tensors got no gradient: {missing[0]}"
            return failed_row("whole step", note)
        names = sorted(right) if undecided is None else undecided
        errors = {name: _difference(got[name], right[name] if scale == 1.0 else right[name] / scale) for name in names}
        if not attempt:
            twice = "the same bits" if not any(errors.values()) else _determinism(trainer, again, labels, got)
        allowed = _allowed(subject, trainer, again, labels, levels, scale, right, errors)
        checks = [Check(name, errors[name], allowed[name]) for name in names]
        failed = [check for check in checks if not check.share <= 1]
        worst = max(failed or checks, key=lambda check: check.share)
        undecided = [check.name for check in failed]
        if not undecided:
            break
        again = [x.flip(-1).neg() if x.is_floating_point() and x.dim() == 4 else x for x in again]
        again = [x.roll(attempt + 1, -1) if x.dim() > 1 else x for x in again]
    dtype = torch_correctness.name_of(subject.dtype)
    note = f"{len(right)} gradients as measured against the layers one by one, {subject.described(subject.batch)}: {twice}"
    return calibration.row("whole step", [worst], note, dtype)


def _one_by_one(subject, trainer, inputs, labels, scale, noise=None):
    layers = subject.layers(noise)
    outputs = layers.forward(inputs, training=True, check=False)
    leaves = [x.detach().requires_grad_() for x in outputs]
    with torch.enable_grad(), trainer.context:
        value = device_loss(tuple(leaves) if len(leaves) > 1 else leaves[0], labels)
    return layers.backward(list(torch.autograd.grad(value * scale, leaves)), check=False)


def _by_autograd(trainer, inputs, labels):
    trainer.backward(inputs, labels)
    found = {name.replace("_orig_mod.", ""): p.grad.detach() for name, p in trainer.model.named_parameters() if p.grad is not None}
    if trainer.scaler is not None:
        trainer.scaler.update()
    return found


def _determinism(trainer, inputs, labels, first):
    first = {name: x.clone() for name, x in first.items()}
    second = _by_autograd(trainer, inputs, labels)
    if all(torch.equal(first[name], second[name]) for name in first if name in second):
        return "the same bits from two runs"
    return f"two runs with the same seed differ by {max(_difference(second[name], first[name]) for name in first if name in second):.0e}"


def _difference(got, right):
    if got.dtype == right.dtype and torch.equal(got, right):
        return 0.0
    return torch_correctness.relative(got, right)


def _allowed(subject, trainer, inputs, labels, levels, scale, right, errors):
    """{name: tolerance}. The noise is drawn only where an error is larger than the tolerance of its layers."""
    dtype = torch_correctness.name_of(subject.dtype)
    strict = {name: tolerance(dtype, 4096, 1.0, 1.0) for name in errors}
    if all(error <= strict[name] for name, error in errors.items()):
        return strict
    found = {name: [] for name in errors}
    for draw in range(torch_correctness.DRAWS):
        noisy = _one_by_one(subject, trainer, inputs, labels, scale, torch_correctness.noise_of(levels, draw))
        for name in found:
            found[name].append(_difference(noisy[name], right[name]))
    middle = {name: sorted(values)[len(values) // 2] for name, values in found.items()}
    return {name: max(strict[name], torch_correctness.PARTS * middle[name]) for name in errors}


def optimiser(subject, trainer, labels):
    """Parameters and the optimiser's state after each of STEPS steps, against the rule in float64."""
    checks, note = [], f"parameters and state after {STEPS} steps against the rule in float64"
    rates = {id(p): float(group["lr"]) for group in trainer.optimizer.param_groups for p in group["params"]}
    named = [(name.replace("_orig_mod.", ""), p) for name, p in trainer.model.named_parameters() if id(p) in rates]
    adam = type(trainer.optimizer).__name__ == "Adam"
    for _ in range(STEPS):
        trainer.backward(subject.inputs, labels)
        before = {name: _sampled(p) for name, p in named}
        state = {name: _state(trainer.optimizer, p, adam) for name, p in named}
        gradients = {name: None if p.grad is None else _sampled(p.grad) for name, p in named}
        trainer.update()
        if any(g is not None and not bool(torch.isfinite(g).all()) for g in gradients.values()):
            note = "a gradient is not finite: the step was left out" if trainer.scaler is not None else note
            continue
        for name, p in named:
            if gradients[name] is not None:
                checks += _moved(name, p, before[name], state[name], gradients[name], rates[id(p)], trainer.optimizer, adam)
    if not checks:
        return failed_row("optimizer", "no finite gradient in any step")
    return calibration.row("optimizer", checks, note)


def _moved(name, p, before, state, g, rate, optimizer, adam):
    if adam:
        count = state.get("step", 0.0) + 1
        first = BETAS[0] * state.get("exp_avg", 0.0) + (1 - BETAS[0]) * g
        second = BETAS[1] * state.get("exp_avg_sq", 0.0) + (1 - BETAS[1]) * g * g
        step = -rate * (first / (1 - BETAS[0] ** count)) / (torch.sqrt(second / (1 - BETAS[1] ** count)) + EPSILON)
        wanted = {"exp_avg": first, "exp_avg_sq": second}
    else:
        first = MOMENTUM * state["momentum_buffer"] + g if "momentum_buffer" in state else g
        step, wanted = -rate * first, {"momentum_buffer": first}
    now, kept = _sampled(p), _state(optimizer, p, adam)
    checks = [_against(name, now - before, step, float(before.norm()))]
    for key, right in wanted.items():
        got = kept.get(key)
        absent = Check(f"{name} ({key})", math.inf, 1.0, note="is not there")
        checks.append(absent if got is None else _against(absent.name, got, right))
    return checks


def _against(name, got, right, size=0.0):
    """`size`: the size of the numbers with which both were rounded."""
    norm = float(right.norm())
    if not bool(torch.isfinite(got).all()):
        return Check(name, math.inf, 1.0, note="not a number")
    if not norm:
        return Check(name, float(got.norm()), calibration.UNIT["float32"] * max(size, 1e-30) * calibration.FACTOR)
    return Check(name, float((got - right).norm()) / norm, tolerance("float32", 64, max(size, norm), norm))


def _state(optimizer, p, adam):
    kept = optimizer.state.get(p, {})
    found = {}
    for key in ("exp_avg", "exp_avg_sq") if adam else ("momentum_buffer",):
        if isinstance(kept.get(key), torch.Tensor):
            found[key] = _sampled(kept[key])
    if adam and "step" in kept:
        found["step"] = float(kept["step"])
    return found


def _sampled(x):
    """Numbers of a tensor, spread over it, in float64 on the processor."""
    flat = x.detach().reshape(-1)
    if flat.numel() <= MOST:
        return cpu(flat).double()
    step = flat.numel() // MOST + 1
    return torch.cat([cpu(flat[:1024]), cpu(flat[1024:-1024:step]), cpu(flat[-1024:])]).double()


def learning(device, dtype, request):
    """A row: the loss of a small network on a task that can be learnt falls, with this optimiser's rule at a rate that shows it."""
    d = GraphBuilder("lesson")
    x = d.input("image", (32, 3, 12, 12))
    x = d("relu", "relu", d("batch_norm", "norm", d("conv", "conv", x, out=16, kernel=3, stride=2, padding=1, bias=False)))
    network = d.finish(d("linear", "head", d("flatten", "flatten", d("average_to", "pool", x)), out=4))
    losses = []
    model = torch_networks.build(network, device.torch_device, torch.float32).train()
    trainer = Trainer(model, network, device, dtype, request)
    for group in trainer.optimizer.param_groups:
        group["lr"] = RATE if type(trainer.optimizer).__name__ != "Adam" else RATE / 10
    labels = torch.arange(32, dtype=torch.int64) % 4
    images = torch_networks.inputs(network)[0] * 0.3
    for place in range(4):  # the images of each class are brighter in a corner of their own
        row, column = 6 * (place // 2), 6 * (place % 2)
        images[place::4, place % 3, row : row + 6, column : column + 6] += 1.5
    given, wanted = [images.to(device.torch_device)], labels.to(device.torch_device)
    for _ in range(LESSONS):
        losses.append(float(trainer.step(given, wanted).to("cpu")))
    share = losses[-1] / losses[0] if math.isfinite(losses[-1]) and losses[0] else math.inf
    note = f"the loss of a small task goes from {losses[0]:.3g} to {losses[-1]:.3g} in {LESSONS} steps"
    passed = share <= LEARNT
    error = share if math.isfinite(share) else None
    return [{"name": "learning", "max_relative_error": error, "tolerance": LEARNT, "note": note, "passed": passed}]
