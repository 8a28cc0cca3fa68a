"""Environment variables that change what GPU software does."""

from __future__ import annotations

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Facts, FactSpec, Known
from gpudoctor.system.host import Host

RELEVANT = (
    "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "PWD", "HOME", "USER", "SHELL", "DISPLAY", "XDG_SESSION_TYPE", "LANG",
    "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL",
    "CMPLR_ROOT", "MKLROOT", "CCL_ROOT", "TBBROOT", "DPCPP_ROOT", "DNNLROOT", "SETVARS_COMPLETED", "I_MPI_ROOT",
    "OverrideDefaultFP64Settings", "IGC_EnableDPEmulation", "EnableImplicitScaling", "NEOReadDebugKeys", "PrintDebugMessages",
    "CreateMultipleSubDevices", "AllowUnrestrictedSize", "DirectSubmissionRelaxedOrdering", "UseKmdMigration",
    "WSL_DISTRO_NAME", "WSL_INTEROP", "WSLENV", "container", "KUBERNETES_SERVICE_HOST", "HOSTNAME",
    "ROCM_PATH", "ROCM_HOME", "AMD_LOG_LEVEL", "AMD_SERIALIZE_KERNEL", "MIOPEN_DEBUG_CONV_GEMM", "PJRT_DEVICE", "BIGDL_IMPORT_IPEX",
    "DATASET_DIR", "DATA_DIR", "DATASET", "DATASET_PATH", "DATA_PATH", "DATA_ROOT", "TORCH_HOME", "HF_HOME", "HF_DATASETS_CACHE",
    "IMAGENET_DIR", "KAGGLEHUB_CACHE", "KERAS_HOME", "TFDS_DATA_DIR", "FIFTYONE_DATASET_DIR",
    "OS", "SystemRoot", "USERPROFILE", "LOCALAPPDATA", "PROCESSOR_ARCHITECTURE", "CUPY_CACHE_DIR", "TRITON_CACHE_DIR",
    "VLLM_ATTENTION_BACKEND", "VLLM_USE_V1", "VLLM_PLUGINS", "VLLM_PORT", "VLLM_CPU_KVCACHE_SPACE", "FLASHINFER_DISABLE_VERSION_CHECK",
    "COMFYUI_PATH",
)  # fmt: skip
PREFIXES = (
    "CUDA_", "CUDNN_", "CUBLAS_", "NCCL_", "NVIDIA_", "NVCC_", "NV_", "HIP_", "ROCR_", "ROC_", "HSA_", "RCCL_", "MIOPEN_",
    "GPU_", "AMDGPU_",
    "ONEAPI_", "ZE_", "ZES_", "ZET_", "ZEL_", "SYCL_", "UR_", "PI_", "IPEX_", "DNNL_", "ONEDNN_", "CCL_", "BIGDL_", "OPENVINO_", "INTEL_",
    "OCL_", "OPENCL_", "POCL_", "RUSTICL_", "LIBGL_", "MESA_", "DXCORE_", "DML_", "TFDML_", "DIRECTML_",
    "POPLAR_", "POPART_", "POPTORCH_", "IPUOF_", "GCDA_", "GC_", "VIPU_", "GRAPHCORE_", "POPSDK_",
    "CONDA_", "PYTORCH_", "TORCH_", "TORCHINDUCTOR_", "TF_", "XLA_", "JAX_", "OMP_", "KMP_", "MKL_", "ORT_", "ORTMODULE_", "SLURM_", "USE_",
    "OLLAMA_", "GGML_", "LLAMA_ARG_", "LLAMA_CPP_", "OpenCL_", "PLAIDML_", "VK_", "MPS_", "CL_", "ACCELERATE_",
)  # fmt: skip


def collect(host: Host, facts: Facts) -> Collected:
    """One complete map: of RELEVANT and the names that begin with one of PREFIXES, those that are not in it are not set."""
    names = {name for prefix in PREFIXES for name in host.env_names(prefix)} | set(RELEVANT)
    found: dict[str, str] = {}
    for name in sorted(names):
        value = host.env(name)
        if value is not None:
            found[name] = value
    yield "env", Known(found, "environment")


PROBE = Probe("environment", (FactSpec("env", "map", "environment variables that matter to GPU software", privacy="identifying"),), collect)
