"""Facts computed from facts: pure, no host. `ALL` is the order in which they run."""

ALL = (
    "torch_build", "system", "python_mix", "pairs", "ipex", "intel", "nvidia", "cuda", "amd", "zluda", "opencl", "vulkan", "device_memory",
    "graphcore", "visible", "npu", "network", "ollama", "llama_cpp",
    "torch_index", "missing", "onnxruntime", "directml", "setup", "setup_intel", "setup_ipex", "setup_onnxruntime",
    "setup_torch", "setup_cuda", "setup_rocm", "setup_opencl", "setup_poplar", "setup_models", "sides", "measured",
    "vllm", "comfyui",
)  # fmt: skip
