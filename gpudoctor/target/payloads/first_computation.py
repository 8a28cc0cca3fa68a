"""Runs in the target interpreter: one small computation on one device, and the same on the CPU in float64, compared.

It uses the standard library alone, runs under Python 3.6 and newer, and imports nothing from gpudoctor. Usage: python first_computation.py FRAMEWORK [DEVICE]
The computations are in computations/, one file per family of frameworks, loaded by its path; this file holds what they share.
Each stage (import, device, allocate, compute, compare) prints one line of JSON when it begins, and further lines when more is known, so
that a hang or a crash can be located. What the framework prints goes to standard error.
"""
import importlib.util
import json
import math
import os
import sys

MARK = "@gpudoctor "
# All weights and inputs below are multiples of 1/16 and the format of each framework is set to plain float32, so that sums of a few
# hundred terms differ by 1e-6 or so in any order. TF32 (1e-3 per product) is off. A wrong kernel is off by 1e-1 and more.
TOLERANCE = 1e-3
RATE = 0.05
BATCH, CHANNELS, SIDE, FILTERS, CLASSES = 4, 3, 8, 8, 10
SAID = 1


class NoDevice(Exception):
    """This machine has no device that the framework could compute on."""


def say(**what):
    data = (MARK + json.dumps(what, default=str) + "\n").encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(SAID, data):]


def pattern(count, shift, levels=17):
    """Numbers from -1/2 to 1/2 in steps of 1/16, without a random generator: each framework and each run has the same."""
    half = levels // 2
    return [((i * i * 11 + i * 37 + shift) % levels - half) / 16.0 for i in range(count)]


def biases(count, shift):
    """Numbers between the multiples of 1/256 that the products are, so that nothing before a ReLU is nearly zero and rounding cannot flip it."""
    return [value + 1.0 / 512 for value in pattern(count, shift)]


def compare(pairs):
    """(error, name of the worst tensor) of [(name, got, wanted)], lists of floats; the error is the largest |got - wanted| divided by the
    largest |wanted| of a tensor.

    The error is infinite where numbers are missing or not finite, and where the wanted values are all zero and would prove nothing.
    """
    worst, where = (0.0, "") if pairs else (float("inf"), "nothing computed")
    for name, got, wanted in pairs:
        scale = max([abs(value) for value in wanted] or [0.0])
        if len(got) != len(wanted) or not 0.0 < scale < float("inf") or not all(math.isfinite(value) for value in list(got) + list(wanted)):
            return float("inf"), name
        error = max(abs(a - b) for a, b in zip(got, wanted)) / scale
        if error > worst or not where:
            worst, where = error, name
    return worst, where


def card(*vendors):
    """A graphics card or accelerator of one of these PCI vendors, or /dev/dxg, through which WSL reaches a card; '' where there is none."""
    root = "/sys/bus/pci/devices"
    try:
        for name in sorted(os.listdir(root)):
            with open(os.path.join(root, name, "vendor")) as vendor, open(os.path.join(root, name, "class")) as kind:
                if vendor.read().strip() in vendors and kind.read().startswith(("0x03", "0x12")):
                    return "the card " + name
    except OSError:
        pass
    return "/dev/dxg" if os.path.exists("/dev/dxg") else ""


def cpu_name():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        import platform

        return platform.processor() or "CPU"


def none_listed(what, by, here=""):
    """Ends the run because the framework lists no device of this kind: as expected, or a fault where `here` names a device of the machine."""
    if here:
        raise RuntimeError("%s lists no device, though %s is here" % (by, here))
    raise NoDevice("no %s here: %s lists none" % (what, by))


def number_of(device):
    """2 of 'xpu:2'; 0 where no number is given."""
    tail = device.rpartition(":")[2]
    return int(tail) if tail.isdigit() else 0


def chosen(device, found):
    """The entry of [{id, name}] that was asked for ('xpu:1', 'openvino:GPU'), or the first."""
    for entry in found:
        if not device or entry["id"] == device or entry["id"].startswith((device + ":", device + ".")):
            return entry
    raise RuntimeError("there is no %s here, but %s" % (device, ", ".join(entry["id"] for entry in found) or "nothing"))


def has(device, found):
    entry = chosen(device, found)
    say(stage="device", ok=True, device=entry["id"], name=entry["name"], devices=found)
    return entry


def conclude(pairs):
    error, where = compare(pairs)
    finite = math.isfinite(error)
    say(stage="compare", ok=error <= TOLERANCE, max_relative_error=error if finite else None, tolerance=TOLERANCE, worst=where)


FAMILIES = {
    "torch-cpu": "torch_step", "torch-cuda": "torch_step", "torch-rocm": "torch_step", "torch-xpu": "torch_step", "ipex": "torch_step",
    "torch-directml": "torch_step", "pytorch-directml": "torch_step", "torch-opencl": "torch_step", "torch-mps": "torch_step",
    "poptorch": "poptorch_step", "tensorflow": "tensorflow_step", "tensorflow-directml": "tensorflow_step", "jax": "jax_step",
    "onnxruntime": "onnx_inference", "openvino": "onnx_inference", "opencl": "opencl_kernels", "llama-cpp": "llama_scores",
}


def part(name):
    """The module of a file in computations/, loaded without adding that folder to sys.path."""
    path = os.path.join(os.path.dirname(os.path.realpath(__file__)), "computations", name + ".py")
    spec = importlib.util.spec_from_file_location("gpudoctor_" + name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    global SAID
    SAID = os.dup(1)
    os.dup2(2, 1)
    framework = sys.argv[1] if len(sys.argv) > 1 else "torch-cpu"
    device = sys.argv[2] if len(sys.argv) > 2 else ""
    here = os.path.dirname(os.path.realpath(__file__))
    # The folder of this file is no part of the target environment, and no bytecode is written into it.
    sys.path[:] = [folder for folder in sys.path if os.path.realpath(folder or ".") != here]
    sys.argv = ["gpudoctor"]
    sys.dont_write_bytecode = True
    say(stage="import")
    try:
        part(FAMILIES[framework]).run(sys.modules[__name__], framework, device)
        say(stage="done")
    except NoDevice as reason:
        say(stage="device", ok=False, reason=str(reason))
    except BaseException as error:  # noqa: B036  (SystemExit too: some frameworks leave when versions do not fit)
        say(stage="failed", error="%s: %s" % (type(error).__name__, str(error).strip()[:2000]))
    sys.stdout.flush()
    sys.stderr.flush()
    # Unloading a framework costs time and may crash, and everything has been printed.
    os._exit(0)


if __name__ == "__main__":
    main()
