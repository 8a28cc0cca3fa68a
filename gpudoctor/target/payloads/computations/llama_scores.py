"""llama.cpp through llama-cpp-python: a model of random weights reads a few tokens, and its scores are compared with float64 in numpy.

The model and the reference are those of the measurements (workloads/llama_model.py, llama_reference.py).
"""
import importlib
import os
import sys
import tempfile

TOKENS = 12
TOLERANCE = 1e-2
"""ggml rounds to float16 in each product, which twelve layers make 5e-4 of; a wrong kernel is off by 1 and more."""
ALL_LAYERS = 999


def run(tools, framework, wanted):
    import llama_cpp

    tools.say(stage="import", version=str(llama_cpp.__version__))
    tools.say(stage="device")
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    sys.path.insert(0, os.path.join(folder, "workloads"))
    model, reference = importlib.import_module("llama_model"), importlib.import_module("llama_reference")
    gpu = llama_cpp.llama_supports_gpu_offload()
    tools.say(stage="device", ok=True, device="llama:0" if gpu else "llama:cpu", name="")
    tools.say(stage="allocate")
    with tempfile.TemporaryDirectory() as temporary:
        path = model.kept(temporary, "float16")
        loaded = llama_cpp.Llama(
            path, n_ctx=256, n_gpu_layers=ALL_LAYERS if gpu else 0, verbose=False, use_mmap=False,
        )
    tools.say(stage="compute")
    tokens = model.prompt(TOKENS)
    loaded.eval(tokens)
    got = [float(number) for number in llama_cpp.llama_get_logits_ith(loaded.ctx, -1)[: model.VOCABULARY]]
    tools.say(stage="compare")
    tools.TOLERANCE = TOLERANCE
    tools.conclude([("scores", got, [float(number) for number in reference.scores(tokens)[-1]])])
