"""The probes, one module for each subject. `ALL` is the order in which they run."""

ALL = (
    "machine", "kernel", "environment", "wsl", "windows", "macos", "container", "user", "packages", "libraries",
    "pci", "gpus", "gpu_files", "memory", "filesystems", "kernel_log", "npu", "rdma",
    "python_env", "interpreters",
    "nvidia", "amd", "device_memory", "intel", "intel_oneapi", "drm_clients", "gpu_links", "opencl", "vulkan", "graphcore",
    "setup_folder", "directml",
    "ollama", "llama_cpp", "llama_cpp_devices",
    "frameworks",
    "vllm", "comfyui", "core_ml",
    "looked_at",
)  # fmt: skip
