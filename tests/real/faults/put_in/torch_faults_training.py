"""Faults of torch's attention, losses and optimisers, and those that come with time."""

import functools
import itertools
import math
import time

import torch
import torch.nn.functional as F
from torch_faults import PATCHES, operator, patch


@patch
def attention_forgets_its_mask():
    sound = F.scaled_dot_product_attention
    F.scaled_dot_product_attention = lambda q, k, v, attn_mask=None, *rest, **more: sound(q, k, v, None, *rest, **more)


@patch
def attention_sees_one_word_ahead():
    sound = F.scaled_dot_product_attention

    def wrong(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, **more):
        if is_causal:
            attn_mask, is_causal = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(1), False
        return sound(q, k, v, attn_mask, dropout_p, is_causal, **more)

    F.scaled_dot_product_attention = wrong


@operator("nll_loss_forward", "nll_loss_backward")
def loss_counts_what_it_should_ignore(call, *args):
    args = list(args)
    place = -1 if call._schema.name.endswith("forward") else -2
    args[place] = -100
    return call(*args)


@patch
def label_smoothing_is_ignored():
    sound = F.cross_entropy
    F.cross_entropy = lambda *args, label_smoothing=0.0, **more: sound(*args, **more)


@patch
def class_weights_are_ignored():
    sound = F.cross_entropy
    F.cross_entropy = lambda x, y, weight=None, *rest, **more: sound(x, y, None, *rest, **more)


@operator("mse_loss_backward")
def loss_gradient_is_half(call, *args):
    return call(*args) * 0.5


def _settings(name, **forced):
    kind = getattr(torch.optim, name)
    sound = kind.__init__

    @functools.wraps(sound)
    def wrong(self, params, *args, **settings):
        sound(self, params, *args, **{**settings, **{key: value for key, value in forced.items() if key in settings}})

    kind.__init__ = wrong


PATCHES["momentum_is_ignored"] = lambda: _settings("SGD", momentum=0.0, nesterov=False)
PATCHES["nesterov_is_ignored"] = lambda: _settings("SGD", nesterov=False)
PATCHES["weight_decay_is_ignored"] = lambda: (_settings("SGD", weight_decay=0.0), _settings("Adam", weight_decay=0.0))


@patch
def adamw_decays_like_adam():
    sound = torch.optim.AdamW.__init__

    def wrong(self, *args, **settings):
        sound(self, *args, **settings)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = False

    torch.optim.AdamW.__init__ = wrong


@patch
def adam_forgets_its_second_moment():
    _settings("Adam", betas=(0.9, 0.0))
    sound = torch.optim.Adam.__init__

    def wrong(self, params, *args, **settings):
        sound(self, params, *args, **{**settings, "betas": (0.9, 0.5)})

    torch.optim.Adam.__init__ = wrong


@patch
def gradients_are_not_clipped():
    torch.nn.utils.clip_grad_norm_ = lambda parameters, *args, **more: torch.cat([p.grad.reshape(-1) for p in parameters]).norm()


@patch
def every_other_step_is_left_out():
    sound, count = torch.optim.SGD.step, itertools.count()
    torch.optim.SGD.step = lambda self, *args: None if next(count) % 2 else sound(self, *args)


@patch
def infinite_gradients_are_not_skipped():
    torch.amp.GradScaler._maybe_opt_step = lambda self, optimizer, state, *args, **more: optimizer.step(*args, **more)


def _steps(fault, change):
    def put():
        sound, began, count = torch.nn.Module.__call__, time.monotonic(), itertools.count()
        depth = [0]

        def wrong(self, *args, **kwargs):
            depth[0] += 1
            try:
                found = sound(self, *args, **kwargs)
            finally:
                depth[0] -= 1
            return found if depth[0] else change(found, next(count), time.monotonic() - began)

        torch.nn.Module.__call__ = wrong

    PATCHES[fault] = put


_leaked = []


def _leak(found, step, age):
    _leaked.append(torch.ones(16 << 20))
    return found


def _slow(found, step, age, seen=[]):  # noqa: B006
    """Three times slower, two seconds after the first step."""
    now = time.monotonic()
    seen.append(now)
    if now - seen[0] > 2 and len(seen) > 2:
        gaps = sorted(b - a for a, b in itertools.pairwise(seen[1:21]))
        time.sleep(2 * gaps[len(gaps) // 2] if gaps else 0)
    return found


def _not_a_number(found, step, age):
    return found * (math.nan if step >= 12 else 1) if isinstance(found, torch.Tensor) else found


def _hang(found, step, age):
    if step == 12:
        time.sleep(3600)
    return found


def _drift(found, step, age):
    return found * (1 + 0.001 * step) if isinstance(found, torch.Tensor) else found


_steps("leaks_64_mb_a_step", _leak)
_steps("slower_after_two_seconds", _slow)
_steps("nan_after_some_steps", _not_a_number)
_steps("hangs_at_a_step", _hang)
_steps("results_drift_from_step_to_step", _drift)
