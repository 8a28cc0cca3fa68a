"""Devices of torch by name, for every backend of torch: the module to import, how to wait for the device, its title."""

import contextlib
import importlib

import torch
from worker import Skipped

PLUGINS = {"ipex": "intel_extension_for_pytorch", "torch-directml": "torch_directml", "torch-opencl": "pytorch_ocl"}


class Device:
    """`kind`: cpu, cuda, xpu, mps, ocl or dml. `torch_device` goes into calls."""

    def __init__(self, framework, name):
        plugin = _imported(PLUGINS[framework]) if framework in PLUGINS else None
        self.name = name or "cpu"
        self.kind, _, number = self.name.partition(":")
        self.index = int(number or 0)
        if self.kind == "dml":
            self.torch_device = plugin.device(self.index) if plugin is not None else torch.device("dml")
        else:
            self.torch_device = torch.device(self.name)
        self.plugin = plugin
        self.module = getattr(torch, self.kind, None)
        available = getattr(self.module, "is_available", None)
        if self.kind in ("cuda", "xpu") and (available is None or not available()):
            raise Skipped(f"torch.{self.kind} lists no device")
        if self.kind == "mps" and not torch.backends.mps.is_available():
            raise Skipped("torch.backends.mps is not available")

    def title(self):
        if self.kind in ("cuda", "xpu"):
            return self.module.get_device_name(self.torch_device)
        if self.kind == "dml" and self.plugin is not None:
            return self.plugin.device_name(self.index).rstrip("\0").strip()
        return self.kind

    def sync(self, last=None):
        """Waits until the device has done everything. `last`: the tensor that was computed last, for backends without such a call."""
        synchronize = getattr(self.module, "synchronize", None)
        if self.kind == "cpu":
            return
        if synchronize is not None:
            synchronize() if self.kind in ("mps", "ocl") else synchronize(self.torch_device)
        elif last is not None:
            last.reshape(-1)[:1].cpu()

    def memory_peak(self):
        if self.kind in ("cuda", "xpu") and hasattr(self.module, "max_memory_allocated"):
            return int(self.module.max_memory_allocated(self.torch_device))
        if self.kind == "mps":
            return int(torch.mps.driver_allocated_memory())
        return None

    def memory_now(self):
        """The bytes of tensors on the device now; None where torch does not report them."""
        if self.kind in ("cuda", "xpu") and hasattr(self.module, "memory_allocated"):
            return int(self.module.memory_allocated(self.torch_device))
        return None

    def reset_peak(self):
        if self.kind in ("cuda", "xpu") and hasattr(self.module, "reset_peak_memory_stats"):
            self.module.reset_peak_memory_stats(self.torch_device)

    def precision(self, dtype):
        """The context of mixed precision where the dtype needs it, else an empty one."""
        if dtype == torch.float32 or dtype == torch.float64:
            return contextlib.nullcontext()
        if hasattr(torch, "autocast") and self.kind in ("cpu", "cuda", "xpu", "mps"):
            return torch.autocast(self.kind, dtype=dtype)
        raise Skipped(f"{self.kind} has no mixed precision in torch {torch.__version__}")

    def supports(self, dtype):
        """Raises Skipped where the device cannot hold a tensor of this dtype."""
        try:
            torch.ones(2, dtype=dtype).to(self.torch_device)
        except (RuntimeError, TypeError, NotImplementedError) as error:
            reason = str(error).splitlines()[0][:200]
            raise Skipped("no {} on {}: {}".format(str(dtype).replace("torch.", ""), self.name, reason)) from error


def _imported(plugin):
    try:
        return importlib.import_module(plugin)
    except ModuleNotFoundError as error:
        if error.name != plugin:  # the plugin is installed, but one of its own dependencies is missing
            raise
        raise Skipped(plugin + " is not in this environment") from error


def peak_of_process():
    """The largest resident size of this process in bytes; None where the system does not say."""
    try:
        import resource
        import sys
    except ImportError:
        return None
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024
