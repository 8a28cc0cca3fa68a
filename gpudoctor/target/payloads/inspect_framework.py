"""Runs in the target interpreter: imports one framework and reports its build, the libraries that it loaded and the devices that it lists.

It uses the standard library alone, runs under Python 3.6 and newer, and imports nothing from gpudoctor. Usage: python inspect_framework.py NAME
Each stage prints one line of JSON on the real standard output, so that the output of a crashed run shows how far it came.
What the framework prints goes to standard error. GPUDOCTOR_NO_DEVICE=1 in the environment: no devices are listed.
"""
import json
import os
import re
import sys

MARK = "@gpudoctor "
ARGUMENT = sys.argv[1] if len(sys.argv) > 1 else "torch"
NO_DEVICE = os.environ.get("GPUDOCTOR_NO_DEVICE") == "1"
SAID = os.dup(1)
os.dup2(2, 1)
# The folder of this file is no part of the examined environment.
if sys.path and os.path.realpath(sys.path[0] or ".") == os.path.dirname(os.path.realpath(__file__)):
    del sys.path[0]
sys.argv = ["gpudoctor"]
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

WATCHED = tuple("""cuda cudnn cublas cufft nccl nvidia-ml nvrtc nvJitLink sycl ze_loader ze_intel_gpu ur_loader pi_ OpenCL igdrcl amdhip64 hsa-runtime64
rocblas MIOpen stdc++ torch_ torch. mkl_ iomp5 gomp omp tbb ccl directml d3d12 dxcore poplar popart openvino onnxruntime tensorflow dnnl""".split())
"""Beginnings of the names of libraries, after their `lib`, that are of interest."""


def say(**what):
    data = (MARK + json.dumps(what, default=str) + "\n").encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(SAID, data):]


def origin(path):
    prefix = os.path.realpath(sys.prefix)
    # sycl, umf and mkl wheels put their libraries straight into the environment's lib folder
    for kind, here in (
        ("stub", "/stubs/" in path),
        ("wsl", path.startswith("/usr/lib/wsl/")),
        ("wheel", re.search("/(site|dist)-packages/", path)),
        ("conda", path.startswith(prefix + "/") and os.path.isdir(os.path.join(prefix, "conda-meta"))),
        ("wheel", path.startswith(prefix + "/lib/") and os.path.exists(os.path.join(prefix, "pyvenv.cfg"))),
        ("oneapi", "/oneapi/" in path),
        ("toolkit", re.search("^/usr/local/cuda|^/opt/(rocm|cuda|poplar|nvidia|intel/openvino)|/poplar", path)),
    ):
        if here:
            return kind
    return "system"


def libraries():
    found = {}
    try:
        with open("/proc/self/maps", errors="replace") as maps:
            for line in maps:
                at, slash, path = line.rstrip("\n").partition("/")
                path, name = slash + path, path.rpartition("/")[2]
                if ".so" in path and name[:3] == "lib" and name[3:].startswith(WATCHED) and path not in found:
                    found[path] = {"soname": name, "path": path, "origin": origin(path)}
    except OSError:
        pass
    return list(found.values())


def chain(error):
    """'Type: message' of an error and of up to three of its causes, one a line, each cut at 1500 characters."""
    parts, seen = [], set()
    while error is not None and id(error) not in seen and len(parts) < 4:
        seen.add(id(error))
        parts.append("%s: %s" % (type(error).__name__, str(error).strip()[:1500]))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(parts)


def guarded(notes, function, *arguments):
    """What the function returns; None where it raises, and the error is added to `notes`: the other questions are still asked."""
    try:
        return function(*arguments)
    except Exception as error:  # noqa: BLE001
        notes.append("%s: %s" % (type(error).__name__, str(error).strip()[:600]))
        return None


def torch_build(torch):
    for name, label in (("hip", "rocm"), ("cuda", "cuda"), ("xpu", "xpu")):
        if getattr(torch.version, name, None):
            return "%s %s" % (label, getattr(torch.version, name))
    if getattr(getattr(torch, "xpu", None), "_is_compiled", lambda: False)():
        return "xpu"
    if sys.platform == "darwin" and getattr(torch.backends, "mps", None) is not None and torch.backends.mps.is_built():
        return "mps"
    return "cpu"


def torch_config(torch):
    config = {name: getattr(torch.version, name, None) for name in ("cuda", "hip", "xpu", "debug", "git_version")}
    config["cxx11_abi"] = bool(torch._C._GLIBCXX_USE_CXX11_ABI)
    config["arch_list"] = (torch._C._cuda_getArchFlags() or "").split() if hasattr(torch._C, "_cuda_getArchFlags") else []
    config["numpy"] = "ok" if getattr(torch._C, "_numpy_initialized", True) else "no"
    return config


def device(id, name, memory=None, **capabilities):
    return {"id": id, "name": name, "memory_bytes": memory, "capabilities": capabilities}


