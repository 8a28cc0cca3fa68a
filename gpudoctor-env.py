#!/usr/bin/env python3
"""Says what GPUs, drivers and frameworks this machine and this Python have, for a bug report: at most 8 KB of text on standard output.

    python gpudoctor-env.py            also: curl -sL URL | python -, or python -I gpudoctor-env.py

It reads files and runs programs that only print; it changes nothing, needs no package, no root and no network, and ends within 20 seconds.
Names of people, hosts, folders and projects, addresses, serial numbers and secrets do not leave: only known words and short numbers do.
Python 3.8 and newer. Made by gpudoctor's docs/env_script.py from gpudoctor/envtext; to read its text: gpudoctor explain FILE
"""
from __future__ import annotations

import sys

if sys.path and not sys.flags.isolated and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # the folder of this file, or the current one: no module is imported from there

from xml.etree import ElementTree
import fnmatch
import json
import os
import platform
import posixpath
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

# What is asked, as a table: one question a line, in groups. The order of the groups is the order of the text.

REVISION = 2
"""Of this table; it grows with each change. A reader takes what an older table did not ask as not recorded."""
LIBRARY_FOLDERS = (
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib", "/lib64",
	"/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib64/nvidia", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib",
	"/run/opengl-driver/lib",
)
COMFY_FOLDERS = (
	"/workspace/ComfyUI",
	"/opt/ComfyUI",
	"/app/ComfyUI",
	"/ComfyUI",
	"/comfyui",
	"C:/ComfyUI_windows_portable/ComfyUI",
	"C:/ComfyUI",
)
COMFY_AT_HOME = ("ComfyUI", "comfy/ComfyUI", "Documents/ComfyUI", "ComfyUI_windows_portable/ComfyUI")
QUESTIONS = r"""
[devices] GPUs, the drivers that are bound to them, and device nodes
list /sys/bus/pci/devices :: {gpu}
link /sys/bus/pci/devices/{gpu}{,/driver}
read /sys/bus/pci/devices/{gpu}/{vendor,device,class,numa_node,max_link_speed,current_link_speed,max_link_width,current_link_width}
read /sys/bus/pci/devices/{gpu}/mem_info_{vram_total,vram_used,vis_vram_total,gtt_total,gtt_used}
read /sys/bus/pci/devices/{gpu}/resource :: largest
list /sys/bus/pci/devices/{gpu}/drm :: ^(card|renderD)\d+$
list /sys/class/drm :: ^(card|renderD)\d+$
link /sys/class/drm/{card*,renderD*}/device
list /dev :: ^(nvidia|kfd|dri$|dxg|ipu|accel)
node /dev/{nvidia*,kfd,dxg,ipu*}
list /dev/dri :: ^(card|renderD|by-path)
node /dev/dri/{card*,renderD*}
link /dev/dri/by-path/*
list /dev/accel
node /dev/accel/accel*
list /sys/class/accel
link /sys/class/accel/accel*/device
list /sys/bus/pci/devices/{gpu}/accel
read /sys/bus/pci/devices/{gpu}/{revision,fw_version}
read /proc/self/limits :: ^Max locked memory
read /sys/class/infiniband/*/{hca_type,device/numa_node}
read /sys/class/infiniband/*/ports/*/{state,phys_state,rate,link_layer}
run 3 id
read /etc/group :: ^(video|render|docker|sgx|kvm|plugdev|ipu|poplar|nvidia\w*|vglusers|rocm|kfd):
read /proc/driver/nvidia/gpus/*/information :: ^Device Minor
list /sys/class/kfd/kfd/topology/nodes
read /sys/class/kfd/kfd/topology/nodes/*/name
read /sys/class/kfd/kfd/topology/nodes/*/properties :: ^(simd_count|vendor_id|device_id|location_id|domain|gfx_target_version) [^0]
run 5 lspci -Dvmmnnk || lspci -nnk :: display
[drivers] Drivers and what their tools say
read /proc/sys/kernel/{osrelease,tainted}
read /proc/cmdline :: words i915|xe\.|amdgpu|radeon|nvidia|nouveau|nomodeset|iommu|pci=|pcie|blacklist|module|ipu|lockdown|efifb|simpledrm|vfio|modeset|hugepage
read /sys/kernel/security/lockdown
list /sys/module :: modules
read /proc/modules :: modules
else there /sys/module/{nvidia,nvidia_uvm,nvidia_drm,nouveau,amdgpu,radeon,i915,xe,ipu_driver,virtio-pci,intel_vpu,amdxdna}/initstate
else run 4 lsmod :: modules
read /sys/module/{nvidia,amdgpu,ipu_driver}/version
read /sys/module/{i915,xe}/parameters/force_probe
read /sys/module/ttm/parameters/pages_limit
run 3 mokutil --sb-state
read /proc/driver/nvidia/version
run 5 nvidia-smi --query-gpu=index,name,uuid,pci.bus_id,driver_version,memory.total,compute_cap --format=csv,noheader,nounits
run 5 nvidia-smi -q -x || nvidia-smi -q || nvidia-smi :: nvidia
else run 5 nvidia-smi -L
run 3 modinfo -F {version,license} nvidia
run 3 modprobe -n -v nvidia
run 4 dkms status
run 3 prime-select query
run 3 systemctl is-active nvidia-fabricmanager
list /lib/modules/{release} :: ^(build|extra|extramodules|kernel|misc|nvidia|updates|weak-updates)$
there /lib/modules/{release}/build
list /lib/modules/{release}/{updates/dkms,updates,extra,extra/nvidia,kernel/drivers/video,weak-updates/nvidia,nvidia,misc,extramodules} :: ^nvidia
list /lib/modules/{release}/kernel :: ^nvidia
read /etc/modprobe.d/*.conf :: ^\s*(options|blacklist|install)\s+(i915|xe|amdgpu|radeon|nvidia|nouveau|snd_hda_intel|ttm|amdttm)\b
read {/usr,}/lib/modprobe.d/*.conf :: ^\s*(options|blacklist|install)\s+(i915|xe|amdgpu|nvidia|nouveau)\b
run 5 {,/opt/rocm/bin/}rocminfo :: rocminfo
run 5 amd-smi version --json
run 5 amd-smi static --json :: json gpu|gpu_data|asic|bus|driver|bdf|market_name|target_graphics_version|version
run 5 rocm-smi --showallinfo --json :: json system|card\d+|(?i:card series|device name|card model|pci bus|driver version)
run 5 xpu-smi discovery -j :: json xpu
run 4 xpu-smi discovery -d 0 -j :: json xpu
run 5 gc-info -l
run 5 gc-inventory --json :: json devices|ipus|id|pci id|pci domain|target|type|driver|firmware|version|ipu architecture|error
run 5 gc-info -i -d 0
run 5 gc-monitor --json || gc-monitor :: json cards|devices|ipus|id|pid|ipu
run 5 vipu list partitions
run 5 popc --version
[runtimes] Compute runtimes: OpenCL, Level Zero, ROCm, CUDA, Vulkan, Poplar
run 5 clinfo --json || clinfo --raw || clinfo || clinfo -l :: clinfo
list /etc/OpenCL/vendors
read /etc/OpenCL/vendors/*.icd
list /etc/vulkan/icd.d
list {/usr/local,/usr,/run/opengl-driver}/share/vulkan/icd.d
read {/etc,/usr/local/share,/usr/share,/run/opengl-driver/share}/vulkan/icd.d/*.json :: json ICD|library_path|api_version
run 5 vulkaninfo --summary || vulkaninfo :: vulkaninfo
run 5 sycl-ls
there {lib}/{libze_intel_gpu.so.1,libze_intel_gpu.so,libze_intel_gpu_legacy1.so.1,libze_loader.so.1,libze_loader.so,libOpenCL.so.1,libcuda.so.1,libvulkan.so.1}
there /opt/xilinx/xrt/{setup.sh,lib/libxrt_driver_xdna.so}
there {lib}/intel-opencl/{libigdrcl.so,libigdrcl_legacy1.so}
list {lib} :: libraries
list /usr/lib/x86_64-linux-gnu/intel-opencl :: libraries
link {lib}/libcuda.so.1
list /opt :: ^(rocm|intel|gc|graphcore|poplar|nvidia|llama|ComfyUI)
link /opt/rocm
read /opt/rocm*/.info/version
there /opt/rocm*/lib/librocdxg.so
list /opt/rocm*/lib/rocblas/library :: ^(Tensile|Kernels|TensileLibrary)\S*gfx
list {/opt/rocm*/lib,/usr/local/cuda/lib64,/opt/intel/oneapi/redist/lib} :: libraries
there /usr/local/cuda
read /usr/local/cuda/version.{json,txt} :: "cuda"|"version"|CUDA Version|[{}]
run 4 {,/usr/local/cuda/bin/}nvcc --version :: release
there {/opt,{home}}/intel/oneapi/setvars.sh
list {/opt,{home}}/intel/oneapi :: ^(compiler|mkl|setvars.sh|redist|tbb|ccl|\d{4}\.\d)
list {/opt,{home}}/intel/oneapi/{compiler,mkl} :: ^(\d[\d.]*|latest)$
list /{opt,usr/local,localdata,mnt/poplar,software/graphcore,graphcore,software/graphcore/poplar_sdk} :: (?i)poplar|graphcore|^gc$|^rocm|^intel$|^cuda
list /opt/{gc,graphcore,poplar,poplar_sdk} :: (?i)pop|enable
list {home} :: (?i)^poplar
list {home}/{graphcore,sdk,sdks,poplar_sdk} :: (?i)pop|enable
list /{opt,opt/gc,opt/graphcore}/poplar*  :: (?i)pop|enable
list /etc/ipuof.conf.d
run 5 ldconfig -p :: libraries
[system] Operating system, container, memory
read /etc/os-release :: ^(ID|ID_LIKE|NAME|PRETTY_NAME|VERSION_ID)=
run 3 uname -a || uname -m :: uname
run 3 systemd-detect-virt
there /{.dockerenv,run/.containerenv,.singularity.d}
read /proc/1/cgroup :: kube|docker|libpod|containers|lxc
read /proc/self/mountinfo :: mountinfo
read /proc/mounts :: mounts
read /proc/cpuinfo :: cpuinfo
read /proc/meminfo :: ^(MemTotal|MemAvailable|SwapTotal|SwapFree):
read /sys/fs/cgroup/cpu.max
read /sys/devices/system/cpu/cpu0/cpufreq/scaling_{governor,driver}
read /run/udev/data/+dmi:id :: ^E:MEMORY_(ARRAY_NUM_DEVICES|DEVICE_\d+_(SIZE|PRESENT))=
read /proc/device-tree/model
read /etc/nv_tegra_release :: ^# R
there /dev/nvidia-uvm
list /etc/ld.so.conf.d :: wsl|cuda|rocm|oneapi|nvidia|amdgpu|intel
list /{etc,var/run,run}/cdi
[wsl] Windows Subsystem for Linux
run 5 /usr/lib/wsl/lib/nvidia-smi --query-gpu=index,name,uuid,pci.bus_id,driver_version,memory.total,compute_cap --format=csv,noheader,nounits
run 5 /usr/lib/wsl/lib/nvidia-smi -L
run 3 df -P -k /mnt/c
list /proc/sys/fs/binfmt_misc :: ^WSLInterop
read /etc/wsl.conf :: (?i)^\[|^enabled
list /usr/lib/wsl/lib
list /usr/lib/wsl/drivers :: ^(nv|iigd|u0|amd)
read /etc/ld.so.conf.d/*wsl*
run 4 cmd.exe /c ver
run 5 powershell.exe -NoProfile -Command 'Get-CimInstance Win32_VideoController | ConvertTo-Json' :: json adapter
[windows] Windows
run 4 cmd /c ver
run 5 powershell -NoProfile -Command 'Get-CimInstance Win32_OperatingSystem | Select-Object Caption,Version,BuildNumber,OSArchitecture | ConvertTo-Json'
run 5 powershell -NoProfile -Command 'Get-CimInstance Win32_VideoController | ConvertTo-Json' :: json adapter
run 5 powershell -NoProfile -Command 'Get-CimInstance Win32_PnPEntity -Filter "PNPClass='"'"'ComputeAccelerator'"'"'" | ConvertTo-Json' :: json adapter
[macos] macOS
run 3 sw_vers
run 3 sysctl -n hw.memsize
run 3 sysctl -n machdep.cpu.brand_string
run 3 sysctl -n sysctl.proc_translated
run 5 system_profiler SPDisplaysDataType -json :: json SPDisplaysDataType|_name|sppci_model|sppci_cores|spdisplays_vendor|_?spdisplays_vram|spdisplays_mtlgpufamilysupport
run 3 uname -m
[packages] System packages that matter
read /var/lib/dpkg/status :: dpkg
else run 5 dpkg-query -W '-f=${db:Status-Abbrev}\t${binary:Package}\t${Version}\n' || rpm -qa --queryformat '%{NAME} %{VERSION}-%{RELEASE} %{ARCH}\n' || pacman -Q :: packages
else read /lib/apk/db/installed :: apk
[programs] Programs with a runtime of their own
there {path}/{ollama,llama-server,llama-cli,llama-bench}
there {/usr/local/bin,/usr/bin,/bin,/opt/homebrew/bin,/home/linuxbrew/.linuxbrew/bin}/{ollama,llama-server,llama-cli,llama-bench}
run 4 ollama --version
run 4 @ollama-show
run 5 @ollama-log
run 3 id ollama
read {/etc,/run,/usr/lib,/lib}/systemd/system/ollama.service :: ^(\[|(User|Group|SupplementaryGroups|DynamicUser|PrivateDevices|Device\w+|Environment)=)
list {/usr/local,/usr}/lib/ollama
list {/usr/local,/usr}/lib/ollama/{cuda*,rocm*,vulkan*,runners} :: ggml|^(cuda|rocm|vulkan)
list {/usr/local,/usr}/lib/ollama/rocm*/rocblas/library :: ^TensileLibrary_lazy_gfx
list {path} :: ^libggml
run 6 llama-server --list-devices || llama-cli --list-devices || llama-bench --list-devices
run 4 llama-server --version || llama-cli --version || llama-bench --version
run 4 ldd {path}/libggml-{cuda,hip,vulkan,sycl,opencl}.so
list {site}/llama_cpp/lib :: ^lib(ggml|llama)
list {site}/coremltools :: ^(libcoremlpython\S*|__init__\.py)$
there {comfy}/{main.py,comfy/cli_args.py,custom_nodes}
read {comfy}/{comfyui_version.py,pyproject.toml,requirements.txt} :: ^(__version__|version|requires-python|comfyui-frontend-package)\s*=
list {comfy} :: \.(bat|sh|ps1|cmd)$
read {comfy}/*.sh :: main\.py
list {comfy}/../ :: \.(bat|sh|ps1|cmd)$|^python_embeded$
read {comfy}/../*.bat :: main\.py
there {comfy}/../python_embeded/python.exe
read {comfy}/{.venv,venv,../.venv,../venv}/pyvenv.cfg :: ^(version|version_info|uv) *=
read {comfy}/../python_embeded/pyvenv.cfg :: ^version
list {comfy}/../python_embeded :: ^python3\d+\.(_pth|dll|zip)$
list {comfy}/{.venv,venv,../.venv,../venv}/lib/python3.*/site-packages :: comfy
list {comfy}/../python_embeded/Lib/site-packages :: comfy
read {comfy}/{.venv,venv,../.venv,../venv}/lib/python3.*/site-packages/torch/version.py :: ^(__version__|debug|cuda|hip|xpu)
read {comfy}/../python_embeded/Lib/site-packages/torch/version.py :: ^(__version__|debug|cuda|hip|xpu)
list {comfy}/custom_nodes
read {comfy}/custom_nodes/*/requirements.txt :: ^\s*(torch|torchvision|torchaudio|xformers|onnxruntime|torch-directml)\b
list {site} :: ^vllm\S*\.dist-info$
read {site}/vllm-*.dist-info/METADATA :: ^(Metadata-Version|Name|Version|Requires-Python|Requires-Dist: (torch|flashinfer|xformers|triton))
read {site}/vllm*.dist-info/entry_points.txt
read {site}/torch/version.py :: ^(__version__|debug|cuda|hip|xpu)
[log] Kernel log: lines of GPU drivers
run 5 dmesg || journalctl -k -b --no-pager -o short-monotonic :: log
"""


