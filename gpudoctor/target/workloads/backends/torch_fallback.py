"""Whether an operator that was called on a device was computed there, or silently on the processor.

Three witnesses: the framework's own warning, the place of the result, and the record of all operators that ran inside (torch 2.0 and
newer), where an operator that computes with tensors of the processor alone shows a silent fallback.
"""

import re
import warnings

import torch

FALLBACK = re.compile(r"fall(?:s|ing)?[ _-]?back(?! kernel)|not currently (?:supported|implemented) on the .{1,40} backend", re.IGNORECASE)
NAMED = re.compile(r"aten::[\w.]+")
HARMLESS = frozenset(
    "aten::" + name
    for name in """
    empty to _to_copy copy_ lift_fresh detach alias resize_ view as_strided reshape set_ item _local_scalar_dense
    is_nonzero result_type contiguous clone pin_memory is_pinned unsqueeze squeeze expand select slice new_empty fill_
    zero_ scalar_tensor unbind t transpose empty_strided empty_like zeros ones full arange detach_ flatten
    _reshape_alias _unsafe_view narrow permute reshape_as view_as expand_as
    """.split()
)
"""Operators that move, create or view data, which may run on the processor for any operator (sizes, lists of indices)."""


class Watch:
    """Calls a function; `why` then says how it was seen that the processor computed it, '' where it was not."""

    def __init__(self, device):
        self.kind = device.kind
        self.why = ""
        self.records = self.kind != "cpu" and _has_records()
        if hasattr(torch, "set_warn_always"):
            torch.set_warn_always(True)

    def __call__(self, call):
        self.why = ""
        if self.kind == "cpu":
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                found = call()
            self.why = _warning_of_fallback(warned)
            return found
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            if not self.records:
                found = call()
            else:
                with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as record:
                    found = call()
        self.why = _warning_of_fallback(warned) or self._on_processor(found) or (self._recorded(record) if self.records else "")
        return found

    def _on_processor(self, found):
        parts = found if isinstance(found, (tuple, list)) else (found,)
        wrong = any(isinstance(part, torch.Tensor) and part.device.type == "cpu" for part in parts)
        return "the result is on the processor" if wrong else ""

    def all_recorded(self, record):
        """The names of all operators whose tensors were all on the processor."""
        try:
            events = list(_flat(record.profiler.kineto_results.experimental_event_tree()))
        except (AttributeError, RuntimeError):
            return []
        return [each.name for each in events if each.name.startswith("aten::") and each.name not in HARMLESS and _only_processor(each)]

    def _recorded(self, record):
        try:
            tree = record.profiler.kineto_results.experimental_event_tree()
        except (AttributeError, RuntimeError):
            self.records = False
            return ""
        for event in _flat(tree):
            name = event.name
            if name == "aten::_to_cpu":
                return "tensors were copied to the processor (aten::_to_cpu)"
            if name.startswith("aten::") and name not in HARMLESS and _only_processor(event):
                return name + " ran on the processor"
        return ""


def in_one_step(device, step):
    """The names of operators that ran on the processor while `step()` ran, as far as that can be seen on this device; each once.

    For networks, after their measurement. On devices of plugins only the warnings count, because recording does not work on all of them.
    """
    watch = Watch(device)
    if device.kind in ("dml", "ocl"):
        watch.records = False
    names = []
    if not watch.records:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            step()
    else:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as record:
                step()
        names = watch.all_recorded(record)
    for one in warned:
        text = " ".join(str(one.message).split())
        if FALLBACK.search(text):
            names += NAMED.findall(text) or ["unnamed"]
    return list(dict.fromkeys(names))


def _has_records():
    try:
        return int(torch.__version__.split(".")[0]) >= 2 and hasattr(torch, "profiler")
    except ValueError:
        return False


def _warning_of_fallback(warned):
    for one in warned:
        text = " ".join(str(one.message).split())
        if FALLBACK.search(text):
            return text[:300]
    return ""


def _flat(events):
    waiting = list(events)
    while waiting:
        event = waiting.pop()
        yield event
        waiting.extend(event.children)


def _only_processor(event):
    """Whether the inputs were tensors of the processor alone, and more than single numbers."""
    places = []
    try:
        for given in event.extra_fields.inputs:
            for one in given if isinstance(given, (list, tuple)) else (given,):
                device = getattr(one, "device", None)
                if device is not None:
                    places.append((device.type, len(one.sizes)))
    except AttributeError:
        return False
    return bool(places) and all(kind == "cpu" for kind, _ in places) and any(dimensions for _, dimensions in places)
