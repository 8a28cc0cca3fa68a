"""One training step of a small network with torch, on whatever device: outputs, gradients and new weights against float64 on the CPU."""
import os
import sys

RATE = 0.05
BATCH, CHANNELS, SIDE, FILTERS, CLASSES = 4, 3, 8, 8, 10
MODULES = {"ipex": "intel_extension_for_pytorch", "torch-directml": "torch_directml", "torch-opencl": "pytorch_ocl"}


def run(tools, framework, wanted):
    try:
        import torch

        # IPEX must be imported right after torch
        module = __import__(MODULES[framework]) if framework in MODULES else torch
    except (ImportError, OSError) as problem:
        if "libdxcore" in str(problem) or "libd3d12" in str(problem):
            without_door(tools, "there is no /dev/dxg")  # WSL brings both, with its device
        raise
    tools.say(stage="import", version=str(getattr(module, "__version__", "") or torch.__version__))
    tools.say(stage="device")
    device, wait = DEVICES[framework](tools, torch, module, wanted)
    for options in (getattr(torch.backends.cuda, "matmul", None), getattr(torch.backends, "cudnn", None)):
        if options is not None:
            options.allow_tf32 = False
    tools.say(stage="allocate")
    where = torch.empty(1).to(device).device
    net = network(tools, torch).float().to(device)
    inputs, target = (data.float().to(device) for data in examples(tools, torch))
    wait()
    tools.say(stage="compute")
    got = step(torch, net, inputs, target, where)
    wait()
    tools.say(stage="compare")
    tools.conclude([(name, values, right) for (name, values), (_, right) in zip(got, reference(tools, torch))])