# Tables that docs/env_script.py takes from the probes and checks; not to be changed by hand.

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


# The program that a child runs to import one framework (target/payloads); the script holds its text.

INSPECT = r'''import json
import os
import sys
MARK = "@gpudoctor "
ARGUMENT = sys.argv[1] if len(sys.argv) > 1 else "torch"
NO_DEVICE = os.environ.get("GPUDOCTOR_NO_DEVICE") == "1"
SAID = os.dup(1)
os.dup2(2, 1)
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
	parts, seen = [], set()
	while error is not None and id(error) not in seen and len(parts) < 4:
		seen.add(id(error))
		parts.append("%s: %s" % (type(error).__name__, str(error).strip()[:1500]))
		error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
	return "\n".join(parts)
def guarded(notes, function, *arguments):
	try:
		return function(*arguments)
	except Exception as error:
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
	import importlib
	try:
		within = "openvino" if hasattr(ov, "Model") else "openvino.runtime"  # the second up to 2022
		home, operations = importlib.import_module(within), importlib.import_module(within + ".opset8")
		given = operations.parameter([1, 16], home.Type.f32)
		home.Core().compile_model(home.Model([operations.relu(given)], [given], "one_operation"), device)
	except Exception as error:
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
			except Exception as error:
				say(stage="devices", device_error=chain(error))
		notes += [str(warning.message)[:600] for warning in caught]
	say(stage="done", libraries=libraries(), notes=notes[:20], machine=os.uname().machine if hasattr(os, "uname") else "",
		bits=64 if sys.maxsize > 2 ** 32 else 32, python=".".join(map(str, sys.version_info[:3])))
try:
	inspect(ARGUMENT)
except BaseException as error:
	say(stage="failed", error={"kind": "exception", "name": type(error).__name__, "message": chain(error)[:6000]}, libraries=libraries())
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)'''


