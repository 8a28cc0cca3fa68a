"""Tables that docs/env_script.py takes from the probes and checks; not to be changed by hand."""

from __future__ import annotations

import re

LIBRARIES = re.compile(
    r"^lib(cuda|nvidia|nvml|OpenCL|ze_|igd|igc|iga|igdgmm|sycl|ur_|pi_|d3d12|dxcore|directml|hsa|amdhip|amdocl|rocm|"
    r"MIOpen|rocblas|poplar|gcipuinfo|mkl_sycl|mkl_intel|ocloc|vulkan|MesaOpenCL|RusticlOpenCL|pocl|cudart|cudnn|cub"
    r"las|stdc\+\+|tbb|omp|blas|lapack|dnnl|ccl)"
)
KERNEL_LOG = re.compile(
    r"i915|\bxe\b|intel_vpu|amdxdna|amdgpu|\bkfd\b|NVRM|nvidia|nouveau|\bXid\b|snd_hda_intel|\bGuC\b|\bHuC\b|firmwar"
    r"e|iommu|DMAR|AMD-Vi|dxgkrnl|dxgk|\bdxg\b|\bBAR \d|Resizable|taint|lockdown|Out of memory|\boom|Lockdown|module"
    r" verification|PKCS|ipu\b|graphcore|simple-framebuffer|nomodeset|\bdrm\b|AER:|PCIe Bus Error|segfault|secure "
    r"?boot|\bmodule\b.*\b(?:rejected|restricted)|\bnot signed\b"
, re.IGNORECASE)
DISTRIBUTIONS = re.compile(
    r"^(?:(?:accelerate|bigdl-llm|coremltools|flashinfer-python|pip|amdsmi|flashinfer-[a-z]+|llama-cpp-python|causal"
    r"-conv1d|mamba-ssm|tensorrt[a-z0-9-]*|ocl-icd[a-z-]*|khronos-opencl-icd-loader|plaidml|vulkan|kp|kompute|taichi"
    r"|wgpu|gpt4all|comfyui[a-z-]*|amd-[a-z0-9-]+|rocm-[a-z0-9-]+|transformers|diffusers|peft)$|(torch|pytorch|lib?t"
    r"orch|triton|intel|nvidia|cuda|cupy|rocm|amd-torch|tensorflow|keras|tf-keras|tf-nightly|jax|onnxruntime|ort-|op"
    r"envino|optimum|oneccl|dpctl|dpcpp|mkl|xformers|bitsandbytes|flash-attn|flash-attention|deepspeed|apex|auto-gpt"
    r"q|autoawq|gptqmodel|vllm|sgl|sageattention|poptorch|popart|numpy$|protobuf$|pyopencl|pocl|opencl|ocl-icd|ipex|"
    r"umf$|tcmlib$|detectron2|mmcv|natten|fbgemm))"
)
FRAMEWORKS = {
    "torch": r"torch|pytorch-directml",
    "intel_extension_for_pytorch": r"intel-extension-for-pytorch(-deepspeed)?",
    "torch_directml": r"torch-directml",
    "pytorch_ocl": r"pytorch-ocl",
    "poptorch": r"poptorch",
    "tensorflow": r"tensorflow(-cpu|-gpu|-intel|-rocm|-directml|-macos)?|tf-nightly",
    "onnxruntime": r"onnxruntime(-gpu|-openvino|-directml|-training|-rocm|-migraphx|-qnn|-silicon|-vitisai|-windowsml)?|ort-nightly(-gpu)?",
    "openvino": r"openvino",
    "jax": r"jax",
    "bitsandbytes": r"bitsandbytes",
    "xformers": r"xformers",
}
COMMANDS = {
    '@ollama-show': ('systemctl', 'show', 'ollama.service', '--property=LoadState,ActiveState,User,Group,SupplementaryGroups,DynamicUser,Environment,EnvironmentFiles,PrivateDevices,DevicePolicy,DeviceAllow,NeedDaemonReload,FragmentPath'),
    '@ollama-log': ('journalctl', '--unit=ollama', '--output=cat', '--no-pager', '--lines=400', '--grep=inference compute|Listening on|dropping integrated GPU|NVIDIA driver too old|not in compiled architectures|GPU discovery'),
}
VARIABLES = """
LD_LIBRARY_PATH LD_PRELOAD PATH PWD VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONNOUSERSITE CMPLR_ROOT MKLROOT SETVARS_COMPLETED
OverrideDefaultFP64Settings IGC_EnableDPEmulation WSL_DISTRO_NAME container KUBERNETES_SERVICE_HOST AMD_SERIALIZE_KERNEL DATASET_DIR
DATA_DIR DATASET DATASET_PATH DATA_PATH DATA_ROOT TORCH_HOME HF_HOME HF_DATASETS_CACHE IMAGENET_DIR KAGGLEHUB_CACHE KERAS_HOME
TFDS_DATA_DIR FIFTYONE_DATASET_DIR OS PROCESSOR_ARCHITECTURE VLLM_ATTENTION_BACKEND VLLM_USE_V1 VLLM_PORT VLLM_CPU_KVCACHE_SPACE
FLASHINFER_DISABLE_VERSION_CHECK COMFYUI_PATH
""".split()
VARIABLE_PREFIXES = """
CUDA_ CUDNN_ CUBLAS_ NCCL_ NVIDIA_ NVCC_ NV_ HIP_ ROCR_ ROC_ HSA_ RCCL_ MIOPEN_ GPU_ AMDGPU_ ONEAPI_ ZE_ ZES_ ZET_ ZEL_ SYCL_ UR_ PI_
IPEX_ DNNL_ ONEDNN_ CCL_ BIGDL_ OPENVINO_ INTEL_ OCL_ OPENCL_ POCL_ RUSTICL_ LIBGL_ MESA_ DXCORE_ DML_ TFDML_ DIRECTML_ POPLAR_ POPART_
POPTORCH_ IPUOF_ GCDA_ GC_ VIPU_ GRAPHCORE_ POPSDK_ CONDA_ PYTORCH_ TORCH_ TORCHINDUCTOR_ TF_ XLA_ JAX_ OMP_ KMP_ MKL_ ORT_ ORTMODULE_
SLURM_ USE_ OLLAMA_ GGML_ LLAMA_ARG_ LLAMA_CPP_ OpenCL_ PLAIDML_ VK_ MPS_ CL_ ACCELERATE_
""".split()
LISTED_WORDS = frozenset(
    """
aarch acc acceleration accelerator acpi activate activations ada adamw adapterram admits adreno aer aff affinity agree ailed akmod
alchemist alder allocating allocator allreduce almalinux alpine alteracl amber amdgcn amdhsa amdrocm amdvlk amp ampere amx amzn anaconda
aname announced anv anyitem apex apiversion apos app appdata apptainer apt apu arc archlinux arm armv asahi ascend aside asimd aspect
assistant aten ats attn audio aur authenticamd autoawq autocast autoconf autogptq autoreport autotune avx aws azure backports bandwidth
barcelo basekit battlemage bazzite bcs bda beegfs beignet benchmark beside bfloat bgpu billions binaries bios bitaccess black blackwell
blas blob board bochs boost boot brake branch bridge bring broadcast broadcom broadwell brought broxton buildkit bwd bxpu cachyos caffe
cann capable cargo carriage carries ccs cdna celeron celsius centos centre ceph cezanne cff cfs checkout cherryview chip cifs clang
clblast clcreate clenqueue clfinish clhpp clover clvk cmake cmath codename coffee cold collective colossus comet comgr comm compil
complains complexfloat compose computername contradiction contributor converge convolution cooperative coreml corrupt corruption
credential crescent cse csrc ction ctl ctr ctranslate cubin cublaslt cuctxcreate cudamalloc cudart cudatoolkit cufft cufile cuh cui cuinit
cupti cupy curand cusolver cusparse cusparselt cxxabi daemonset dali darktable dat datacenter dataloader dataparallel dba dcgm dch ddp
deadline debian debugfs deck declaring demand dense deserialize despite detectron deterministic devel development deviceid devicename
devicequery devicetype devuan dff dggml dgx diffusion dimension disabling disagrees distance distrobox divisible dlprimitives dma dnf dnn
dnnlroot downgraded dozen dpcpp dpctl dracut dram driverdate driverid driverinfo drivername driverversion drvfs dtype dxgi dxgkio dylib
dynamo dzn ecc echo edit editable edition efi efivars egg elementary elf elfutils elkhart endeavouros enoent ensurepip entity epp epyc
ethernet exllama expandable expkeysig fabric fallen fbgemm fdf fdinfo fedora fedoraproject fell fence fermi ffe fff ffff ffi fiji fitted
fitting flash flavour flex fma fooocus forbids foreach forge fpga framebuffer freedreno frontier fury fuse fwd gallium garuda gaudi gbits
gbs gcc gcn gcsfuse gdrdrv geforce gemini gemm genai genuineintel gfw gfxstream gib gibberish glusterfs gmm gmmlib gogh gomp google gpt
gptq gptqmodel gpudirect gpuopencl gpustat gradient granite grants gre grid gru grub gsp gsplat gsprminit gtx guc guest guise guix habana
half halo hardened hardware hasvk haswell hawk hbm headless heap heartbeat heat hibernat hide highvram hipblas hipblaslt hipcc hiprtc hlo
honeykrisp hopper hotfix hottest hpg hpp hpu hub huc hwdata hypervisor ibv icdl ice idle ifwt igdlh igdrcl igpu image impl importerror
inactive increasing inductor ini initramfs inl insmod installation instinct intelocl interop ioctl iomp ipuconfig iris irtual isa island
isp ivpu jasper jaxlib jetpack jetson jit joules kaby kali kepler kern keyerror kgspbootgsprm khr kib kit kmd kmg kmgt kmod koboldcpp
kompute krackan kubelet kubepods kunlun lab lake lanes lapack laptop launch lavapipe leap lends lhr libamd libcl libclblast libcupti
libdevice libdirs libegl libelf libglx libhsakmt libigc libigdgmm libintel libllama libnvinfer libnvoptix libnvvm libroctracer libtcmalloc
libtpu licence lightning linkup linuxmint llmpipeline llvm llvmpipe lmem lnk loadlibrary localappdata lockable logname lovelace lowvram
lpg lstm lts lucienne lunar lustre lvp lxcfs maker mali manifest manjaro manylinux matmul maxbuffersize maxwell mbits mcdm mei memorytypes
mendocino metal metax meteor mgag mhz mib micro microseconds mig miniconda miniforge minutes mit mkinitcpio mlx mmcv mobile moltenvk mount
mpi mpl msvc mtl mtu multiarray musa musl musllinux nable nano natten navi ncclallreduce ndarray neo neon neural neuron newest nfs nic
ninja nixos nncf nnvv nobara nodevfiles noisy nonetype nonsense norm normalised normalvram notfound nova novram nowhere nvcr nvcuda nvdm
nvidiactl nvidiafb nvjitlink nvk nvl nvlink nvlsm nvlt nvmii nvmlerror nvrtc nvshmem nvsmi nvswitch nvtoolsext nvtop nvvm occupied oci
oculink offload oled oneccl online onnx oom ooter openclon opencv openmp opensuse operstate opkernel opnamespace ops optimizer optimum
orca orch orin outofmemory overlay overlayfs pace panfrost panther panvk parallel paravirtual parity partner pascal passthrough pathfinder
pciback pdev peak peermem pentium pep perf persistence phb picasso pin pinned pix pjrt pkcs plan plug plugin pnpdeviceid pod podman poetry
polaris ponte powersave powervr ppc prepack privateuse privateuseone procedure prochot productname profiling project proprietary protobuf
proxmox pstate psu pthread pti ptx ptxas pubkey pve pxb pybind pybuilt pyd pyenv pyhave pynvml pyopencl pypi pypoetry pypy pywrap qattn
qcom quadro qualcomm quantization quot radeonsi radv ram raphael raptor raspbian raspi ratl ray rbln rcs rdering rdevice rdma rdna readme
reboot rebuilds rebuilt recogni recompile recovered recovery reduction refus reg registration reinstall remap remapped remapping rembrandt
remedy remov renoir replicas repository reserve resident resolver retarget retired retirement rhel ridge ring riscv risky rminitadapter
rnn roce rock rockchip rocket rocky rom roofline rootless rosetta route rpc rpi rror rtx ruamel runtimeclass runtimeerror ryzen sage
sageattention sageattn salloc satisfies sbatch sbin scatter sched schedutil screen sdnext sdxl sea secded secret secure secureboot sff sgl
sglang shaderfloat shims shm sibling sigabrt sigill sigkill sigsegv sits skylake slangpy sles slowdown slowest smb smbfs snap softpipe
solve southern spark spconv speedup sphinxcontrib spirv spoke spyre sram srun sse sshfs stdc steam stolen storagebuffer strategy strix
stuck studio subgroup subgroupsize sudden sudo survey suse sve swap swiftshader sxm systemroot tag tagged taichi tbbroot tcc tcmlib
temperature template tensor tesla tflop thermal thor throttle throughput tiger tile timedout today tokenizer tonga toolbox topo torchrun
torvalds tpu train traits transformers tritonmissing tumbleweed turing turnip tuxedo ubuntu uhd ulimit ultra umd unallocated uncorrect
uncorrectable undeclared unhealthy uninstall unlicensed unmet unparsable unreach unrecoverable unrelated unresolvable unresponsive unsloth
unsuccessful unsure upgrade upstream userprofile utc utilisation utilization uverbs vae valueerror vbios vecchio vector vega ven vendorid
venus verb verification vgpu videodrivers vii virtiofs virtualenv virtualises vision visual vitis vmid vmrss volatile volta vsec watermark
watts wddm webui wedged wgpu whiskey whisper whisperx whl wildcat windowsapps workload workspace workstation wslenv xanmod xavier xdg xen
xeon xgmi xnnpack xorg xserver xtx yay zeinit zen zesinit zink zluda znver zope zorin zypper
""".split()
)