def network(tools, torch):
    net = torch.nn.Sequential(torch.nn.Conv2d(CHANNELS, FILTERS, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(),
                              torch.nn.Linear(FILTERS * SIDE * SIDE, CLASSES)).double()
    with torch.no_grad():
        for shift, weights in enumerate(net.parameters()):
            values = (tools.biases if weights.dim() == 1 else tools.pattern)(weights.numel(), shift)
            weights.copy_(torch.tensor(values, dtype=torch.float64).reshape(weights.shape))
    return net


def examples(tools, torch):
    inputs = torch.tensor(tools.pattern(BATCH * CHANNELS * SIDE * SIDE, 5), dtype=torch.float64).reshape(BATCH, CHANNELS, SIDE, SIDE)
    return inputs, torch.tensor(tools.pattern(BATCH * CLASSES, 6), dtype=torch.float64).reshape(BATCH, CLASSES)


def step(torch, net, inputs, target, where=None):
    """[(name, numbers)] after one step of plain SGD, written out because torch.optim loads the compiler, which takes seconds."""
    output = net(inputs)
    difference = output - target
    loss = (difference * difference).mean()
    loss.backward()
    kept = [("output", output), ("loss", loss)]
    kept += [("gradient %d" % i, weights.grad) for i, weights in enumerate(net.parameters())]
    with torch.no_grad():
        for i, weights in enumerate(net.parameters()):
            weights.sub_(weights.grad * RATE)
            kept.append(("weights %d" % i, weights))
    strayed = [name for name, tensor in kept if where is not None and tensor.device != where]
    if strayed:
        raise RuntimeError("%s was not computed on %s" % (strayed[0], where))
    return [(name, numbers(tensor)) for name, tensor in kept]


def numbers(tensor):
    """A flat list of floats; the tensor is widened to float64 only on the CPU, because many devices have no float64."""
    return tensor.detach().cpu().double().reshape(-1).tolist()


def reference(tools, torch):
    return step(torch, network(tools, torch), *examples(tools, torch))


def on_cpu(tools, torch, module, wanted):
    tools.has(wanted, [{"id": "cpu", "name": tools.cpu_name()}])
    return "cpu", lambda: None


def on_cuda(tools, torch, module, wanted):
    if not torch.version.cuda:
        raise RuntimeError("this torch %s is not built for CUDA" % torch.__version__)
    return cuda_like(tools, torch, wanted, "NVIDIA GPU", "0x10de")


def on_rocm(tools, torch, module, wanted):
    if not getattr(torch.version, "hip", None):
        raise RuntimeError("this torch %s is not built for ROCm" % torch.__version__)
    return cuda_like(tools, torch, wanted, "AMD GPU", "0x1002")


def cuda_like(tools, torch, wanted, what, vendor):
    if not torch.cuda.is_available() or not torch.cuda.device_count():
        tools.none_listed(what, "torch.cuda", tools.card(vendor))
    entry = tools.has(wanted, [{"id": "cuda:%d" % i, "name": torch.cuda.get_device_name(i)} for i in range(torch.cuda.device_count())])
    return entry["id"], torch.cuda.synchronize


def on_xpu(tools, torch, module, wanted):
    xpu = getattr(torch, "xpu", None)
    compiled = getattr(xpu, "_is_compiled", None)
    if xpu is None or (module is torch and compiled is not None and not compiled()):
        raise RuntimeError("this torch %s is not built for XPU" % torch.__version__)
    if not xpu.is_available() or not xpu.device_count():
        tools.none_listed("Intel GPU", "torch.xpu", tools.card("0x8086"))
    entry = tools.has(wanted, [{"id": "xpu:%d" % i, "name": xpu.get_device_name(i)} for i in range(xpu.device_count())])
    return entry["id"], xpu.synchronize


def on_directml(tools, torch, module, wanted):
    try:
        count = module.device_count()
    except Exception as problem:  # noqa: BLE001
        without_door(tools, "torch_directml says %s" % str(problem).split("\n")[0][:120])
        raise
    if not count:
        without_door(tools, "torch_directml lists none")
        raise RuntimeError("torch_directml lists no device")
    entry = tools.has(wanted, [{"id": "dml:%d" % i, "name": module.device_name(i).rstrip("\0 ")} for i in range(count)])
    return module.device(tools.number_of(entry["id"])), lambda: None


def on_old_directml(tools, torch, module, wanted):
    without_door(tools, "there is no /dev/dxg")
    # the 1.8 fork cannot list its devices, so a first tensor shows whether there is one
    tools.has("", [{"id": wanted or "dml", "name": "DirectX 12 device"}])
    return wanted or "dml", lambda: None


def without_door(tools, reason):
    """Says that there is no device: DirectX exists on Windows and behind WSL's /dev/dxg only."""
    if sys.platform != "win32" and not os.path.exists("/dev/dxg"):
        raise tools.NoDevice("no DirectX 12 GPU here: %s" % reason)


def on_ocl(tools, torch, module, wanted):
    count = opencl_devices()
    if not count:
        tools.none_listed("OpenCL device", "the OpenCL loader")
    # pytorch_ocl names the device only in a line that it prints at the first tensor: 'Accessing device #0:NAME on PLATFORM'
    entry = tools.has(wanted, [{"id": "ocl:%d" % i, "name": ""} for i in range(count)])
    return entry["id"], getattr(getattr(torch, "ocl", None), "synchronize", lambda: None)


def opencl_devices():
    """The devices of all platforms, in the order in which pytorch_ocl numbers them."""
    from ctypes import CDLL, byref, c_uint, c_ulong, c_void_p

    count, total = c_uint(0), 0
    loader = CDLL("OpenCL.dll" if sys.platform == "win32" else "libOpenCL.so.1")
    if loader.clGetPlatformIDs(0, None, byref(count)):
        return 0
    platforms = (c_void_p * count.value)()
    loader.clGetPlatformIDs(count, platforms, None)
    for platform in platforms:
        count = c_uint(0)
        loader.clGetDeviceIDs(c_void_p(platform), c_ulong(0xFFFFFFFF), 0, None, byref(count))
        total += count.value
    return total


def on_mps(tools, torch, module, wanted):
    mps = getattr(torch.backends, "mps", None)
    if mps is None or not mps.is_built():
        raise RuntimeError("this torch %s is not built for Metal" % torch.__version__)
    if not mps.is_available():
        tools.none_listed("Apple GPU", "torch.backends.mps")
    tools.has(wanted, [{"id": "mps", "name": "Apple GPU"}])
    return "mps", torch.mps.synchronize if hasattr(torch, "mps") else lambda: None


DEVICES = {
    "torch-cpu": on_cpu, "torch-cuda": on_cuda, "torch-rocm": on_rocm, "torch-xpu": on_xpu, "ipex": on_xpu, "torch-directml": on_directml,
    "pytorch-directml": on_old_directml, "torch-opencl": on_ocl, "torch-mps": on_mps,
}