# What of an answer is kept: the part that probes read. Pure functions of text.

LOG_LINES = 40
_TROUBLE = re.compile(r"error|fail|fault|timed? ?out|reset|hang|xid|reject|refus|denied|unsupported|not supported|taint|oom|killed", re.I)
_MODULES = re.compile(
	r"^(nvidia|nouveau|nova|amd|radeon|i915|xe$|intel_vpu|accel|drm|ttm|gpu|ipu|vfio|mei|dxg|intel_vsec|virtio|bochs|ast$|mgag|nv_peer|gdrdrv|habana|snd_hda_intel|Module)"
)
PACKAGES = re.compile(
	r"^(nvidia|libnvidia-(compute|ml|cfg)|(akmod|kmod|xorg-x11-drv)-nvidia|linux-(image|headers|firmware|modules-nvidia|objects-nvidia|generic)|dkms$"
	r"|cuda(-drivers|-toolkit|-runtime|-nvcc)?(-[\d-]+)?$|libcuda|(lib)?(cudnn|cublas|nccl)|intel-(opencl|level|igc|compute|gmm|i915|platform|oneapi"
	r"|basekit|npu|driver|graphics)|libze|level-zero|oneapi-level|libigc|libigdgmm|ocl-icd|(lib)?opencl|libOpenCL|(lib)?pocl|clinfo|mesa-(vulkan|opencl)"
	r"|(lib)?vulkan|amdgpu|amdvlk|(amd)?rocm|hip|(lib)?hsa|rocblas|miopen|comgr|beignet|clvk|firmware-|poplar|(lib)?xrt)"
)
_NVIDIA = re.compile(
	r"driver_version|cuda_(umd_)?version|product_(name|architecture)|pci_(bus|device)_id|(current|pending)_mig|mig_device|compute_mode|persistence_mode"
	r"|current_dm|virtualization_mode|license_status|((current|default)_)?power_limit|clocks_\w+_reasons?_\w+|(max|current)_link_(gen|width)|current_ecc"
	r"|(sram|dram)_uncorrectable\w*|pending_retirement|remapped_row_\w+|state|status|gpu_recovery_action|gsp_firmware_version|used_memory|total|used"
)
_UNUSED = ("N/A", "[N/A]", "", "0", "No", "Not Active", "None", "Unknown")
_CL = (
	r"platforms|devices|online|icd_loader|raw|CL_(PLATFORM|DEVICE)_(NAME|VENDOR|VERSION)|CL_DEVICE_(BOARD_NAME_AMD|EXTENSIONS|GLOBAL_MEM_SIZE"
	r"|MAX_COMPUTE_UNITS|MAX_MEM_ALLOC_SIZE|PCI_BUS\w+|TOPOLOGY_AMD|TYPE|VENDOR_ID|OPENCL_C_FEATURES)|CL_DRIVER_VERSION|CL_ICDL_(VENDOR|VERSION)|pci_\w+"
)
_LINES = {
	"clinfo": rf"#PLATFORMS|({_CL})\b|^\s*(Number of (platforms|devices)|(Platform|Device) (Name|Vendor|Version|Type|Board Name|Extensions|Topology|#)"
	r"|Driver Version|Max compute units|Global memory size|Max memory allocation|ICD loader|NULL)|Device #",
	"vulkaninfo": r"Instance Version|^GPU\d|^\s+(apiVersion|driverVersion|vendorID|deviceID|deviceType|deviceName|driverID|driverName|driverInfo)\s*=|"
	r"maxMemoryAllocationSize|maxBufferSize|subgroupSize|storageBuffer16BitAccess|shaderFloat16|VK_KHR_cooperative_matrix|ERROR|Cannot|failed",
	"rocminfo": r"ROCk module|HSA Agents|^\*+|Agent \d|^\s*(Name|Marketing Name|Device Type|Compute Unit|Memory Properties):|error|[Uu]nable|fail|HSA_STATUS",
	"nvidia": r"NVSMI|NVIDIA-SMI|Version|^GPU 0|failed|couldn't|Product Name|Bus Id|MIG Mode|^\s+(Current|Pending|Uncorrect|Default Power Limit)|: Active",
	"cpuinfo": r"^(model name|flags|Features|CPU implementer)\s*:",
	"modules": _MODULES.pattern, "comfy": r"^(torch|pytorch|xformers|onnxruntime|comfyui|numpy-|triton|nvidia_|intel_extension|pip-)",
	"mountinfo": r"^(\S+ ){4}(/|/etc/hostname|/dev/shm) .*(docker|overlay|libpod|containers|lxc|kube|shm)",
	"mounts": r"^\S+ (/|/dev/shm) |^\S+ \S+ (nfs4?|cifs|smb3|fuse.sshfs|ceph|glusterfs|drvfs|9p|virtiofs|lustre|beegfs) ",
}
_KEYS = {
	"xpu": r"device_(list|id|name)|error|pci_(bdf_address|device_id)|drm_device|(driver|gfx_firmware)_version|memory_physical_size_byte|max_mem_alloc_size_byte",
	"adapter": r"Name|Caption|AdapterCompatibility|DriverVersion|AdapterRAM|PNPDeviceID|ConfigManagerErrorCode|Status|DriverDate",
}
def kept(keep, text):
	name, _, rest = keep.partition(" ")
	if name == "json" or (name == "clinfo" and text.lstrip()[:1] == "{"):
		return _json(text, _KEYS.get(rest, rest) or _CL)
	if name == "words":
		return " ".join(word for word in text.split() if re.search(rest, word))
	if name == "nvidia" and "<nvidia_smi_log" in text:
		return _nvidia(text[text.find("<nvidia_smi_log") :])
	if name in _FUNCTIONS:
		return _FUNCTIONS[name](text)
	lines = [line.rstrip() for line in text.splitlines() if not keep or re.search(_LINES.get(keep, keep), line)]
	if keep in ("cpuinfo", "modules", "clinfo"):
		lines = list(dict.fromkeys(_words(line) if keep != "modules" else line.split()[0] for line in lines))
	return "\n".join(lines)[:12_000]
def kept_name(keep, name):
	if keep == "libraries":
		return ".so" in name and (LIBRARIES.match(name) is not None or name.startswith("libggml"))
	return re.search(_LINES.get(keep, keep), name) is not None
def _words(line):
	found = re.match(r"(?i)(.*(?:flags|features|extensions)\s*:?\s+)(.*)", line)
	return (
		found[1] + " ".join(re.findall(r"(?<!\S)(?:avx|sse4|amx|fma|f16c|hypervisor|asimd|sve|lm\b)\S*|\S*fp(?:16|64)\S*", found[2]))
		if found
		else line
	)
def _json(text, keys):
	start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
	try:
		return json.dumps(_pruned(json.JSONDecoder().raw_decode(text[start:])[0], re.compile(keys)), ensure_ascii=False)
	except ValueError:
		return text[:300]
def _pruned(value, keys):
	if isinstance(value, list):
		return [_pruned(item, keys) for item in value[:16]]
	if isinstance(value, dict):
		return {key: _pruned(item, keys) for key, item in value.items() if keys.fullmatch(str(key)) and item not in (None, "")}
	return _words(f"extensions {value}")[11:] if isinstance(value, str) and len(value) > 400 else value
def _largest(text):
	sizes = [0]
	for line in text.splitlines()[:6]:
		start, end, flags = (int(word, 16) for word in line.split()[:3])
		sizes += [end - start] if flags & 0x200 else []
	return f"0x0 {max(sizes):#x} 0x200" if max(sizes) else ""
def _display(text):
	long = "Slot:" in text
	blocks = [
		block for block in re.split("\n\n" if long else "\n(?=[0-9a-f])", text) if re.search(r"\[(03\d\d|12\d\d|0b40)\]|\[1d95", block)
	]
	lines = [
		[line for line in block.splitlines() if re.match(r"(Slot|Class|Device|Module):|[0-9a-f]|\s+Kernel ", line)] for block in blocks
	]
	return ("\n\n" if long else "\n").join("\n".join(block) for block in lines)
