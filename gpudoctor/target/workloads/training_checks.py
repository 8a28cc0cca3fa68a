"""A few training steps of a small network in any framework against float64 in the same one, with tolerances that are found with random
noise.

The reference is computed again with noise in its weights, of the size that rounding has in each layer: how far each gradient moves is what
a sound device may be off by. A ReLU near its kink moves a tensor further than noise usually does: such a tensor is asked for again with
other inputs, and is wrong where it is wrong with all of them.
"""

import zlib

import calibration
import correctness
import numpy
from network_ir import shapes

DRAWS, UNDECIDED = 2, 3
LATER = 3.0
"""The factor by which the tolerance of the losses of later steps is larger than that of the first loss."""
SCATTER = 0.02
"""The allowed difference of the mean size of the gradients, in addition to the spread of the draws."""


def rows(request, network, classes, compute, dtype, reference, first_loss):
    levels = calibration.levels(network, shapes(network), dtype)
    inputs = {each.name for each in network.inputs if each.kind == "float"}
    undecided, found = None, None
    for attempt in range(UNDECIDED):
        one = Attempt(network, classes, compute, dtype, _change(inputs, attempt), levels)
        if found is None:
            found = [*one.losses(reference, first_loss), one.sizes(reference)]
        note = one.absent()
        if note:
            return [*found, {"name": "gradients", "max_relative_error": None, "tolerance": 0.0, "note": note, "passed": False}]
        checks = [each for each in one.checks() if undecided is None or each.name in undecided]
        undecided = {each.name for each in checks if not each.share <= 1}
        if not undecided:
            break
    note = f"{len(one.right)} tensors, batch {network.inputs[0].shape[0]}, {reference}"
    return [*found, calibration.row("gradients", checks, note, dtype, calibration.allowed(request))]


def _change(inputs, attempt, levels=None, seed=0):
    """A function change(name, array): other inputs for each attempt, and noise in the parameters where there are levels."""

    def change(name, array):
        if name in inputs:
            return numpy.roll(-array, attempt, -1) if attempt else array
        level = (levels or {}).get(name.rpartition(".")[0], 0.0)
        if not level:
            return array
        random = numpy.random.RandomState((zlib.crc32(name.encode()) + seed) % 2**32)
        return array * (1 + level * random.standard_normal(array.shape))

    change.noisy = lambda levels, seed: _change(inputs, attempt, levels, seed)
    return change


class Attempt:
    def __init__(self, network, classes, compute, dtype, change, levels):
        self.dtype = dtype
        self.right, self.right_losses = compute(network, classes, "float64", change, correctness.STEPS)
        self.got, self.got_losses = compute(network, classes, dtype, change, correctness.STEPS)
        self.draws = [compute(network, classes, "float64", change.noisy(levels, seed), 1) for seed in range(DRAWS)]
        self.missing = sorted(set(self.right) - set(self.got))
        self.floor = correctness.FLOOR * max(float(numpy.linalg.norm(each)) for each in self.right.values())

    def absent(self):
        """The message for missing gradients."""
        if self.missing:
            return f"{len(self.missing)} of {len(self.right)} tensors got no gradient: {self.missing[0]}"
        return "" if any(numpy.any(each) for each in self.got.values()) else "all gradients are zero"

    def _off(self, gradients, name):
        right = self.right[name]
        return float(numpy.linalg.norm(gradients[name].reshape(-1) - right.reshape(-1))) / max(float(numpy.linalg.norm(right)), self.floor)

    def checks(self):
        """One check for each tensor; the error of a nearly vanishing tensor is relative to the norms of the others."""
        found = []
        for name in self.right:
            middle = sum(self._off(gradients, name) for gradients, _ in self.draws) / DRAWS
            tolerance = calibration.FACTOR * max(middle, calibration.expected(self.dtype, 1024, 1.0, 1.0)[0])
            one = correctness.check(name, self.got[name], self.right[name], tolerance, middle / _step(self.dtype))
            if not one.note:
                one.error = self._off(self.got, name)
            found.append(one)
        return found

    def losses(self, reference, first_loss):
        tolerance = self._allowed([abs(losses[0] - self.right_losses[0]) / abs(self.right_losses[0]) for _, losses in self.draws])
        found = [
            correctness.compared("first loss", self.got_losses[:1], [first_loss], tolerance),
            correctness.compared("losses", self.got_losses, self.right_losses, tolerance * LATER, reference),
        ]
        if self.right_losses[-1] < self.right_losses[0] and not self.got_losses[-1] < self.got_losses[0]:
            text = "the loss falls on the processor ({:.4g} to {:.4g}) and not here"
            found[1].update(passed=False, note=text.format(self.right_losses[0], self.right_losses[-1]))
        return found

    def _allowed(self, errors):
        return calibration.FACTOR * max([*errors, calibration.expected(self.dtype, 64, 1.0, 1.0)[0]])

    def _size(self, gradients):
        """The mean over all tensors of their length along the reference: 1 where all are right, 0.9 where all are a tenth too small."""
        shares = []
        for name, right in self.right.items():
            norm = float(numpy.linalg.norm(right))
            if norm > self.floor and name in gradients:
                shares.append(float(numpy.dot(gradients[name].reshape(-1), right.reshape(-1))) / norm**2)
        return float(numpy.mean(shares)) if shares else 0.0

    def sizes(self, reference):
        """A check of the mean of all tensors, which shows gradients that are too small or turned where rounding hides that in each of
        them."""
        drawn = [self._size(gradients) for gradients, _ in self.draws]
        middle = float(numpy.mean(drawn))
        tolerance = max(SCATTER, calibration.FACTOR * float(numpy.std(drawn)))
        found = correctness.compared(
            "size of gradients", [self._size(self.got)], [middle], tolerance, f"the mean of all tensors, {reference}"
        )
        return found


def _step(dtype):
    """The relative error of rounding operands once: it turns a drawn error into the scale that calibration.computes_in needs."""
    return calibration.expected(dtype, 1024, 1.0, 1.0)[0]
