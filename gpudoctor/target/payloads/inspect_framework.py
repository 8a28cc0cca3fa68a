"""Runs in the target interpreter: imports one framework and reports its build, the libraries that it loaded and the devices that it lists.

It uses the standard library alone, runs under Python 3.6 and newer, and imports nothing from gpudoctor. Usage: python inspect_framework.py NAME
Each stage prints one line of JSON on the real standard output, so that the output of a crashed run shows how far it came.
What the framework prints goes to standard error. GPUDOCTOR_NO_DEVICE=1 in the environment: no devices are listed.
"""
import json
import os
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

WATCHED = (
    "libcuda", "libcudart", "libcudnn", "libcublas", "libcufft", "libnccl", "libnvidia-ml", "libnvrtc", "libnvJitLink",
    "libsycl", "libze_loader", "libze_intel_gpu", "libur_loader", "libpi_", "libOpenCL", "libigdrcl", "libamdhip64", "libhsa-runtime64",
    "librocblas", "libMIOpen", "libstdc++", "libtorch_", "libtorch.", "libmkl_", "libiomp5", "libgomp", "libomp", "libtbb", "libccl",
    "libdirectml", "libd3d12", "libdxcore", "libpoplar", "libpopart", "libopenvino", "libonnxruntime", "libtensorflow", "libdnnl",
)


def say(**what):
    data = (MARK + json.dumps(what, default=str) + "\n").encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(SAID, data):]


def origin(path):
    prefix = os.path.realpath(sys.prefix)
    if "/stubs/" in path:
        return "stub"
    if path.startswith("/usr/lib/wsl/"):
        return "wsl"
    if "/site-packages/" in path or "/dist-packages/" in path:
        return "wheel"
    if os.path.isdir(os.path.join(prefix, "conda-meta")) and path.startswith(prefix + "/"):
        return "conda"
    # sycl, umf and mkl wheels put their libraries straight into the environment's lib folder
    if os.path.exists(os.path.join(prefix, "pyvenv.cfg")) and path.startswith(prefix + "/lib/"):
        return "wheel"
    if "/oneapi/" in path:
        return "oneapi"
    if path.startswith(("/usr/local/cuda", "/opt/rocm", "/opt/cuda", "/opt/poplar", "/opt/nvidia", "/opt/intel/openvino")) or "/poplar" in path:
        return "toolkit"
    return "system"


def libraries():
    found = {}
    try:
        with open("/proc/self/maps", errors="replace") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")[2]
                if path and ".so" in path:
                    path = "/" + path
                    name = path.rpartition("/")[2]
                    if name.startswith(WATCHED) and path not in found:
                        found[path] = {"soname": name, "path": path, "origin": origin(path)}
    except OSError:
        return []
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
    version = torch.version
    for name, label in (("hip", "rocm"), ("cuda", "cuda"), ("xpu", "xpu")):
        value = getattr(version, name, None)
        if value:
            return "%s %s" % (label, value)
    if getattr(getattr(torch, "xpu", None), "_is_compiled", lambda: False)():
        return "xpu"
    if sys.platform == "darwin" and getattr(torch.backends, "mps", None) is not None and torch.backends.mps.is_built():
        return "mps"
    return "cpu"


def torch_config(torch):
    return {
        "cuda": getattr(torch.version, "cuda", None), "hip": getattr(torch.version, "hip", None),
        "xpu": getattr(torch.version, "xpu", None), "debug": getattr(torch.version, "debug", None),
        "git_version": getattr(torch.version, "git_version", None),
        "cxx11_abi": bool(torch._C._GLIBCXX_USE_CXX11_ABI),
        "arch_list": (torch._C._cuda_getArchFlags() or "").split() if hasattr(torch._C, "_cuda_getArchFlags") else [],
        "numpy": "ok" if getattr(torch._C, "_numpy_initialized", True) else "no",
    }