def _nvidia(text):
	root = ElementTree.fromstring(text)
	_prune(root)
	return ElementTree.tostring(root, encoding="unicode").replace("</gpu><gpu", "</gpu>\n<gpu")
def _prune(element):
	element.tail = None
	for child in list(element):
		if not _prune(child):
			element.remove(child)
	words = (element.text or "").strip()
	element.text = None if len(element) else words
	return bool(len(element)) or element.tag in ("nvidia_smi_log", "gpu") or bool(_NVIDIA.fullmatch(element.tag) and words not in _UNUSED)
def _libraries(text):
	folders = {}
	for name, kind, folder in re.findall(r"^\s*(\S+) \(([^)]*)\) => (\S+)/\S+$", text, re.M):
		if LIBRARIES.match(name) and ("64" in kind or "AArch64" in kind):
			folders.setdefault(folder, []).append(name)
	return "\n".join(f"{folder}: {' '.join(names)}" for folder, names in folders.items())
def _uname(text):
	words = text.split()
	return " ".join(["Linux", "host", *words[2:3], *words[-2:]]) if words[:1] == ["Linux"] and len(words) > 3 else text
def packages_in(manager, text):
	patterns = {
		"dpkg": r"^Package: (\S+)\nStatus: \S+ \S+ (?:installed|half-configured|triggers-\w+)\n(?:.+\n)*?Version: (\S+)$", "apk": r"^P:(\S+)\nV:(\S+)$",
		"dpkg-query": r"^.[iFWt]\S?\s*\t([^\t:]+)\S*\t(\S+)",
	}
	return {name: version for name, version in re.findall(patterns.get(manager, r"^(\S+) (\S+)"), text, re.M) if PACKAGES.match(name)}
