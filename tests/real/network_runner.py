"""Runs in a real environment: `python network_runner.py BACKEND WORKLOADS FOLDER < cases.json`, one JSON line per case.

torch computes each case and leaves its outputs in FOLDER; onnxruntime and openvino compute the same from an ONNX file and compare;
onnx checks the file; training compares gradients with float64's and takes a few steps.
"""

import json
import os
import sys
import time

BACKEND, WORKLOADS, FOLDER = sys.argv[1:4]
sys.path.insert(0, WORKLOADS)

import networks  # noqa: E402
import numpy  # noqa: E402
import weights  # noqa: E402


def file_of(case, end):
    return os.path.join(FOLDER, case["key"] + end)


def errors(case, outputs):
    """Largest |got - wanted| over the largest |wanted|, of each output."""
    with numpy.load(os.path.join(FOLDER, case.get("of", case["key"]) + ".npz")) as kept:
        wanted = [kept[name] for name in kept.files]
    assert [each.shape for each in outputs] == [each.shape for each in wanted]
    assert all(numpy.isfinite(each).all() for each in outputs)
    return [float(numpy.abs(got - right).max() / numpy.abs(right).max()) for got, right in zip(outputs, wanted, strict=True)]


def given(case, network):
    """The inputs in the precision of the case."""
    floats = {each.name for each in network.inputs if each.kind == "float"}
    dtype = case.get("dtype", "float32")
    return {name: value.astype(dtype) if name in floats else value for name, value in weights.inputs(network).items()}


def with_torch(case, network):
    import torch
    import torch_networks
    from torch.utils.flop_counter import FlopCounterMode

    begun = time.time()
    # the counter does not see the attention kernel of the CPU: it is spelled out here, and with_attention compares the two
    module = torch_networks.build(network, fused_attention=False, first_values=not case.get("count")).eval()
    built = time.time() - begun
    parameters = sum(each.numel() for each in module.parameters())
    if case.get("count"):
        return {"parameters": parameters}
    largest = {}

    def watch(_, __, output):
        largest[""] = max(largest.get("", 0.0), float(output.detach().abs().max()))

    for child in module.children():
        child.register_forward_hook(watch)
    tensors = torch_networks.inputs(network)
    begun = time.time()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        found = module(*tensors)
    found = found if isinstance(found, tuple) else (found,)
    numpy.savez(file_of(case, ".npz"), *[each.numpy() for each in found])
    same = [bool(numpy.array_equal(each.numpy(), wanted)) for each, wanted in zip(tensors, weights.inputs(network).values(), strict=True)]
    return {
        "build_s": built,
        "run_s": time.time() - begun,
        "parameters": parameters,
        "shapes": [list(each.shape) for each in found],
        "flop": counter.get_total_flops(),
        "same_inputs": all(same),
        "largest": largest[""],
        "spread": [float(each.std()) for each in found],
        "differ": [bool((each[0] != each[-1]).any()) for each in found],
    }


def with_training(case, network):
    import torch
    import torch.fx
    import torch_networks
    from torch.nn.functional import cross_entropy

    def gradients(dtype, memory_format):
        module = torch_networks.build(network, dtype=dtype, dropout=False).train().to(memory_format=memory_format)
        (images,) = torch_networks.inputs(network, dtype=dtype)
        loss = cross_entropy(module(images.to(memory_format=memory_format)), labels)
        loss.backward()
        return module, [each.grad.double() for each in module.parameters()]

    labels = torch_networks.labels(network.inputs[0].shape[0], 10)
    _, exact = gradients(torch.float64, torch.contiguous_format)
    errors = {}
    # Some gradients are zero but for rounding: of a shift that the next batch norm takes away again.
    floor = 1e-3 * max(float(right.norm()) for right in exact)
    for memory_format in (torch.contiguous_format, torch.channels_last):
        module, found = gradients(torch.float32, memory_format)
        off = [float((got - right).norm() / max(float(right.norm()), floor)) for got, right in zip(found, exact, strict=True)]
        errors[str(memory_format)] = max(off)
    optimizer, losses = torch.optim.SGD(module.parameters(), lr=case["rate"]), []
    for _ in range(6):
        optimizer.zero_grad()
        loss = cross_entropy(module(*torch_networks.inputs(network)), labels)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    module.eval()
    (images,) = torch_networks.inputs(network)
    with torch.no_grad():
        right, traced = module(images), (torch.fx.symbolic_trace(module), torch.jit.trace(module, (images,)))
        same = all(bool(torch.allclose(each(images), right, atol=1e-5)) for each in traced)
    return {"gradients": errors, "losses": losses, "traced": same}


def with_attention(case, network):
    """torch's own attention against the one spelled out, and a batch and length for which the module was not drawn."""
    import torch
    import torch_networks

    fused, plain = (torch_networks.build(network, fused_attention=fused).eval() for fused in (True, False))
    other = networks.draw(case["name"], **case["other"])
    with torch.no_grad():
        tensors = torch_networks.inputs(other)
        found, wanted = (each if isinstance(each, tuple) else (each,) for each in (fused(*tensors), plain(*tensors)))
        return {"error": float(max((a - b).abs().max() / b.abs().max() for a, b in zip(found, wanted, strict=True)))}


def onnx_file(case, network):
    import onnx_networks

    begun = time.time()
    paths = onnx_networks.write(network, file_of(case, ".onnx"), opset=case.get("opset", 13), dtype=case.get("dtype", "float32"))
    return paths, time.time() - begun


def with_onnxruntime(case, network):
    import onnxruntime as ort

    paths, written = onnx_file(case, network)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    begun = time.time()
    session = ort.InferenceSession(paths[0], options, providers=["CPUExecutionProvider"])
    loaded = time.time() - begun
    outputs = session.run(None, given(case, network))
    return {"write_s": written, "load_s": loaded, "errors": errors(case, outputs), "paths": paths}


def with_openvino(case, network):
    import openvino

    paths, written = onnx_file(case, network)
    begun = time.time()
    model = openvino.Core().compile_model(paths[0], "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    loaded = time.time() - begun
    found = model(given(case, network))
    outputs = [found[place] for place in range(len(network.outputs))]
    return {"write_s": written, "load_s": loaded, "errors": errors(case, outputs), "paths": paths}


def with_onnx(case, network):
    import onnx

    paths, _ = onnx_file(case, network)
    onnx.checker.check_model(paths[0], full_check=True)
    model = onnx.load(paths[0], load_external_data=False)
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    known = {each.name: tuple(side.dim_value for side in each.type.tensor_type.shape.dim) for each in inferred.graph.value_info}
    return {"values": {name: list(shape) for name, shape in known.items()}, "opset": model.opset_import[0].version, "paths": paths}


def main():
    run = {
        "torch": with_torch,
        "onnxruntime": with_onnxruntime,
        "openvino": with_openvino,
        "onnx": with_onnx,
        "training": with_training,
        "attention": with_attention,
    }[BACKEND]
    for case in json.load(sys.stdin):
        network = networks.draw(case["name"], **case.get("options", {}))
        found = run(case, network)
        for path in found.pop("paths", []):
            os.remove(path)
        print(json.dumps({"key": case["key"], **found}), flush=True)  # noqa: T201


main()
