"""The stories of the recorded Macs, and of a container on one, whose environment is made for the Neural Engine."""

from __future__ import annotations

from machine_builder import Machine

SEEN = {"imported": True, "error": None}
SITE = "/Users/user/venv/lib/python3.11/site-packages"
MODULE = f"{SITE}/coremltools/libcoremlpython.so"
TOOLS = {"coremltools": "8.3.0", "numpy": "2.1.0"}
CORE_ML = ("CoreMLExecutionProvider", "AzureExecutionProvider", "CPUExecutionProvider")
PROCESSOR = ("AzureExecutionProvider", "CPUExecutionProvider")


def offers(version: str, *providers: str) -> dict[str, object]:
    devices = [{"id": f"ort:{name}", "name": name} for name in providers]
    return {"onnxruntime": {**SEEN, "version": version, "devices": devices, "config": {"providers": list(providers)}}}


def mac(name: str, chip: str = "Apple M4", system: str = "15.5", *, native: bool | None = None, **given: str) -> Machine:
    """A Mac. `native`: whether its coremltools holds the module for Core ML; None for none."""
    machine = Machine(name, platform="macos").mac(chip, system, **given)
    if native is not None:
        machine.file(f"{SITE}/coremltools/__init__.py").file(f"{SITE}/coremltools/version.py")
    return machine.file(MODULE) if native else machine


APPLE_MACHINES = (
    mac("macos-m4-coremltools-healthy", native=True).environment_of(TOOLS).expect(apple_ane="ok", torch_mps="incomplete"),
    mac("macos-m1-coremltools-without-library", "Apple M1 Pro", "14.7", native=False)
    .environment_of(TOOLS)
    .expect(["coremltools-library-missing"], "apple-ane/framework", apple_ane="broken"),
    mac("macos-m2-coremltools-rosetta", "Apple M2", "14.7", native=True, machine="x86_64", translated="1")
    .environment_of(TOOLS)
    .expect(["mps-python-under-rosetta"], "torch-mps/framework", apple_ane="ok"),
    mac("macos-intel-coremltools", "Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz", "14.7", native=True, machine="x86_64")
    .environment_of(TOOLS)
    .expect(never=["coremltools-library-missing", "mps-python-under-rosetta"], apple_ane="not-applicable"),
    mac("macos-m4-onnxruntime-healthy")
    .environment_of({"onnxruntime": "1.23.2", "numpy": "2.1.0"}, offers("1.23.2", *CORE_ML))
    .expect(apple_ane="ok", onnxruntime="ok"),
    mac("macos-m1-onnxruntime-before-core-ml", "Apple M1", "13.6")
    .environment_of({"onnxruntime": "1.16.3", "numpy": "1.26.4"}, offers("1.16.3", *PROCESSOR))
    .expect([], "", ["onnxruntime-without-core-ml"], apple_ane="incomplete"),
    mac("macos-m3-onnxruntime-two-wheels", "Apple M3", "14.7")
    .environment_of({"onnxruntime": "1.16.3", "onnxruntime-silicon": "1.16.3", "numpy": "1.26.4"}, offers("1.16.3", *PROCESSOR))
    .expect(
        ["onnxruntime-packages-overwrite-each-other", "onnxruntime-provider-not-offered", "onnxruntime-without-core-ml"],
        "onnxruntime/framework", apple_ane="broken", onnxruntime="broken",
    ),
    Machine("container-on-a-mac-coremltools", platform="container")
    .linux("debian 12", "6.10.14-linuxkit")
    .file("/.dockerenv")
    .environment_of(TOOLS)
    .expect([], "", ["coremltools-predicts-on-macos-only"], ["coremltools-library-missing"], apple_ane="not-applicable"),
)  # fmt: skip