def torch_devices(torch, notes):
    found = []
    if (torch.version.cuda or torch.version.hip) and guarded(notes, torch.cuda.is_available):
        arches = torch.cuda.get_arch_list()
        for index in range(torch.cuda.device_count()):
            p = torch.cuda.get_device_properties(index)
            capabilities = {"arch": getattr(p, "gcnArchName", None) or "sm_%d%d" % (p.major, p.minor), "arch_list": arches, "fp64": True}
            capabilities["bf16"] = bool(torch.version.hip) or p.major >= 8
            found.append({"id": "cuda:%d" % index, "name": p.name, "memory_bytes": p.total_memory, "capabilities": capabilities})
    xpu = getattr(torch, "xpu", None)
    if xpu is not None and hasattr(xpu, "is_available") and guarded(notes, xpu.is_available):
        for index in range(xpu.device_count()):
            p = xpu.get_device_properties(index)
            capabilities = {name: getattr(p, key) for name, key in (
                ("fp64", "has_fp64"), ("fp16", "has_fp16"), ("driver", "driver_version"), ("arch", "architecture"),
                ("platform", "platform_name"), ("max_alloc", "max_mem_alloc_size")) if hasattr(p, key)}
            found.append({"id": "xpu:%d" % index, "name": p.name, "memory_bytes": getattr(p, "total_memory", None), "capabilities": capabilities})
    mps = getattr(torch.backends, "mps", None)
    if sys.platform == "darwin" and mps is not None and guarded(notes, mps.is_available):
        found.append({"id": "mps", "name": "Apple GPU", "memory_bytes": None, "capabilities": {"fp64": False}})
    return found


def directml_devices(module):
    return [{"id": "dml:%d" % i, "name": module.device_name(i).rstrip("\0 "), "memory_bytes": None, "capabilities": {}}
            for i in range(module.device_count())]


def tensorflow_devices(tf):
    found, counts = [], {}
    for device in tf.config.list_physical_devices():
        kind = device.device_type
        number = counts[kind] = counts.get(kind, -1) + 1
        if kind != "CPU":
            details = guarded([], tf.config.experimental.get_device_details, device) or {}
            found.append({"id": "tf:%s:%d" % (kind, number), "name": str(details.get("device_name") or device.name), "memory_bytes": None,
                          "capabilities": {"compute_capability": details.get("compute_capability")}})
    return found


def onnxruntime_devices(ort):
    return [{"id": "ort:%s" % name, "name": name, "memory_bytes": None, "capabilities": {}}
            for name in ort.get_available_providers() if name not in ("CPUExecutionProvider", "AzureExecutionProvider")]


def openvino_devices(ov):
    core, found = ov.Core(), []
    for name in core.available_devices:
        capabilities = {"optimization": list(guarded([], core.get_property, name, "OPTIMIZATION_CAPABILITIES") or [])}
        found.append({"id": "openvino:%s" % name, "name": str(guarded([], core.get_property, name, "FULL_DEVICE_NAME") or name),
                      "memory_bytes": guarded([], core.get_property, name, "GPU_DEVICE_TOTAL_MEM_SIZE") if name.startswith("GPU") else None,
                      "capabilities": capabilities})
    return found


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


def jax_devices(jax):
    return [{"id": "jax:%s:%d" % (d.platform, d.id), "name": str(d.device_kind), "memory_bytes": None, "capabilities": {}}
            for d in jax.devices() if d.platform != "cpu"]


def poptorch_devices(poptorch):
    return [{"id": "ipu:%d" % i, "name": "IPU", "memory_bytes": None, "capabilities": {}}
            for i in range(1 if poptorch.ipuHardwareIsAvailable() else 0)]


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
        if name == "torch":
            result["build"] = torch_build(module)
            result["config"] = guarded(notes, torch_config, module)
        elif name == "tensorflow":
            result["config"] = {k: str(v) for k, v in (guarded(notes, module.sysconfig.get_build_info) or {}).items()}
            result["build"] = "cuda" if str(result["config"].get("is_cuda_build")) == "True" else (
                "rocm" if str(result["config"].get("is_rocm_build")) == "True" else "cpu")
        elif name == "onnxruntime":
            result["config"] = {"providers": guarded(notes, module.get_available_providers)}
            result["build"] = str(guarded(notes, module.get_device) or "")
        elif name == "intel_extension_for_pytorch":
            result["build"] = "xpu" if guarded(notes, getattr(module, "_C", None) and getattr(module, "has_xpu", None) or (lambda: "xpu" in str(version))) else "cpu"
        say(stage="imported", **result)
        listing = {
            "torch": lambda: torch_devices(module, notes), "intel_extension_for_pytorch": lambda: torch_devices(torch, notes),
            "torch_directml": lambda: directml_devices(module), "tensorflow": lambda: tensorflow_devices(module),
            "onnxruntime": lambda: onnxruntime_devices(module), "openvino": lambda: openvino_devices(module),
            "jax": lambda: jax_devices(module), "poptorch": lambda: poptorch_devices(module),
        }.get(name)
        if NO_DEVICE:
            say(stage="devices", devices_skipped="device busy")
        elif listing is not None:
            try:
                devices = listing()
                say(stage="devices", devices=devices)
                if any(device["id"].startswith("openvino:NPU") for device in devices):
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