def _log(text):
	seen = set()
	lines = []
	for line in reversed(text.splitlines()):
		shape = re.sub(r"[\dA-Fa-fx]+", "0", re.sub(r"^\[[^\]]*\]", "", line))
		if KERNEL_LOG.search(line) and shape not in seen:
			seen.add(shape)
			lines.append(line.rstrip()[:240])
	troubles = [line for line in lines if _TROUBLE.search(line)][: LOG_LINES * 3 // 4]
	others = [line for line in lines if line not in troubles][: LOG_LINES - len(troubles)]
	return "\n".join(line for line in reversed(lines) if line in troubles or line in others)
_FUNCTIONS = {"largest": _largest, "display": _display, "log": _log, "libraries": _libraries, "uname": _uname}


# What may leave: words of a list and technical forms. Whatever is neither becomes `*`, so that no name has to be known to be left out.

HIDDEN = "*"
_SECRET = re.compile(r"(?i)((?:\w*(?:passw|passphrase|token|secret|api_?key|access_?key|credential|cookie)\w*)\s{0,3}[:=]\s{0,3})(\S+)")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+\S{6,}")
_NUMBERS = re.compile(
	r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"  # UUID
	r"|\b(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}\b"  # hardware address
	r"|(?<![\w.:])(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}(?![\w.:])"  # IPv6
	r"|(?<![\w.])(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}(?!\w|\.\d|-microsoft)"  # IPv4
	r"|(?<![\w.])(?=(?:\D?\d){7})\d{2,}(?:-\d+)+(?!\w)|\b[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}\b"  # dates and numbers in groups, Cisco's addresses
	r"|(?<!\w)\+?\d{2,4}[ /-]\d{3,4}[ -]?\d{3,}(?!\w)"  # telephone
)
_ADDRESS = re.compile(
	r"(?<![\w.])\d{1,13}(?= *(?:\d+ +)?(?:kB|[KMG]i?B|bytes)\b)|\b[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\b|(?<![\w:])[0-9a-f]{4}:[0-9a-f]{4}(?![\w:])"
)
_URL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{1,12}://\S+|\S+@\S*[A-Za-z]\S*")
_PIECE = re.compile(r"[^\s/\\=,:;|()\[\]{}<>\"'`&?!#%$^*~]+")
_RUN = re.compile(r"[A-Za-z]+|\d+|[^A-Za-z\d]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
SUFFIXES = ("s", "es", "ed", "d", "ing", "er", "ly")
LIBRARY = """argparse asyncio/base_events ctypes/__init__ doctest email/message http/client importlib/_bootstrap inspect logging/__init__ mailbox
multiprocessing/pool optparse os pdb pickle pydoc_data/topics random shutil socket ssl statistics subprocess tarfile threading typing unittest/case
urllib/request zipfile""".split()
"""Modules of Python's own library: their texts are the English that messages are written in."""
def own_words():
	tables = (QUESTIONS, INSPECT, LIBRARIES, KERNEL_LOG, DISTRIBUTIONS, FRAMEWORKS, VARIABLES, VARIABLE_PREFIXES, COMMANDS)
	return set(re.findall(r"[a-z]{3,24}", str(tables).lower()))
def library_words():
	found = set()
	for name in LIBRARY:
		try:
			with open(os.path.join(os.path.dirname(os.__file__), f"{name}.py"), encoding="utf-8", errors="replace") as file:
				found.update(re.findall(r"\b[a-z]{3,24}\b", file.read()))
		except OSError:
			continue
	return found
WORDS = LISTED_WORDS | own_words() | library_words()
class Cleaner:
	"""`user` and `hosts`: what is private here although it may be a common word. `places`: folders and what is written for them."""
	def __init__(self, user = "", hosts = (), places = ()):
		self._user = user if user not in ("root", "user", "") else ""
		self._hosts = {part.lower() for host in hosts for part in (host, *host.split(".")) if len(part) > 2 and part != "localhost"}
		self._places = sorted(((place, name) for place, name in places if len(place) > 1), key=lambda each: -len(each[0]))
	def lines(self, text):
		return "\n".join(self._json(line) if line[:1] in ("{", "[") else self.line(line[:6000]) for line in text.splitlines())
	def line(self, line, only = ""):
		for place, name in self._places:
			line = line if only not in ("", name) else re.sub(re.escape(place) + r"(?![\w.-])", name.replace("\\", "/"), line)
		line = _SECRET.sub(r"\1" + HIDDEN, _BEARER.sub(HIDDEN, line))
		kept, end = [], 0
		for found in re.finditer(f"({_ADDRESS.pattern})|({_URL.pattern})|({_NUMBERS.pattern})", line):
			kept += [self._pieces(line[end : found.start()]), found[1] or HIDDEN]
			end = found.end()
		whole = "".join([*kept, self._pieces(line[end:])])
		return "".join(letter if letter.isprintable() or letter == "\t" else "?" for letter in re.sub(r"\*(?:[ ,]+\*)+", HIDDEN, whole))
	def value(self, value):
		if isinstance(value, str):
			return "\n".join(map(self.line, value.split("\n")))
		if isinstance(value, (list, tuple)):
			return [self.value(item) for item in value]
		if isinstance(value, dict):
			return {str(key): self.value(item) for key, item in value.items()}
		return value if isinstance(value, (bool, int, float)) or value is None else HIDDEN
	def _json(self, text):
		try:
			return json.dumps(self.value(json.loads(text)), ensure_ascii=False)
		except ValueError:
			return self.line(text)
	def version(self, text):
		plain = re.fullmatch(r"[vV]?\d[\w.!:~+-]{0,50}", text)
		return text if plain and all(len(word) < 5 or known(word) for word in re.findall("[A-Za-z]+", text)) else HIDDEN
	def _pieces(self, text):
		return _PIECE.sub(lambda found: self._piece(found[0]), text)
	def _piece(self, piece):
		bare = piece.strip("._-+")
		if self._user and bare.lower() == self._user.lower():
			return piece.replace(bare, "user")
		return piece if self.allowed(bare) else piece.replace(bare, HIDDEN) if bare else piece
	def allowed(self, piece):
		if len(piece) > 90 or not piece.isascii():
			return False
		if re.fullmatch(r"0x[0-9a-fA-F]{1,10}|[0-9a-f]{4}", piece) or (
			LIBRARIES.match(piece) and re.fullmatch(r"\w{5,32}\.so(\.\d+)*", piece)
		):
			return True
		for part in re.split(r"[^A-Za-z\d]+", piece):
			if part and not self._part(part):
				return False
		return True
	def _part(self, part):
		low = part.lower()
		if low in self._hosts or (self._user and low == self._user.lower()):
			return False
		if low in WORDS:
			return True
		runs = _RUN.findall(part)
		if len(runs) > 3 and len(part) > 5 and not (low[:2] == "0x" or low.rstrip("0123456789") in WORDS):
			return False
		digits = sum(len(run) for run in runs if run.isdigit())
		letters = [run for run in runs if run.isalpha()]
		if digits > 6 or (digits > 4 and letters and not all(known(run) for run in letters)):
			return False
		return all(len(run) <= 2 or known(run) for run in letters)
def known(word):
	low = word.lower()
	if low in WORDS or any(low.endswith(ending) and low[: -len(ending)] in WORDS for ending in SUFFIXES):
		return True
	parts = _CAMEL.findall(word)
	listed = [part for part in parts if part.lower() in WORDS]
	short = [part for part in parts if part not in listed]
	return len(parts) > 1 and "".join(parts) == word and all(len(part) < 3 for part in short) and len("".join(listed)) > len(word) // 2


# The Python environment that runs this: its kind, and what is installed in it, from the names of its folders.

def environment():
	prefix = sys.prefix.replace("\\", "/")
	installed, several, others = {}, {}, 0
	for folder in dict.fromkeys(entry for entry in sys.path if entry and os.path.isdir(entry)):
		here = {}
		for name in _names(folder):
			found = re.match(r"^(.+?)-([^-]+)\.dist-info$", name) or re.match(
				r"^([^-]+)-([^-]+?)(?:-py\d[\d.]*)?(?:-[\w.]+)?\.egg(?:-info)?$", name
			)
			if found:
				here.setdefault(re.sub(r"[-_.]+", "-", found[1]).lower(), []).append(found[2])
		for name, versions in here.items():
			if not DISTRIBUTIONS.match(name):
				others += 1
			elif name not in installed:
				installed[name] = versions[0]
				if len(set(versions)) > 1:
					several[name] = sorted(set(versions))
	return {
		"executable": sys.executable.replace("\\", "/"), "version": ".".join(map(str, sys.version_info[:3])), "prefix": prefix,
		"kind": _kind(prefix), "distributions": {**installed, **several}, "others": others,
	}
def _names(folder):
	try:
		return sorted(os.listdir(folder))
	except OSError:
		return []
def _kind(prefix):
	try:
		with open(f"{prefix}/pyvenv.cfg", encoding="utf-8", errors="replace") as file:
			marker = file.read(20_000)
		return "uv" if re.search(r"^uv\s*=", marker, re.M) else "poetry" if "/pypoetry/" in prefix else "venv"
	except OSError:
		pass
	if os.path.isdir(f"{prefix}/conda-meta"):
		return "conda"
	return "pyenv" if "/.pyenv/versions/" in prefix else "uv" if "/uv/python/" in prefix else "system"


# Asks a door the questions of the table, each in its time. A question that fails or hangs is a gap, never the end.

SYSTEMS = ("windows", "macos", "wsl")
"""Groups of questions that only one operating system is asked."""
DEVICES = "/sys/bus/pci/devices"
MOST = 64
"""Names that one `*` stands for."""
LIBRARY_IN_ICD = re.compile(r"/[^\s\"']{1,200}\.so[\w.]*")
TOTAL = 20.0
_PCI = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_PLAIN = re.compile(r"[^\s\"\\]+")
class Question:
	"""One line of the table."""
	def __init__(self, group, line, number):
		said, _, self.keep = line.strip().partition(" :: ")
		self.group, self.number, self.otherwise = group, number, said.startswith("else ")
		self.verb, _, self.where = said[5 if self.otherwise else 0 :].strip().partition(" ")
		self.seconds = 3.0
		self.commands = []
		if self.verb == "run":
			seconds, _, self.where = self.where.partition(" ")
			self.seconds = float(seconds)
			self.commands = [tuple(COMMANDS.get(part) or shlex.split(part)) for part in self.where.split(" || ")]
def questions():
	found = []
	group = ""
	for line in QUESTIONS.strip().splitlines():
		if line.startswith("["):
			group = line[1 : line.index("]")]
		else:
			found.append(Question(group, line, len(found) + 1))
	return found
def titles():
	return dict(re.findall(r"^\[(\w+)\] (.*)$", QUESTIONS, re.M))
class Clock:
	"""The time for everything."""
	def __init__(self, seconds = TOTAL):
		self._end = time.monotonic() + seconds
	def left(self):
		return self._end - time.monotonic()
def guarded(seconds, function):
	box = []
	def work():
		try:
			box.append((function(), ""))
		except BaseException as error:
			box.append((None, f"{type(error).__name__}: {error}"))
	worker = threading.Thread(target=work, daemon=True)
	worker.start()
	worker.join(max(0.05, seconds))
	return box[0] if box else (None, f"no answer after {seconds:.0f} s")
class Found:
	"""What a question brought. `entries`: (group, form, place, content) as layout.py writes them, clean already."""
	def __init__(self):
		self.entries = []
		self.told = []
		self.missing = []
		self.unasked = []
	def add(self, other):
		for name, value in vars(self).items():
			value.extend(getattr(other, name))
class Asker:
	"""Puts the questions to one door. `clean` takes out what is private."""
	def __init__(self, door, clock, clean):
		self.door, self.clock, self.clean = door, clock, clean
		self.found = Found()
		self.troubles = []
		self._sets = {}
	def ask(self):
		answered = False
		for question in questions():
			if (question.group in SYSTEMS and not self.is_system(question.group)) or (question.otherwise and answered):
				continue
			limit = min(question.seconds * max(1, len(question.commands)) + 1.5, self.clock.left())
			found, why = guarded(limit, lambda question=question: self._one(question)) if limit > 0.2 else (None, "out of time")
			if found is None:
				self.found.unasked.append(question.number)
				self.troubles += (
					[]
					if why == "out of time"
					else [f"unknown: question {question.number} ({self.clean.line(question.where[:60])}): {self.clean.line(why)}"]
				)
			else:
				answered = bool(found.entries) or (answered and question.otherwise)
				self.found.add(found)
		if self.clock.left() <= 0.2:
			self.troubles.append("unknown: the rest, since the time was over")
		return self
	def is_system(self, name):
		if name == "wsl":
			return self.door.platform == "wsl2" or "microsoft" in self.door.read("/proc/sys/kernel/osrelease").text.lower()
		return bool(self.door.platform == name)
	def _one(self, question):
		found = Found()
		if question.verb == "run":
			self._run(question, found)
			return found
		paths, unknown = self.paths(question.where)
		for path in paths:
			entries = getattr(self, f"_{question.verb}")(path, question, found)
			(unknown if entries is None else found.told).append(path)
			found.entries += [(question.group, *entry) for entry in entries or ()]
		found.unasked += unknown if found.told else [question.number] if unknown else []
		return found
	# what the table's places stand for
	def paths(self, where):
		found = {}
		unknown = []
		for one in braces(self._filled(where)):
			here = [""]
			for part in one.strip("/").split("/"):
				deeper = []
				for folder in here:
					if "*" not in part:
						deeper.append(f"{folder}/{part}")
						continue
					place = _plain_path(folder or "/")
					names = fnmatch.filter(self.door.listdir(place), part)[:MOST]
					deeper += [f"{folder}/{name}" for name in names]
					if not names and not self._known(place):
						unknown.append(f"{place}/{part}")
				here = deeper
			found.update(dict.fromkeys(map(_plain_path, here)))
		return list(found), unknown
	def _known(self, path):
		return bool(self.door.exists(path) or self.door.knows(path))
	def _filled(self, where):
		for name in re.findall(r"\{(gpu|home|prefix|site|path|lib|release|comfy)\}", where):
			if name not in self._sets:
				self._sets[name] = getattr(self, f"_set_{name}")() or ["\0"]
			where = where.replace("{" + name + "}", "{" + ",".join(self._sets[name]) + "}")
		return where
	def _set_gpu(self):
		found = []
		for address in self.door.listdir(DEVICES):
			kind, vendor = (self.door.read(f"{DEVICES}/{address}/{name}").text.strip() for name in ("class", "vendor"))
			if kind.startswith(("0x03", "0x12", "0x0b40", "0x1180")) or vendor == "0x1d95":
				bridges = re.findall(_PCI, self.door.readlink(f"{DEVICES}/{address}") or "")[1:-1]
				found += [address, *bridges[-2:]]
		return list(dict.fromkeys(found))[:MOST]
	def _set_home(self):
		home = (self.door.env("HOME") or self.door.env("USERPROFILE") or "").replace("\\", "/").rstrip("/")
		return [home] if home else []
	def _set_site(self):
		prefix, version = (str(self.door.python.get(name) or "").replace("\\", "/") for name in ("prefix", "version"))
		short = ".".join(version.split(".")[:2])
		return [f"{prefix}/lib/python{short}/site-packages", f"{prefix}/Lib/site-packages"] if prefix else []
	def _set_path(self):
		folders = (self.door.env("PATH") or "").replace("\\", "/").split(";" if self.door.platform == "windows" else ":")
		return list(dict.fromkeys(folder.rstrip("/") for folder in folders if "/" in folder))[:24]
	def _set_lib(self):
		named = (self.door.env("LD_LIBRARY_PATH") or "").split(":")
		return list(dict.fromkeys((*LIBRARY_FOLDERS, *(folder.rstrip("/") for folder in named if folder[1:]))))[:40]
	def _set_release(self):
		return self.door.read("/proc/sys/kernel/osrelease").text.split()[:1]
	def _set_comfy(self):
		places = [*COMFY_FOLDERS, *(f"{home}/{place}" for home in self._set_home() for place in COMFY_AT_HOME)]
		return [place for place in places if any(self.door.exists(f"{place}/{name}") for name in ("custom_nodes", "main.py"))][:2]
	# the verbs: None where the door cannot tell
	def _read(self, path, question, found):
		said = self.door.read(path, limit=40_000_000 if question.keep in ("dpkg", "apk") else 1_000_000)
		if said.problem:
			return {"not-recorded": None, "missing": []}.get(said.problem, [("item", path, f"!{said.problem}")])
		if question.keep in ("dpkg", "apk"):
			return self._packages(question.keep, said.text)
		text = kept(question.keep, said.text.replace("\0", "").rstrip("\n"))
		entries = [("text", path, text if path == "/etc/os-release" else self.clean.lines(text))]
		for library in LIBRARY_IN_ICD.findall(text) if "icd" in path else ():
			entries += self._there(library, question, found) or ()
		return entries
	def _packages(self, manager, text):
		by_version = {}
		release = (self._set_release() or ["?"])[0]
		for name, version in sorted(packages_in(manager, text).items()):
			if not re.match(r"linux-\w+-(unsigned-)?\d", name) or release in name:
				by_version.setdefault(self.clean.version(version), []).append(name)
		said = "; ".join(f"{version}: {' '.join(names)}" for version, names in by_version.items())
		return [("line", f"By {'dpkg-query' if manager == 'dpkg' else manager}: {said}", "")] if text.strip() else []
	def _list(self, path, question, found):
		names = self.door.listdir(path)
		if not names and not self.door.exists(path):
			return [] if self.door.knows(path) else None
		keep = "|".join(map(re.escape, self._set_gpu())) or "$^" if question.keep == "{gpu}" else question.keep
		return [("list", path, [self.clean.line(name) for name in names if kept_name(keep, name) and " " not in name][:200])]
	def _link(self, path, question, found):
		target = self.door.readlink(path)
		return [("item", path, f"->{self.clean.line(target)}")] if target is not None else [] if self._known(path) else None
	def _there(self, path, question, found):
		return [("item", path, "")] if self.door.exists(path) else [] if self.door.knows(path) else None
	def _node(self, path, question, found):
		if not self.door.exists(path):
			return [] if self.door.knows(path) else None
		mode, opens = self.door.mode(path), {True: "open", False: "closed"}.get(self.door.may_open(path), "?")
		told = "? ?:? ?:?"
		if mode is not None:
			owners = ":".join(self.clean.line(name) or "?" for name in (mode.owner, mode.group))
			told = f"{mode.mode} {owners} {':'.join('?' if each is None else str(each) for each in (mode.uid, mode.gid))}"
		return [("item", path, f"[{told} {opens}]")]
	def _run(self, question, found):
		unknown = False
		for argv in question.commands:
			if argv[0] == "ldd":
				argv = (*argv[:1], *[path for path in self.paths(argv[1])[0] if self.door.exists(path)][:1])
			if argv == ("ldd",) or ("ollama" in question.where and argv[0] != "ollama" and not self._has("ollama")):
				continue
			said = self.door.run(argv, timeout=min(question.seconds, max(0.2, self.clock.left())))
			if said.missing or said.not_recorded:
				found.missing += [argv[0]] if said.missing else []
				unknown = unknown or not said.missing
			elif argv[0] in ("dpkg-query", "rpm", "pacman"):
				if said.rc == 0 and said.stdout.strip():
					found.entries += [(question.group, *entry) for entry in self._packages(argv[0], said.stdout)]
					return
			else:
				ended = "no end" if said.timed_out else f"signal {said.signal}" if said.signal is not None else f"exit {said.rc}"
				name = next((name for name, words in COMMANDS.items() if tuple(words) == argv), "")
				name = name or shlex.join(argv if argv[0] != "ldd" else map(self.clean.line, argv))
				lines = [*self.clean.lines(kept(question.keep, said.stdout)).splitlines()]
				lines += [f"! {self.clean.line(line)}" for line in said.stderr[:600].splitlines() if line.strip()]
				found.entries.append((question.group, "command", f"$ {name}" + (f" ({ended})" if said.rc != 0 else ""), lines))
				if said.timed_out or (said.rc == 0 and (said.stdout.strip() or len(question.commands) == 1)):
					return
		if unknown and not found.entries:
			found.unasked.append(question.number)
	def _has(self, program):
		return any(form == "item" and place.endswith(f"/{program}") for _, form, place, _ in self.found.entries)
def _plain_path(path):
	path = posixpath.normpath(path)
	return path[1:] if re.match(r"^/[A-Za-z]:", path) else path
def braces(text):
	found = re.search(r"\{([^{}]*)\}", text)
	if found is None:
		return [] if "\0" in text else [text]
	return [whole for word in found[1].split(",") for whole in braces(text[: found.start()] + word + text[found.end() :])]
def content(text):
	return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


# The first part of the text: the fields of PyTorch's collect_env, by their names and in their order, so that what reads those reads this.

NONE = "Could not collect"
PACKAGES_FOLLOW = "Versions of relevant libraries:"
_QUERY = ("nvidia-smi", "--query-gpu=index,name,uuid,pci.bus_id,driver_version,memory.total,compute_cap", "--format=csv,noheader,nounits")
def heading(asker):
	for line in (*_torch(asker.door), *_system(asker), *_devices(asker), *_processor(asker.door)):
		yield asker.clean.line(line)
	yield PACKAGES_FOLLOW
	listed = asker.door.python.get("distributions")
	if listed is None:
		yield f"[pip3] {NONE}"
	for name, entry in sorted((listed or {}).items()):
		for version in (entry if isinstance(entry, list) else [entry]) if DISTRIBUTIONS.match(name) else ():
			version = version.get("version") if isinstance(version, dict) else version
			yield f"[pip3] {asker.clean.line(name)}=={asker.clean.version(str(version))}"
def _said(door, argv, pattern = r"(?s)(.*)"):
	found = re.search(pattern, door.read(argv).text if isinstance(argv, str) else door.run(argv, timeout=3.0).stdout)
	return found[1].strip() if found else ""
def _framework(door):
	torch = (door.python.get("frameworks") or {}).get("torch")
	return torch if isinstance(torch, dict) else {}
def _torch(door):
	torch = _framework(door)
	version = torch.get("version") or (door.python.get("distributions") or {}).get("torch")
	config = torch.get("config") or {}
	yield f"PyTorch version: {version or 'N/A'}"
	for label, key, none in (
		("Is debug build", "debug", NONE),
		("CUDA used to build PyTorch", "cuda", "None"),
		("ROCM used to build PyTorch", "hip", "N/A"),
	):
		value = config.get(key)
		yield f"{label}: {(none if value is None else value) if version else 'N/A'}"
def _system(asker):
	door, live = asker.door, getattr(asker.door, "live", True)
	name = _said(door, "/etc/os-release", r'PRETTY_NAME="?([^"\n]+)') or (platform.platform() if live else NONE)
	yield ""
	yield f"OS: {name}" + (f" ({platform.machine()})" if live else "")
	for label, argv, pattern in (
		("GCC", "gcc", r"(gcc .*)"),
		("Clang", "clang", r"clang version (.*)"),
		("CMake", "cmake", r"cmake version (.*)"),
	):
		yield f"{label} version: {(live and _said(door, (argv, '--version'), pattern)) or NONE}"
	yield f"Libc version: {'-'.join(platform.libc_ver()) if live else 'N/A'}"
	yield ""
	yield f"Python version: {door.python.get('version') or NONE}" + (f" ({sys.maxsize.bit_length() + 1}-bit runtime)" if live else "")
	yield f"Python platform: {platform.platform() if live else _said(door, '/proc/sys/kernel/osrelease') or NONE}"
def _devices(asker):
	door = asker.door
	torch, installed = _framework(door), door.python.get("distributions") or {}
	ids = [str(each.get("id")) for each in torch.get("devices") or () if isinstance(each, dict)]
	known = isinstance(torch.get("devices"), list)
	available = {kind: str(any(each.startswith(kind) for each in ids)) if known else NONE for kind in ("cuda", "xpu")}
	rows = [row.split(", ") for row in door.run(_QUERY, timeout=8.0).stdout.splitlines() if row.count(", ") > 5]
	names = [f"GPU {row[0]}: {row[1]}" for row in rows]
	for path in () if names else [f"/sys/bus/pci/devices/{address}" for address in asker.paths("{gpu}")[0]]:
		ids = [_said(door, f"/sys/bus/pci/devices{path}/{name}")[2:] for name in ("vendor", "device")]
		driver = (door.readlink(f"{path}/driver") or "none").rpartition("/")[2]
		names += [f"PCI {ids[0]}:{ids[1]}, driver {driver}"] if ids[0] else []
	cudnn = next((installed[name] for name in installed if name.startswith("nvidia-cudnn-cu")), NONE)
	yield f"Is CUDA available: {available['cuda']}"
	yield f"CUDA runtime version: {_said(door, ('nvcc', '--version'), r'release ([0-9.]+)') or NONE}"
	yield f"CUDA_MODULE_LOADING set to: {door.env('CUDA_MODULE_LOADING') or 'N/A'}"
	yield "GPU models and configuration: " + ("" if len(names) > 1 else "".join(names) or NONE)
	yield from names if len(names) > 1 else ()
	yield f"Nvidia driver version: {rows[0][-3] if rows else _said(door, '/proc/driver/nvidia/version', r'Module +([0-9.]+)') or NONE}"
	yield f"cuDNN version: {cudnn}"
	yield f"Is XPU available: {available['xpu']}"
	yield f"HIP runtime version: {(torch.get('config') or {}).get('hip') or 'N/A'}"
	yield "MIOpen runtime version: N/A"
	yield f"Is XNNPACK available: {NONE}"
	yield ""
def _processor(door):
	yield "CPU:"
	yield f"Model name: {_said(door, '/proc/cpuinfo', 'model name.*: (.*)') or NONE}"
	yield f"Memory: {_said(door, '/proc/meminfo', r'MemTotal: +([0-9]+ kB)') or NONE}"
	yield ""


# Writes what was answered: first the fields of collect_env, then the answers in groups, each in a form that is read back.

LIMIT = 8192
BEGIN = f"gpudoctor-env {REVISION}: what was looked at and what was found; gpudoctor explain FILE reads it"
END = "end of gpudoctor-env"
CUTS = ("older log", "libraries", "log", "packages", "programs", "runtimes", "drivers", "system", "devices", "variables")
"""What is left out, in this order, where the text would be longer than its limit."""
PRIVATE = ("USER", "HOME", "HOSTNAME", "LOGNAME", "SHELL", "DISPLAY", "LANG")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|AUTH|CREDENTIAL|ACCOUNT")
def asker_of(door, clock):
	home = (door.env("HOME") or door.env("USERPROFILE") or "").replace("\\", "/").rstrip("/")
	prefix = str(door.python.get("prefix") or "").replace("\\", "/").rstrip("/")
	user = door.env("USER") or door.env("LOGNAME") or home.rpartition("/")[2]
	hosts = [door.read(path).text.strip() for path in ("/proc/sys/kernel/hostname", "/etc/hostname")]
	places = [(home, "~")] if home else []
	if prefix not in ("", "/usr", "/usr/local"):
		short = ".".join(str(door.python.get("version") or "").split(".")[:2])
		places += [(f"{prefix}/lib/python{short}/site-packages", "{site}"), (f"{prefix}/Lib/site-packages", "{site}"), (prefix, "{prefix}")]
	hosts += [door.env(name) or "" for name in ("HOSTNAME", "COMPUTERNAME")]
	return Asker(door, clock, Cleaner(user, hosts, places))
def text(asker, limit = LIMIT):
	left_out = []
	first, why = guarded(4.0, lambda: list(heading(asker)))
	first = first or [f"unknown: the first part ({asker.clean.line(why)})", PACKAGES_FOLLOW, f"[pip3] {NONE}"]
	for cut in ("", *CUTS):
		left_out += [cut] if cut else []
		whole = _whole(asker, first, left_out)
		if len(whole.encode("utf-8", "replace")) <= limit:
			return whole
	return whole.encode("utf-8", "replace")[: limit - len(END) - 2].decode("utf-8", "ignore") + f"\n{END}\n"
def _whole(asker, first, left_out):
	clean, found = asker.clean, asker.found
	lines = [*first, "", BEGIN, f"Platform: {asker.door.platform}", *_python(asker, "libraries" not in left_out)]
	for group, title in titles().items():
		entries = [entry[1:] for entry in found.entries if entry[0] == group and group not in left_out]
		lines += [f"-- {title}"] if entries else []
		lines += _entries(entries, clean, 12 if group == "log" and "older log" in left_out else 1000)
	lines += ["-- Variables", *_variables(asker)] if "variables" not in left_out else []
	lines += [f"Not installed: {' '.join(dict.fromkeys(found.missing))}"] if found.missing else []
	unasked = _unasked(found, clean)
	lines += [f"Not stated, of the questions of the table: {unasked}"] if unasked else []
	lines += asker.troubles
	lines += [f"Left out, for want of room: {', '.join(left_out)}"] if left_out else []
	return "\n".join([*lines, END, ""])
def _python(asker, libraries):
	python, clean = asker.door.python, asker.clean
	if not python:
		return
	prefix = clean.line(str(python.get("prefix") or "?"), "~")
	yield f"-- Python {python.get('version') or '?'}, {python.get('kind') or 'kind not known'}, in {prefix}"
	for name, told in (python.get("frameworks") or {}).items():
		if isinstance(told, dict):
			keys = [key for key in told if key not in ("libraries", "file") and (told[key] or key in ("imported", "error", "devices"))]
			yield f"Import {name}: {json.dumps(clean.value({key: _short(told[key]) for key in keys}), ensure_ascii=False)}"
			folders = {}
			for each in told.get("libraries") or () if libraries else ():
				folder = clean.line(str(each.get("path") or "").rpartition("/")[0])
				folders.setdefault(f"{each.get('origin')} {folder}", []).append(clean.line(str(each.get("soname"))))
			if folders:
				yield f"Loaded by {name}: " + "; ".join(f"{folder}: {' '.join(names)}" for folder, names in folders.items())
def _short(told):
	if isinstance(told, str):
		return told if len(told) <= 1200 else told[:700] + " … " + told[-450:]
	if isinstance(told, list):
		return [_short(each) for each in told[:16]]
	return {key: _short(value) for key, value in told.items() if key != "git_version"} if isinstance(told, dict) else told
def _entries(entries, clean, most):
	folders = {}
	blocks = []
	first = {}
	shown = set()
	empty = []
	for form, place, said in entries:
		inline = form == "item" or (form == "text" and ("\n" not in said or place[:5] == "/sys/") and len(said) < 200)
		path = clean.line(place) if form in ("item", "text", "list") else place
		folder, _, name = path.rpartition("/")
		shown |= {path} if form != "list" else set()
		if inline:
			folders.setdefault(folder or "/", []).append(name + (said if form == "item" else f"={content(said)}"))
		elif form == "list":
			blocks.append((path, said))
		else:
			blocks.append((f"{path}:" if form == "text" else place, (said.split("\n") if form == "text" else said or [])[-most:]))
			shown |= {
				f"{line.partition(': ')[0]}/{name}" for line in said if "ldconfig" in place for name in line.partition(": ")[2].split()
			}
	for folder, row in folders.items():
		shape = (folder.rpartition("/")[0], *(re.split(r"=|->|!|\[", item)[0] for item in row))
		name, before = first.setdefault(shape, (folder.rpartition("/")[2], row))
		like = before is not row and len(row) > 3
		yield f"{folder} like {name}: {' '.join(item for item in row if item not in before)}" if like else f"{folder}: {' '.join(row)}"
	for place, lines in blocks:
		if place[-1:] == ":" or place[:1] == "$" or place[:3] == "By ":
			yield from (place, *(f"  {line}" for line in lines))
		else:
			names = [name for name in lines if f"{place}/{name}" not in shown]
			if names:
				yield f"{place}/: {' '.join(names)}"
			else:
				empty.append(place)
	if empty:
		yield f"Nothing {'further ' if shown else ''}in: {' '.join(empty)}"
def _variables(asker):
	names = {name for prefix in VARIABLE_PREFIXES for name in asker.door.env_names(prefix)} | set(VARIABLES)
	for name in sorted(names):
		value = asker.door.env(name)
		if value is not None and name not in PRIVATE and not _SECRET_NAME.search(name) and asker.clean.line(name) == name:
			yield f"{name}={asker.clean.line(value[:600])}"
def _unasked(found, clean):
	numbers = {each for each in found.unasked if isinstance(each, int)}
	starts, ends = (sorted(number for number in numbers if number + step not in numbers) for step in (-1, 1))
	words = [f"{start}-{end}" if start != end else f"{start}" for start, end in zip(starts, ends)]  # noqa: B905  (Python 3.8)
	told = {folder for path in found.told for folder in _above(path)}
	places = {}
	for path in (each for each in found.unasked if isinstance(each, str)):
		folder, _, name = next((folder for folder in reversed(_above(path)) if folder not in told), path).rpartition("/")
		places.setdefault(folder, {})[name] = None
	return " ".join([*words, *(clean.line(f"{folder}/{{{','.join(names)}}}") for folder, names in places.items())])
def _above(path):
	parts = path.split("/")
	return ["/".join(parts[:end]) for end in range(len(parts), 1, -1)]


# This machine, asked with the standard library alone: files, programs of PATH, and the Python environment that runs this.

MARK = "@gpudoctor "
FRAMEWORK_SECONDS = 14.0
SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "1", "TF_FORCE_GPU_ALLOW_GROWTH": "true", "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
		 "PYTHONDONTWRITEBYTECODE": "1", "PYTORCH_NVML_BASED_CUDA_CHECK": "1", "CI": "true", "KERAS_HOME": "/dev/null/none"}
_CHILD = "import sys; sys.path[0:1] = []; __file__ = 'gpudoctor'; exec(compile(sys.stdin.read(), 'gpudoctor', 'exec'))"
class Said:
	"""What a command or a file answered."""
	def __init__(self, **said):
		self.text, self.problem = "", ""
		self.rc, self.signal, self.stdout, self.stderr = None, None, "", ""
		self.missing = self.timed_out = self.not_recorded = False
		vars(self).update(said)
class NodeMode:
	"""Permissions of a path, as `ls` shows them."""
	def __init__(self, found):
		self.mode, self.uid, self.gid = stat.filemode(found.st_mode), found.st_uid, found.st_gid
		self.owner, self.group = str(self.uid), str(self.gid)
		if sys.platform == "win32":
			return
		try:
			import grp
			import pwd
			self.owner, self.group = pwd.getpwuid(self.uid).pw_name, grp.getgrgid(self.gid).gr_name
		except (ImportError, KeyError):
			pass
class LocalDoor:
	"""Answers like any other host of gpudoctor; whatever goes wrong is an answer."""
	def __init__(self):
		systems = {"win32": "windows", "cygwin": "windows", "darwin": "macos"}
		self.platform = systems.get(sys.platform, "linux")
		self.python = {}
		self._said = {}
		self._hung = set()
	def read(self, path, limit = 1_000_000):
		try:
			if not stat.S_ISREG(os.stat(path).st_mode):
				return Said(problem="io-error")
			with open(path, "rb") as file:
				return Said(text=file.read(limit).decode("utf-8", "replace"))
		except (FileNotFoundError, NotADirectoryError):
			return Said(problem="missing")
		except PermissionError:
			return Said(problem="denied")
		except OSError:
			return Said(problem="io-error")
	def listdir(self, path):
		try:
			return sorted(os.listdir(path))
		except OSError:
			return []
	def exists(self, path):
		return os.path.exists(path)
	def knows(self, path):
		return True
	def readlink(self, path):
		try:
			return os.readlink(path)
		except OSError:
			return None
	def mode(self, path):
		try:
			return NodeMode(os.stat(path))
		except OSError:
			return None
	def may_open(self, path):
		return os.access(path, os.R_OK | os.W_OK)
	def env(self, name):
		return os.environ.get(name)
	def env_names(self, prefix):
		return sorted(name for name in os.environ if name.startswith(prefix))
	def run(self, argv, timeout = 5.0, env = None, stdin_text = ""):
		key = (*argv, stdin_text)
		if argv[0] in self._hung:
			return Said(timed_out=True)
		if key not in self._said:
			self._said[key] = self._run(argv, timeout, env, stdin_text)
		if self._said[key].timed_out and argv[0] != sys.executable:
			self._hung.add(argv[0])
		return self._said[key]
	def _run(self, argv, timeout, env, stdin_text):
		program = argv[0] if os.path.isabs(argv[0]) else shutil.which(argv[0], path=_path_without_here())
		if program is None or not os.path.exists(program):
			return Said(missing=True)
		began = time.monotonic()
		try:
			child = subprocess.Popen(
				[program, *argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
				env={**os.environ, "LC_ALL": "C", **(env or {})}, cwd=os.path.abspath(os.sep),
			)
		except OSError as error:
			return Said(missing=isinstance(error, FileNotFoundError), not_recorded=not isinstance(error, FileNotFoundError))
		try:
			out, err = child.communicate(stdin_text.encode(), timeout=timeout)
			timed_out = False
		except subprocess.TimeoutExpired:
			_end(child)
			timed_out = True
			try:
				out, err = child.communicate(timeout=0.5)
			except (subprocess.TimeoutExpired, ValueError):
				out = err = b""
		code = child.returncode
		died = -code if code is not None and code < 0 and not timed_out else None
		return Said(
			rc=None if timed_out or died is not None else code, signal=died, timed_out=timed_out, seconds=time.monotonic() - began,
			stdout=out[:4_000_000].decode("utf-8", "replace"), stderr=err[:100_000].decode("utf-8", "replace"),
		)
	def inspect_python(self, seconds):
		self.python = environment()
		names = self.python["distributions"]
		assert isinstance(names, dict)
		wanted = [module for module, pattern in FRAMEWORKS.items() if any(re.fullmatch(pattern, name) for name in names)]
		self.python["frameworks"] = found = {name: {"imported": None} for name in wanted}
		workers = [threading.Thread(target=self._framework, args=(name, seconds, found), daemon=True) for name in wanted]
		for worker in workers:
			worker.start()
		self._workers = workers
	def wait(self, seconds):
		end = time.monotonic() + seconds
		for worker in self._workers:
			worker.join(max(0.0, end - time.monotonic()))
	def _framework(self, name, seconds, into):
		environment = {key: value for key, value in QUIET.items() if key not in os.environ or key in ("CI", "KERAS_HOME")}
		said = self.run([sys.executable, "-X", "utf8", "-c", _CHILD, name], seconds, environment, INSPECT)
		told, stage = {}, ""
		for line in said.stdout.splitlines():
			if line.startswith(MARK):
				part = json.loads(line[len(MARK) :])
				stage = str(part.pop("stage", ""))
				told.update(part)
		told["imported"] = bool(told.get("imported"))
		where = f"import {name}" if stage in ("import", "") else f"{name} after its import"
		tail = "\n".join(line.strip()[:300] for line in said.stderr.splitlines() if line.strip() and "Warning" not in line)[-900:]
		if said.timed_out:
			told["error"] = {"kind": "timeout", "name": "timeout", "message": f"{where}: no end after {seconds:.0f} s"}
		elif said.signal is not None:
			label = SIGNALS.get(said.signal, f"signal {said.signal}")
			told["error"] = {"kind": "signal", "name": label, "message": f"{where} died of {label}\n{tail}"}
		elif stage not in ("done", "failed"):
			told["error"] = {"kind": "exception", "name": "exit", "message": f"{where} left with status {said.rc}\n{tail}"}
		for key in ("machine", "bits", "python", "file"):
			told.pop(key, None)
		into[name] = told
def _path_without_here():
	folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
	if hasattr(os, "geteuid") and os.geteuid() == 0:
		folders = [folder for folder in folders if _is_roots(folder)]
	return os.pathsep.join(folders)
def _is_roots(folder):
	try:
		found = os.stat(folder)
	except OSError:
		return False
	return found.st_uid == 0 and not found.st_mode & 0o022
def _end(child):
	if sys.platform == "win32":
		child.kill()
		return
	try:
		os.killpg(child.pid, signal.SIGKILL)
	except OSError:
		child.kill()


# `python gpudoctor-env.py`: asks this machine, writes the text, and ends well whatever happens.

def main():
	began = time.monotonic()
	door, clock = LocalDoor(), Clock(TOTAL - 4.0)
	_, trouble = guarded(3.0, lambda: door.inspect_python(FRAMEWORK_SECONDS))
	asker, why = guarded(2.0, lambda: asker_of(door, clock))
	trouble = trouble or why
	asker = asker or Asker(door, clock, Cleaner())
	_, why = guarded(TOTAL - 4.0, asker.ask)
	guarded(TOTAL - 4.0 - (time.monotonic() - began), lambda: door.wait(FRAMEWORK_SECONDS + 1.0 - (time.monotonic() - began)))
	asker.troubles += [f"unknown: {asker.clean.line(each)}" for each in (trouble, why) if each]
	written, why = guarded(6.0, lambda: text(asker))
	report = written or f"{BEGIN}\nunknown: everything ({why})\n{END}\n"
	sys.stdout.flush()
	os.write(1, report.encode("utf-8", "replace"))
	os._exit(0)

if __name__ == "__main__":
    main()