def torch_devices(torch, notes):
    if (torch.version.cuda or torch.version.hip) and guarded(notes, torch.cuda.is_available):
        arches = torch.cuda.get_arch_list()
        for index in range(torch.cuda.device_count()):
            p = torch.cuda.get_device_properties(index)
            arch = getattr(p, "gcnArchName", None) or "sm_%d%d" % (p.major, p.minor)
            bf16 = bool(torch.version.hip) or p.major >= 8
            yield device("cuda:%d" % index, p.name, p.total_memory, arch=arch, arch_list=arches, fp64=True, bf16=bf16)
    xpu = getattr(torch, "xpu", None)
    if hasattr(xpu, "is_available") and guarded(notes, xpu.is_available):
        for index in range(xpu.device_count()):
            p = xpu.get_device_properties(index)
            capabilities = {name: getattr(p, key) for name, key in (
                ("fp64", "has_fp64"), ("fp16", "has_fp16"), ("driver", "driver_version"), ("arch", "architecture"),
                ("platform", "platform_name"), ("max_alloc", "max_mem_alloc_size")) if hasattr(p, key)}
            yield device("xpu:%d" % index, p.name, getattr(p, "total_memory", None), **capabilities)
    mps = getattr(torch.backends, "mps", None)
    if sys.platform == "darwin" and mps is not None and guarded(notes, mps.is_available):
        yield device("mps", "Apple GPU", fp64=False)


def directml_devices(module, notes):
    return (device("dml:%d" % i, module.device_name(i).rstrip("\0 ")) for i in range(module.device_count()))


def tensorflow_devices(tf, notes):
    counts = {}
    for each in tf.config.list_physical_devices():
        kind = each.device_type
        number = counts[kind] = counts.get(kind, -1) + 1
        if kind != "CPU":
            details = guarded([], tf.config.experimental.get_device_details, each) or {}
            name = str(details.get("device_name") or each.name)
            yield device("tf:%s:%d" % (kind, number), name, compute_capability=details.get("compute_capability"))


def onnxruntime_devices(ort, notes):
    names = ort.get_available_providers()
    return (device("ort:" + name, name) for name in names if name not in ("CPUExecutionProvider", "AzureExecutionProvider"))


def openvino_devices(ov, notes):
    core = ov.Core()
    for name in core.available_devices:
        called, does, memory = (guarded([], core.get_property, name, key) if key else None for key in (
            "FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES", name.startswith("GPU") and "GPU_DEVICE_TOTAL_MEM_SIZE"))
        yield device("openvino:" + name, str(called or name), memory, optimization=list(does or []))


def openvino_graph(ov, device):
    """'compiled', or why a graph of one operation cannot be compiled for a device."""
    import importlib

    try:
        within = "openvino" if hasattr(ov, "Model") else "openvino.runtime"  # the second up to 2022
        home, operations = importlib.import_module(within), importlib.import_module(within + ".opset8")
        given = operations.parameter([1, 16], home.Type.f32)
        home.Core().compile_model(home.Model([operations.relu(given)], [given], "one_operation"), device)
    except Exception as error:  # noqa: BLE001
        return chain(error)
    return "compiled"


def jax_devices(jax, notes):
    return (device("jax:%s:%d" % (d.platform, d.id), str(d.device_kind)) for d in jax.devices() if d.platform != "cpu")


def poptorch_devices(poptorch, notes):
    return [device("ipu:0", "IPU")] if poptorch.ipuHardwareIsAvailable() else []


def build(name, module, version, notes):
    """The fields `build` and `config` of a framework that has them."""
    if name == "torch":
        return {"build": torch_build(module), "config": guarded(notes, torch_config, module)}
    if name == "tensorflow":
        config = {k: str(v) for k, v in (guarded(notes, module.sysconfig.get_build_info) or {}).items()}
        return {"build": next((kind for kind in ("cuda", "rocm") if config.get("is_%s_build" % kind) == "True"), "cpu"), "config": config}
    if name == "onnxruntime":
        return {"build": str(guarded(notes, module.get_device) or ""), "config": {"providers": guarded(notes, module.get_available_providers)}}
    if name == "intel_extension_for_pytorch":
        has_xpu = getattr(module, "_C", None) and getattr(module, "has_xpu", None) or (lambda: "xpu" in str(version))
        return {"build": "xpu" if guarded(notes, has_xpu) else "cpu"}
    return {}


def inspect(name):
    import importlib
    import warnings

    notes = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        say(stage="import")
        if name in ("intel_extension_for_pytorch", "torch_directml", "pytorch_ocl", "xformers", "bitsandbytes", "poptorch"):
            torch = importlib.import_module("torch")
        module = importlib.import_module(name)
        version = getattr(module, "__version__", None)
        result = {"imported": True, "version": None if version is None else str(version), "file": getattr(module, "__file__", None)}
        say(stage="imported", **result, **build(name, module, version, notes))
        lists = name.replace("intel_extension_for_pytorch", "torch").replace("torch_directml", "directml") + "_devices"
        if NO_DEVICE:
            say(stage="devices", devices_skipped="device busy")
        elif lists in globals():
            try:
                devices = list(globals()[lists](torch if name == "intel_extension_for_pytorch" else module, notes))
                say(stage="devices", devices=devices)
                if any(each["id"].startswith("openvino:NPU") for each in devices):
                    say(stage="graph")
                    say(stage="graph", npu_graph=openvino_graph(module, "NPU"))
            except Exception as error:  # noqa: BLE001
                say(stage="devices", device_error=chain(error))
        notes += [str(warning.message)[:600] for warning in caught]
    say(stage="done", libraries=libraries(), notes=notes[:20], machine=os.uname().machine if hasattr(os, "uname") else "",
        bits=64 if sys.maxsize > 2 ** 32 else 32, python=".".join(map(str, sys.version_info[:3])))


try:
    inspect(ARGUMENT)
except BaseException as error:  # noqa: B036  (SystemExit too: some frameworks leave when versions do not fit)
    say(stage="failed", error={"kind": "exception", "name": type(error).__name__, "message": chain(error)[:6000]}, libraries=libraries())
sys.stdout.flush()
sys.stderr.flush()
# Unloading a framework costs time and may crash, and everything has been printed.
os._exit(0)
