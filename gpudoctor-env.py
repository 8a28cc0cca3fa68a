#!/usr/bin/env python3
"""Says what GPUs, drivers and frameworks this machine and this Python have, for a bug report: at most 8 KB of text on standard output.

    python gpudoctor-env.py            also: curl -sL URL | python -, or python -I gpudoctor-env.py

It reads files and runs programs that only print; it changes nothing, needs no package, root or network, and ends within 20 seconds.
Names of people, hosts, folders and projects, addresses, serial numbers and secrets do not leave: only known words and short numbers do.
Python 3.8 and newer. Made by docs/env_script.py of gpudoctor from gpudoctor/envtext. Read its text: gpudoctor explain FILE
"""
from __future__ import annotations

import sys

if sys.path and not sys.flags.isolated and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # the folder of this file, or the current one: no module is imported from there

from importlib.util import find_spec
from pathlib import Path
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

# What is asked

REVISION=3
COMFY="{{/workspace,/opt,/app,,{C:,{home}}{,/ComfyUI_windows_portable},{home}/comfy,{home}/Documents}/ComfyUI,/comfyui}"
_INNER=re.compile(r"(?<=[{,])([^{},]*)\{([^{}]*)\}([^{},]*)(?=[,}])")
QUESTIONS=r"""
<pci> = /sys/bus/pci/devices
<table> = --query-gpu=index,name,uuid,pci.bus_id,driver_version,memory.total,compute_cap --format=csv,noheader,nounits
<vulkan> = {/etc,/usr/local/share,/usr/share,/run/opengl-driver/share}/vulkan/icd.d
<rdma> = /sys/class/infiniband
<kfd> = /sys/class/kfd/kfd/topology/nodes
<win32> = powershell -NoProfile -Command 'Get-CimInstance Win32_
<lib> = {/usr/lib/{x86_64,aarch64}-linux-gnu,{/usr/,/}lib64,/lib/x86_64-linux-gnu,/usr{,/local}/lib,/usr/lib/x86_64-linux-gnu/nvidia/current,/usr/lib64/nvidia,/usr/local/nvidia/lib{64,},/run/opengl-driver/lib,{named}}
<ollama> = {/{usr/local,usr,snap/ollama/current}/lib,{home}/AppData/Local/Programs/Ollama/lib}/ollama
<venv> = {comfy}/{.venv,venv,../.venv,../venv}
<embedded> = {comfy}/../python_embeded
[devices] GPUs, the drivers that are bound to them, and device nodes
list <pci> :: {gpu}
link <pci>/{gpu}{,/driver}
read <pci>/{gpu}/{vendor,device,class,numa_node,{max,current}_link_{speed,width},mem_info_{{vram,vis_vram,gtt}_total,{vram,gtt}_used},revision,fw_version}
read <pci>/{gpu}/resource :: largest
link /sys/class/{drm/{card,renderD},accel/accel}*/device
list /dev :: ^(nvidia|nvgpu|nvhost-gpu|kfd|dri$|dxg|ipu|accel)
node /dev/{nvidia*,kfd,dxg,ipu*,dri/card*,dri/renderD*,accel/accel*}
read <rdma>/*/{hca_type,device/numa_node,ports/*/{{phys_,}state,rate,link_layer}}
read /proc/self/limits :: ^Max locked memory
run id
read /etc/group :: ^(video|render|docker|sgx|kvm|plugdev|ipu|poplar|nvidia\w*|vglusers|rocm|kfd):
read <kfd>/*/name
read <kfd>/*/properties :: ^(simd_count|vendor_id|device_id|location_id|domain|gfx_target_version) [^0]
run lspci -nnk :: display
[drivers] Drivers and what their tools say
read /proc/sys/kernel/{osrelease,tainted}
read /proc/cmdline :: words i915|xe\.|amdgpu|radeon|nvidia|nouveau|nomodeset|iommu|pci=|pcie|blacklist|module|ipu|lockdown|efifb|simpledrm|vfio|modeset|hugepage
read {/sys/kernel/security/lockdown,/proc/driver/nvidia/version}
list /sys/module :: modules
read /proc/modules :: modules
read /sys/module/{{nvidia,amdgpu,ipu_driver}/version,{i915,xe}/parameters/force_probe,ttm/parameters/pages_limit}
run mokutil --sb-state
run nvidia-smi <table> || /usr/lib/wsl/lib/nvidia-smi <table>
run nvidia-smi -q -x || nvidia-smi :: nvidia
run modinfo -F version nvidia
run modinfo -F license nvidia
run modprobe -n -v nvidia
run dkms status
run prime-select query
run systemctl is-active nvidia-fabricmanager
list /lib/modules/{release} :: ^(build|kernel)$
read {/etc,/usr/lib,/lib}/modprobe.d/*.conf :: ^\s*(options|blacklist|install)\s+(i915|xe|amdgpu|radeon|nvidia|nouveau|snd_hda_intel|ttm|amdttm)\b
run rocminfo || /opt/rocm/bin/rocminfo :: rocminfo
run amd-smi static --json :: json gpu|gpu_data|asic|bus|driver|bdf|market_name|target_graphics_version|version
run xpu-smi discovery -j :: json xpu
run xpu-smi discovery -d 0 -j :: json xpu
run gc-info -l
run gc-info -i -d 0
run gc-monitor --json || gc-monitor :: json cards|devices|ipus|id|pid|ipu
run vipu list partitions
run popc --version
[runtimes] Compute runtimes: OpenCL, Level Zero, ROCm, CUDA, Vulkan, Poplar
run clinfo --json || clinfo --raw || clinfo || clinfo -l :: clinfo
list /etc/{OpenCL/vendors,ipuof.conf.d}
read /etc/OpenCL/vendors/*.icd
list <vulkan>
read <vulkan>/*.json :: json ICD|library_path|api_version
run vulkaninfo --summary :: vulkaninfo
run sycl-ls
there <lib>/{lib{ze_intel_gpu.so{.1,},ze_intel_gpu_legacy1.so.1,ze_loader.so{.1,},OpenCL.so.1,cuda.so.1,vulkan.so.1},intel-opencl/libigdrcl{,_legacy1}.so}
there {/opt/{xilinx/xrt/{setup.sh,lib/libxrt_driver_xdna.so},rocm*/lib/librocdxg.so},/usr/local/cuda,{/opt,{home}}/intel/oneapi/setvars.sh}
list {<lib>,/usr/lib/x86_64-linux-gnu/intel-opencl,/opt/rocm*/lib,/opt/intel/oneapi/redist/lib,/usr/local/cuda/lib64} :: libraries
link {<lib>/libcuda.so.1,/opt/rocm}
read /opt/rocm*/.info/version
run nvcc --version || /usr/local/cuda/bin/nvcc --version :: release
list {/opt,{home}}/intel/oneapi/{compiler,mkl} :: ^(\d[\d.]*|latest)$
list {/{opt{,/{gc,graphcore,poplar_sdk,poplar*,gc/poplar*,graphcore/poplar*}},usr/local,localdata,mnt/poplar,software/graphcore{,/poplar_sdk},graphcore},{home}{,/{graphcore,sdk,sdks,poplar_sdk}}} :: (?i)^(poplar|popart|graphcore|gc$|enable)
run ldconfig -p :: libraries
[system] Operating system, container, memory
read /etc/os-release :: ^(ID|ID_LIKE|NAME|PRETTY_NAME|VERSION_ID)=
run uname -a || uname -m :: uname
run systemd-detect-virt
there /{.dockerenv,run/.containerenv,.singularity.d,dev/nvidia-uvm}
read /proc/1/cgroup :: kube|docker|libpod|containers|lxc
read /proc/self/mountinfo :: mountinfo
read /proc/mounts :: mounts
read /proc/cpuinfo :: cpuinfo
read /proc/meminfo :: ^(MemTotal|MemAvailable|SwapTotal|SwapFree):
read /{sys/fs/cgroup/cpu.max,proc/device-tree/model}
read /etc/nv_tegra_release :: ^# R
[wsl] Windows Subsystem for Linux
list /proc/sys/fs/binfmt_misc :: ^WSLInterop
list /usr/lib/wsl/lib
run cmd.exe /c ver
run powershell.exe -NoProfile -Command 'Get-CimInstance Win32_VideoController | ConvertTo-Json' :: json adapter
[windows] Windows
run <win32>OperatingSystem | Select-Object Caption,Version,BuildNumber,OSArchitecture | ConvertTo-Json'
run <win32>VideoController | ConvertTo-Json' :: json adapter
run <win32>PnPEntity -Filter "PNPClass='"'"'ComputeAccelerator'"'"'" | ConvertTo-Json' :: json adapter
[macos] macOS
run sw_vers
run sysctl -n hw.memsize
run sysctl -n machdep.cpu.brand_string
run sysctl -n sysctl.proc_translated
run system_profiler SPDisplaysDataType -json :: json SPDisplaysDataType|_name|sppci_(model|cores)|_?spdisplays_(vendor|vram|mtlgpu\w+)
run uname -m
[packages] System packages that matter
run dpkg-query -W '-f=${db:Status-Abbrev}\t${binary:Package}\t${Version}\n' || rpm -qa --queryformat '%{NAME} %{VERSION}-%{RELEASE} %{ARCH}\n' || pacman -Q :: packages
[programs] Programs with a runtime of their own
there {{path},/usr/local/bin,/usr/bin,/bin,/opt/homebrew/bin,/home/linuxbrew/.linuxbrew/bin,/snap/ollama/current/bin,/Applications/Ollama.app/Contents/Resources}/{ollama,llama-server,llama-cli,llama-bench}
there {home}/AppData/Local/Programs/Ollama/ollama.exe
run ollama --version
run systemctl show ollama.service @show :: =.
run systemctl show snap.ollama.listener.service @show :: =.
run systemctl --user show ollama.service @show :: =.
run journalctl --unit=ollama @log :: ollama
run journalctl --unit=snap.ollama.listener @log :: ollama
run journalctl --user --unit=ollama @log :: ollama
read {home}/{.ollama/logs,AppData/Local/Ollama}/server.log :: ollama
run id ollama
list <ollama>
list {<ollama>/{cuda*,rocm*,vulkan*,runners},/Applications/Ollama.app/Contents/Resources} :: ggml|^(cuda|rocm|vulkan)
list <ollama>/rocm*/rocblas/library :: ^TensileLibrary_lazy_gfx
list {path} :: ^libggml
run llama-server --list-devices || llama-cli --list-devices || llama-bench --list-devices
run llama-server --version || llama-cli --version
run ldd {path}/libggml-cuda.so
run ldd {path}/libggml-hip.so
run ldd {path}/libggml-vulkan.so
run ldd {path}/libggml-sycl.so
run ldd {path}/libggml-opencl.so
list {site}/llama_cpp/lib :: ^lib(ggml|llama)
list {site}/coremltools :: ^(libcoremlpython\S*|__init__\.py)$
there {{comfy}/{main.py,comfy/cli_args.py,custom_nodes},<embedded>/python.exe}
read {comfy}/{comfyui_version.py,pyproject.toml,requirements.txt} :: ^(__version__|version|requires-python|comfyui-frontend-package)\s*=
read {comfy}/{*.sh,../*.bat} :: main\.py
read <venv>/pyvenv.cfg :: ^(version|version_info|uv) *=
list <embedded> :: ^python3\d+\.(_pth|dll|zip)$
list {<venv>/lib/python3.*,<embedded>/Lib}/site-packages :: comfy
list {comfy}/custom_nodes
read {comfy}/custom_nodes/*/requirements.txt :: ^\s*(torch|torchvision|torchaudio|xformers|onnxruntime|torch-directml)\b
list {site} :: ^vllm\S*\.dist-info$
read {site}/vllm-*.dist-info/METADATA :: ^(Metadata-Version|Name|Version|Requires-Python|Requires-Dist: (torch|flashinfer|xformers|triton))
read {site}/vllm*.dist-info/entry_points.txt
read {<venv>/lib/python3.*/site-packages,<embedded>/Lib/site-packages,{site}}/torch/version.py :: ^(__version__|debug|cuda|hip|xpu)
[log] Kernel log: lines of GPU drivers
run dmesg || journalctl -k -b --no-pager -o short-monotonic :: log
"""
def braces(text):
	inner=_INNER.search(text)
	while inner:
		text=text[: inner.start()]+",".join(inner[1]+word+inner[3] for word in inner[2].split(","))+text[inner.end() :]
		inner=_INNER.search(text)
	found=re.search(r"\{([^{}]*)\}", text)
	if found is None: return [] if "\0" in text else [text]
	return [whole for word in found[1].split(",") for whole in braces(text[: found.start()]+word+text[found.end() :])]
def spelled_out(listing): return {word for group in listing.split() for word in braces(group)}


# Tables that docs/env_script.py takes from the probes and checks

LIBRARIES=re.compile(
r"^lib(cuda|nvidia|nvml|OpenCL|ze_|igd|igc|iga|igdgmm|sycl|ur_|pi_|d3d12|dxcore|directml|hsa|amdhip|amdocl|rocm|MIOpen|rocblas|poplar|"
r"gcipuinfo|mkl_sycl|mkl_intel|ocloc|vulkan|MesaOpenCL|RusticlOpenCL|pocl|cudart|cudnn|cublas|stdc\+\+|tbb|omp|blas|lapack|dnnl|ccl)")
KERNEL_LOG=re.compile(
r"i915|\bxe\b|intel_vpu|amdxdna|amdgpu|\bkfd\b|NVRM|nvidia|nouveau|\bXid\b|snd_hda_intel|\bGuC\b|\bHuC\b|firmware|iommu|DMAR|AMD-Vi|dx"
r"gkrnl|dxgk|\bdxg\b|\bBAR \d|Resizable|taint|lockdown|Out of memory|\boom|Lockdown|module "
r"verification|PKCS|ipu\b|graphcore|simple-framebuffer|nomodeset|\bdrm\b|AER:|PCIe Bus Error|segfault|secure "
r"?boot|\bmodule\b.*\b(?:rejected|restricted)|\bnot signed\b", re.IGNORECASE)
DISTRIBUTIONS=re.compile(
r"^(?:(?:accelerate|bigdl-llm|coremltools|ctranslate2|pip|amdsmi|flashinfer-[a-z]+|llama-cpp-python|causal-conv1d|mamba-ssm|tensorrt[a"
r"-z0-9-]*|khronos-opencl-icd-loader|plaidml|vulkan|kp|kompute|taichi|wgpu|gpt4all|comfyui[a-z-]*|amd-[a-z0-9-]+|transformers|diffuser"
r"s|peft)$|(torch|pytorch|lib?torch|triton|intel|nvidia|cuda|cupy|rocm|amd-torch|tensorflow|keras|tf-keras|tf-nightly|jax|onnxruntime|"
r"ort-|openvino|optimum|oneccl|dpctl|dpcpp|mkl|xformers|bitsandbytes|flash-att|deepspeed|apex|auto-gptq|autoawq|gptqmodel|vllm|sgl|sag"
r"eattention|poptorch|popart|numpy$|protobuf$|pyopencl|pocl|opencl|ocl-icd|ipex|umf$|tcmlib$|detectron2|mmcv|natten|fbgemm))")
FRAMEWORKS="""torch intel_extension_for_pytorch torch_directml pytorch_ocl poptorch tensorflow onnxruntime openvino jax bitsandbytes xformers""".split()
OLLAMA_LOG='inference compute|Listening on|dropping integrated GPU|NVIDIA driver too old|not in compiled architectures|GPU discovery'
OPTIONS={'@show': ('--property=LoadState,ActiveState,User,Group,SupplementaryGroups,DynamicUser,Environment,EnvironmentFiles,PrivateDevices,DevicePolicy,DeviceAllow,NeedDaemonReload,FragmentPath',), '@log': (*('--output=cat', '--no-pager', '--lines=400'), f'--grep={OLLAMA_LOG}')}
VARIABLES="""
AMD_SERIALIZE_KERNEL CMPLR_ROOT COMFYUI_PATH DATASET{,_DIR,_PATH} DATA_{DIR,PATH,ROOT} FIFTYONE_DATASET_DIR
FLASHINFER_DISABLE_VERSION_CHECK HF_{DATASETS_CACHE,HOME} IGC_EnableDPEmulation IMAGENET_DIR KAGGLEHUB_CACHE KERAS_HOME
KUBERNETES_SERVICE_HOST LD_{LIBRARY_PATH,PRELOAD} LOCALAPPDATA MKLROOT OS OverrideDefaultFP64Settings PATH PROCESSOR_ARCHITECTURE PWD
PYTHON{HOME,NOUSERSITE,PATH} SETVARS_COMPLETED TFDS_DATA_DIR TORCH_HOME VIRTUAL_ENV VLLM_{ATTENTION_BACKEND,CPU_KVCACHE_SPACE,PORT,USE_V1}
WSL_DISTRO_NAME container
"""
VARIABLE_PREFIXES="""
ACCELERATE_ AMDGPU_ BIGDL_ CCL_ CL_ CONDA_ CU{BLAS_,DA_,DNN_} DIRECTML_ DML_ DNNL_ DXCORE_ GCDA_ GC_ GGML_ GPU_ GRAPHCORE_ HIP_ HSA_
INTEL_ IPEX_ IPUOF_ JAX_ KMP_ LIBGL_ LLAMA_{ARG_,CPP_} MESA_ MIOPEN_ MKL_ MPS_ NCCL_ NV{CC_,IDIA_,_} OCL_ OLLAMA_ OMP_ ONE{API_,DNN_}
OPEN{CL_,VINO_} ORT{MODULE_,_} OpenCL_ PI_ PLAIDML_ POCL_ POP{ART_,LAR_,SDK_,TORCH_} PYTORCH_ RCCL_ ROC{R_,_} RUSTICL_ SLURM_ SYCL_ TFDML_
TF_ TORCH{INDUCTOR_,_} UR_ USE_ VIPU_ VK_ XLA_ ZE{L_,S_,T_,_}
"""
LISTED_WORDS="""
acc aer akmod al{chemist,lreduce,malinux,pine,teracl} am{dgcn,dhsa,drocm,dvlk,x,zn} aname anv ap{ex,k,os,ptainer,t,u} arm{,v}
as{ahi,cend,imd} at{en,t,tn} aut{henticamd,oawq,otune} avx aws azure bandwidth battlemage bcs beegfs beignet bfloat binaries bios blas bmg
bnxt bo{ard,chs,okworm,ot} brake broadcom ca{chyos,ffe,nn,rgo} ccs cdi ce{leron,ntos,ph} cfs checkout chip cifs cl{ang,enqueue,over,vk}
cmake co{dename,llective,mgr,mm} comp{at,il,ilation,ose,utername} co{ntradiction,operative,reml} cpufreq credential ct{ion,l,r}
cu{bin,blaslt,damalloc,dart,datoolkit,file,i,init,pti,py,rand,solver} cusparse{,lt} da{emonset,maged,t} dcgm dch
de{adline,b,bian,bugfs,epspeed,mand,nse,tectron} di{ffusion,mension,sagrees,strobox} dma dmi dnf dnnlroot downgraded dozen dpc{pp,tl} dram
drvfs dtype dvmmnnk dxg{i,kio} dylib dynamo dzn ecc echo edit ef{a,i,ivars} egg en{deavouros,oent,tity} eopkg epp epyc ethernet expkeysig
extramodules fabric fallen fbgemm fdinfo fedora fell flavour fma fpga framebuffer free{dreno,zes} fuse gaudi gbits gcc gcsfuse gdrdrv
ge{force,mm,n,nai,ntoo,nuineintel} gfw gfxstream gibberish glusterfs gmm{,lib} governor gp{tq,tqmodel,udirect,uopencl} gre gsp{,lat} gtx
gu{c,est,ix} ha{bana,lf,svk,swell} hbm hea{p,rtbeat,t} hi{ghvram,pblas,pcc} honeykrisp hpu hub huc hwdata hypervisor icdl idle ifwt igdlh
igpu iigd importerror in{active,i,itstate,smod,stinct,telocl,terop,ventory} ioctl ir{dma,is,tual} isa isp ivpu jammy jaxlib jet{pack,son}
jit kern kgspbootgsprm khr kib km{d,g,od} kube{let,pods} kunlun la{ke,nes,pack,ptop,vapipe} leak lib{cl,glx,hsakmt,roctracer,ur,ze}
linuxmint llvmpipe lmem lo{adlibrary,gname,velace,wvram} lsmod lts lunar lustre lvp lxcfs ma{li,njaro,nylinux,tmul} mbits mei
met{al,ax,eor} mgag mhz mi{b,g,graphx,niconda,niforge,nutes,t} mlx mmcv mo{bile,ltenvk,unt} mpi mtl mtu mus{a,l,llinux} na{no,tten,vi} neo
neuron nfs ni{c,ghtly,nja,x,xos} nnvv no{ble,isy,va} nv{dm,idiactl,idiafb,k,link,lt,mii,mlerror,shmem,smi,switch,toolsext,vm} offload
on{eccl,line,nx} oom op{enmp,erstate,s,timum} orca orin outdated overlay{,fs}
pa{ge,nfrost,nther,nvk,ravirtual,rity,rtner,scal,ssthrough,thfinder} pciback pdev pe{ermem,ntium,rf,rsistence} phb pi{n,x,xi} pjrt pkcs
plugin pnpdeviceid po{d,dman,etry,nte,rtage,wersave,wervr} ppc privateuse{,one} pro{chot,prietary,tobuf} pstate psu pt{hread,x,xas} pubkey
pve pxb py{built,d,env,have,opencl,poetry,py} qcom qnn qu{adro,alcomm,ot} ra{deonsi,dv,ptor,spi,tl,y} rbln rcs rdering
re{cogni,covery,fus,plicas,sident} retire{d,ment} rhel ri{ng,scv,sky} rminitadapter roc{e,ep,k,kchip,ky} ro{m,otless,setta,ute} rpi
runtimeerror ryzen sageattention satisfies scatter sched sec{ded,ret,ure} severity sgl sh{aderfloat,ims,m,owallinfo} si{bling,gsegv,licon}
skylake sles slowdown smb{,fs} softpipe solus spconv spyre sram sse sshfs st{olen,rategy,uck,udio} su{bgroup,do,se} sve
sw{ap,iftshader,upd} sxm tbbroot tcmlib te{mperature,nsor,sla} th{ermal,or,rottle,roughput} timedout titan toolbox topo tpu
tr{aining,ansformers,ixie} tur{ing,nip} ubuntu udev uhd umd un{correctable,healthy,licensed,parsable,sloth} userprofile utilization uverbs
vbios ve{ga,n,nus,rb,rification} vgpu virt{io,iofs,ualenvs} vitis{,ai} vlk vmid volatile vsec watermark wddm wedged whisper{,x} wildcat
windows{apps,ml} work{load,space} wslenv xanmod xbps xdg xen xeon xgmi xnnpack xorg xtx zink zluda znver zypper
"""


# The program that a child runs to import one framework (target/payloads)

INSPECT = r'''import json
import os
import re
import sys
MARK="@gpudoctor "
ARGUMENT=sys.argv[1] if len(sys.argv)>1 else "torch"
NO_DEVICE=os.environ.get("GPUDOCTOR_NO_DEVICE")=="1"
SAID=os.dup(1)
os.dup2(2, 1)
if sys.path and os.path.realpath(sys.path[0] or ".")==os.path.dirname(os.path.realpath(__file__)): del sys.path[0]
sys.argv=["gpudoctor"]
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
WATCHED=tuple("""cuda cudnn cublas cufft nccl nvidia-ml nvrtc nvJitLink sycl ze_loader ze_intel_gpu ur_loader pi_ OpenCL igdrcl amdhip64 hsa-runtime64
rocblas MIOpen stdc++ torch_ torch. mkl_ iomp5 gomp omp tbb ccl directml d3d12 dxcore poplar popart openvino onnxruntime tensorflow dnnl""".split())
def say(**what):
	data=(MARK+json.dumps(what, default=str)+"\n").encode("utf-8", "backslashreplace")
	while data: data=data[os.write(SAID, data):]
def origin(path):
	prefix=os.path.realpath(sys.prefix)
	for kind, here in (("stub", "/stubs/" in path), ("wsl", path.startswith("/usr/lib/wsl/")),
("wheel", re.search("/(site|dist)-packages/", path)),
("conda", path.startswith(prefix+"/") and os.path.isdir(os.path.join(prefix, "conda-meta"))),
("wheel", path.startswith(prefix+"/lib/") and os.path.exists(os.path.join(prefix, "pyvenv.cfg"))), ("oneapi", "/oneapi/" in path),
("toolkit", re.search("^/usr/local/cuda|^/opt/(rocm|cuda|poplar|nvidia|intel/openvino)|/poplar", path)), ):
		if here: return kind
	return "system"
def libraries():
	found={}
	try:
		with open("/proc/self/maps", errors="replace") as maps:
			for line in maps:
				at, slash, path=line.rstrip("\n").partition("/")
				path, name=slash+path, path.rpartition("/")[2]
				if ".so" in path and name[:3]=="lib" and name[3:].startswith(WATCHED) and path not in found:
					found[path]={"soname": name, "path": path, "origin": origin(path)}
	except OSError: pass
	return list(found.values())
def chain(error):
	parts, seen=[], set()
	while error is not None and id(error) not in seen and len(parts)<4:
		seen.add(id(error))
		parts.append("%s: %s"%(type(error).__name__, str(error).strip()[:1500]))
		error=error.__cause__ or (None if error.__suppress_context__ else error.__context__)
	return "\n".join(parts)
def guarded(notes, function, *arguments):
	try: return function(*arguments)
	except Exception as error:
		notes.append("%s: %s"%(type(error).__name__, str(error).strip()[:600]))
		return None
def torch_build(torch):
	for name, label in (("hip", "rocm"), ("cuda", "cuda"), ("xpu", "xpu")):
		if getattr(torch.version, name, None): return "%s %s"%(label, getattr(torch.version, name))
	if getattr(getattr(torch, "xpu", None), "_is_compiled", lambda: False)(): return "xpu"
	if sys.platform=="darwin" and getattr(torch.backends, "mps", None) is not None and torch.backends.mps.is_built(): return "mps"
	return "cpu"
def torch_config(torch):
	config={name: getattr(torch.version, name, None) for name in ("cuda", "hip", "xpu", "debug", "git_version")}
	config["cxx11_abi"]=bool(torch._C._GLIBCXX_USE_CXX11_ABI)
	config["arch_list"]=(torch._C._cuda_getArchFlags() or "").split() if hasattr(torch._C, "_cuda_getArchFlags") else []
	config["numpy"]="ok" if getattr(torch._C, "_numpy_initialized", True) else "no"
	return config
def device(id, name, memory=None, **capabilities): return {"id": id, "name": name, "memory_bytes": memory, "capabilities": capabilities}
def torch_devices(torch, notes):
	if (torch.version.cuda or torch.version.hip) and guarded(notes, torch.cuda.is_available):
		arches=torch.cuda.get_arch_list()
		for index in range(torch.cuda.device_count()):
			p=torch.cuda.get_device_properties(index)
			arch=getattr(p, "gcnArchName", None) or "sm_%d%d"%(p.major, p.minor)
			bf16=bool(torch.version.hip) or p.major>=8
			yield device("cuda:%d"%index, p.name, p.total_memory, arch=arch, arch_list=arches, fp64=True, bf16=bf16)
	xpu=getattr(torch, "xpu", None)
	if hasattr(xpu, "is_available") and guarded(notes, xpu.is_available):
		for index in range(xpu.device_count()):
			p=xpu.get_device_properties(index)
			capabilities={name: getattr(p, key) for name, key in (
("fp64", "has_fp64"), ("fp16", "has_fp16"), ("driver", "driver_version"), ("arch", "architecture"),
("platform", "platform_name"), ("max_alloc", "max_mem_alloc_size")) if hasattr(p, key)}
			yield device("xpu:%d"%index, p.name, getattr(p, "total_memory", None), **capabilities)
	mps=getattr(torch.backends, "mps", None)
	if sys.platform=="darwin" and mps is not None and guarded(notes, mps.is_available): yield device("mps", "Apple GPU", fp64=False)
def directml_devices(module, notes): return (device("dml:%d"%i, module.device_name(i).rstrip("\0 ")) for i in range(module.device_count()))
def tensorflow_devices(tf, notes):
	counts={}
	for each in tf.config.list_physical_devices():
		kind=each.device_type
		number=counts[kind]=counts.get(kind, -1)+1
		if kind!="CPU":
			details=guarded([], tf.config.experimental.get_device_details, each) or {}
			name=str(details.get("device_name") or each.name)
			yield device("tf:%s:%d"%(kind, number), name, compute_capability=details.get("compute_capability"))
def onnxruntime_devices(ort, notes):
	names=ort.get_available_providers()
	return (device("ort:"+name, name) for name in names if name not in ("CPUExecutionProvider", "AzureExecutionProvider"))
def openvino_devices(ov, notes):
	core=ov.Core()
	for name in core.available_devices:
		called, does, memory=(guarded([], core.get_property, name, key) if key else None for key in (
"FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES", name.startswith("GPU") and "GPU_DEVICE_TOTAL_MEM_SIZE"))
		yield device("openvino:"+name, str(called or name), memory, optimization=list(does or []))
def openvino_graph(ov, device):
	import importlib
	try:
		within="openvino" if hasattr(ov, "Model") else "openvino.runtime"
		home, operations=importlib.import_module(within), importlib.import_module(within+".opset8")
		given=operations.parameter([1, 16], home.Type.f32)
		home.Core().compile_model(home.Model([operations.relu(given)], [given], "one_operation"), device)
	except Exception as error: return chain(error)
	return "compiled"
def jax_devices(jax, notes): return (device("jax:%s:%d"%(d.platform, d.id), str(d.device_kind)) for d in jax.devices() if d.platform!="cpu")
def poptorch_devices(poptorch, notes): return [device("ipu:0", "IPU")] if poptorch.ipuHardwareIsAvailable() else []
def build(name, module, version, notes):
	if name=="torch": return {"build": torch_build(module), "config": guarded(notes, torch_config, module)}
	if name=="tensorflow":
		config={k: str(v) for k, v in (guarded(notes, module.sysconfig.get_build_info) or {}).items()}
		return {"build": next((kind for kind in ("cuda", "rocm") if config.get("is_%s_build"%kind)=="True"), "cpu"), "config": config}
	if name=="onnxruntime":
		return {"build": str(guarded(notes, module.get_device) or ""), "config": {"providers": guarded(notes, module.get_available_providers)}}
	if name=="intel_extension_for_pytorch":
		has_xpu=getattr(module, "_C", None) and getattr(module, "has_xpu", None) or (lambda: "xpu" in str(version))
		return {"build": "xpu" if guarded(notes, has_xpu) else "cpu"}
	return {}
def inspect(name):
	import importlib
	import warnings
	notes=[]
	with warnings.catch_warnings(record=True) as caught:
		warnings.simplefilter("always")
		say(stage="import")
		if name in ("intel_extension_for_pytorch", "torch_directml", "pytorch_ocl", "xformers", "bitsandbytes", "poptorch"):
			torch=importlib.import_module("torch")
		module=importlib.import_module(name)
		version=getattr(module, "__version__", None)
		result={"imported": True, "version": None if version is None else str(version), "file": getattr(module, "__file__", None)}
		say(stage="imported", **result, **build(name, module, version, notes))
		lists=name.replace("intel_extension_for_pytorch", "torch").replace("torch_directml", "directml")+"_devices"
		if NO_DEVICE: say(stage="devices", devices_skipped="device busy")
		elif lists in globals():
			try:
				devices=list(globals()[lists](torch if name=="intel_extension_for_pytorch" else module, notes))
				say(stage="devices", devices=devices)
				if any(each["id"].startswith("openvino:NPU") for each in devices):
					say(stage="graph")
					say(stage="graph", npu_graph=openvino_graph(module, "NPU"))
			except Exception as error: say(stage="devices", device_error=chain(error))
		notes+=[str(warning.message)[:600] for warning in caught]
	say(stage="done", libraries=libraries(), notes=notes[:20], machine=os.uname().machine if hasattr(os, "uname") else "",
bits=64 if sys.maxsize>2**32 else 32, python=".".join(map(str, sys.version_info[:3])))
try: inspect(ARGUMENT)
except BaseException as error:
	say(stage="failed", error={"kind": "exception", "name": type(error).__name__, "message": chain(error)[:6000]}, libraries=libraries())
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)'''


# What of an answer is kept

LOG_LINES=40
_TROUBLE=re.compile(r"error|fail|fault|timed? ?out|reset|hang|xid|reject|refus|denied|unsupported|not supported|taint|oom|killed", re.I)
_MODULES=re.compile(
r"^(nvidia|nouveau|nova|amd|radeon|i915|xe$|intel_vpu|accel|drm|ttm|gpu|ipu|vfio|mei|dxg|intel_vsec|virtio|bochs|ast$|mgag|nv_peer|nvgpu|gdrdrv|habana|snd_hda_intel|Module)"
)
PACKAGES=re.compile(
r"^((lib|[ak]kmod-|xorg-x11-drv-)?nvidia|linux-(image|headers|firmware|generic|\w+-nvidia)|dkms$|cuda(-drivers|-toolkit|-runtime|-nvcc)?(-[\d-]+)?$"
r"|(lib)?(cuda1|cudnn|cublas|nccl|ze|igc|igdgmm|opencl|OpenCL|pocl|vulkan|hsa|xrt)|intel-|(oneapi-)?level-zero|ocl-icd|clinfo|mesa-(vulkan|opencl)"
r"|amd(gpu|vlk)|(amd)?rocm|hip|rocblas|miopen|comgr|beignet|clvk|firmware-|poplar)")
_NVIDIA=re.compile(
r"(driver|cuda|cuda_umd|gsp_firmware)_version|product_\w+|pci_(bus|device)_id|\w+_mig|mig_device|(compute|persistence|virtualization)_mode|license_status"
r"|((current|default)_)?power_limit|clocks_\w+_reasons?_\w+|(max|current)_link_\w+|current_(dm|ecc)|[sd]ram_uncorrectable\w*|pending_retirement"
r"|remapped_row_\w+|stat(e|us)|gpu_recovery_action|used_memory|total|used")
_UNUSED=("N/A", "[N/A]", "", "0", "No", "Not Active", "None", "Unknown")
_CL=(
r"platforms|devices|online|icd_loader|raw|CL_(PLATFORM|DEVICE)_(NAME|VENDOR|VERSION)|CL_DEVICE_(BOARD_NAME_AMD|EXTENSIONS|GLOBAL_MEM_SIZE"
r"|MAX_COMPUTE_UNITS|MAX_MEM_ALLOC_SIZE|PCI_BUS\w+|TOPOLOGY_AMD|TYPE|VENDOR_ID|OPENCL_C_FEATURES)|CL_DRIVER_VERSION|CL_ICDL_(VENDOR|VERSION)|pci_\w+"
)
_LINES={
"clinfo": rf"#PLATFORMS|({_CL})\b|^\s*(Number of (platforms|devices)|(Platform|Device) (Name|Vendor|Version|Type|Board Name|Extensions|Topology|#)"
r"|Driver Version|Max compute units|Global memory size|Max memory allocation|ICD loader|NULL)|Device #",
"vulkaninfo": r"Instance Version|^GPU\d|^\s+(apiVersion|vendorID|deviceID|device(Type|Name)|driver\w+)\s*=|ERROR|Cannot|failed",
"rocminfo": r"ROCk module|HSA Agents|^\*+|Agent \d|^\s*(Name|Marketing Name|Device Type|Compute Unit|Memory Properties):|error|[Uu]nable|fail|HSA_STATUS",
"nvidia": r"NVSMI|NVIDIA-SMI|Version|^GPU 0|failed|couldn't",
"ollama": OLLAMA_LOG, "cpuinfo": r"^(model name|flags|Features|CPU implementer)\s*:",
"modules": _MODULES.pattern, "comfy": r"^(torch|pytorch|xformers|onnxruntime|comfyui|numpy-|triton|nvidia_|intel_extension|pip-)",
"mountinfo": r"^(\S+ ){4}(/|/etc/hostname|/dev/shm) .*(docker|overlay|libpod|containers|lxc|kube|shm)",
"mounts": r"^\S+ (/|/dev/shm) |^\S+ \S+ (nfs4?|cifs|smb3|fuse.sshfs|ceph|glusterfs|drvfs|9p|virtiofs|lustre|beegfs) ", }
_KEYS={
"xpu": r"device_(list|id|name)|error|pci_(bdf_address|device_id)|drm_device|(driver|gfx_firmware)_version|memory_physical_size_byte|max_mem_alloc_size_byte",
"adapter": r"Name|Caption|AdapterCompatibility|DriverVersion|AdapterRAM|PNPDeviceID|ConfigManagerErrorCode|Status|DriverDate", }
def kept(keep, text):
	name, _, rest=keep.partition(" ")
	if name=="json" or (name=="clinfo" and text.lstrip()[:1]=="{"): return _json(text, _KEYS.get(rest, rest) or _CL)
	if name=="words": return " ".join(word for word in text.split() if re.search(rest, word))
	if name=="nvidia" and "<nvidia_smi_log" in text: return _nvidia(text[text.find("<nvidia_smi_log") :])
	if name in _FUNCTIONS: return _FUNCTIONS[name](text)
	lines=[line.rstrip() for line in text.splitlines() if not keep or re.search(_LINES.get(keep, keep), line)]
	if keep in ("cpuinfo", "modules", "clinfo"):
		lines=list(dict.fromkeys(_words(line) if keep!="modules" else line.split()[0] for line in lines))
	return "\n".join(lines if keep!="ollama" else lines[-24:])[:12_000]
def kept_name(keep, name):
	if keep=="libraries": return ".so" in name and (LIBRARIES.match(name) is not None or name.startswith("libggml"))
	return re.search(_LINES.get(keep, keep), name) is not None
def _words(line):
	found=re.match(r"(?i)(.*(?:flags|features|extensions)\s*:?\s+)(.*)", line)
	return (found[1]+" ".join(re.findall(r"(?<!\S)(?:avx|sse4|amx|fma|f16c|hypervisor|asimd|sve|lm\b)\S*|\S*fp(?:16|64)\S*", found[2]))
if found else line)
def _json(text, keys):
	start=min((at for at in (text.find("{"), text.find("[")) if at>=0), default=-1)
	try: return json.dumps(_pruned(json.JSONDecoder().raw_decode(text[start:])[0], re.compile(keys)), ensure_ascii=False)
	except ValueError: return text[:300]
def _pruned(value, keys):
	if isinstance(value, list): return [_pruned(item, keys) for item in value[:16]]
	if isinstance(value, dict):
		return {key: _pruned(item, keys) for key, item in value.items() if keys.fullmatch(str(key)) and item not in (None, "")}
	return _words(f"extensions {value}")[11:] if isinstance(value, str) and len(value)>400 else value
def _largest(text):
	sizes=[0]
	for line in text.splitlines()[:6]:
		start, end, flags=(int(word, 16) for word in line.split()[:3])
		sizes+=[end-start] if flags&0x200 else []
	return f"0x0 {max(sizes):#x} 0x200" if max(sizes) else ""
def _display(text):
	blocks=[block for block in re.split("\n(?=[0-9a-f])", text) if re.search(r"\[(03\d\d|12\d\d|0b40)\]|\[1d95", block)]
	return "\n".join(line for block in blocks for line in block.splitlines() if re.match(r"[0-9a-f]|\s+Kernel ", line))
def _nvidia(text):
	text=re.sub(r">\s+<", "><", text)
	text=re.sub(r"<(\w+)>([^<]*)</\1>", lambda leaf: leaf[0] if _NVIDIA.fullmatch(leaf[1]) and leaf[2].strip() not in _UNUSED else "", text)
	for _ in range(8): text=re.sub(r"<(?!gpu )(\w+)[^<>]*></\1>", "", text)
	return text.replace("</gpu><gpu", "</gpu>\n<gpu")
def _libraries(text):
	folders={}
	for name, kind, folder in re.findall(r"^\s*(\S+) \(([^)]*)\) => (\S+)/\S+$", text, re.M):
		if LIBRARIES.match(name) and ("64" in kind or "AArch64" in kind): folders.setdefault(folder, []).append(name)
	return "\n".join(f"{folder}: {' '.join(names)}" for folder, names in folders.items())
def _uname(text):
	words=text.split()
	return " ".join(["Linux", "host", *words[2:3], *words[-2:]]) if words[:1]==["Linux"] and len(words)>3 else text
def packages_in(manager, text):
	row=r"^.[iFWt]\S?\s*\t([^\t:]+)\S*\t(\S+)" if manager=="dpkg-query" else r"^(\S+) (\S+)"
	return {name: version for name, version in re.findall(row, text, re.M) if PACKAGES.match(name)}
def _log(text):
	seen=set()
	lines=[]
	for line in reversed(text.splitlines()):
		shape=re.sub(r"[\dA-Fa-fx]+", "0", re.sub(r"^\[[^\]]*\]", "", line))
		if KERNEL_LOG.search(line) and shape not in seen:
			seen.add(shape)
			lines.append(line.rstrip()[:240])
	troubles=[line for line in lines if _TROUBLE.search(line)][: LOG_LINES*3//4]
	others=[line for line in lines if line not in troubles][: LOG_LINES-len(troubles)]
	return "\n".join(line for line in reversed(lines) if line in troubles or line in others)
_FUNCTIONS={"largest": _largest, "display": _display, "log": _log, "libraries": _libraries, "uname": _uname}


# What may leave

HIDDEN="*"
_SECRET=re.compile(r"(?i)((?:\w*(?:passw|passphrase|token|secret|api_?key|access_?key|credential|cookie)\w*)\s{0,3}[:=]\s{0,3})(\S+)")
_BEARER=re.compile(r"(?i)\b(bearer|basic)\s+\S{6,}")
_FORMS=re.compile(r"((?<![\w.])\d{1,13}(?= *(?:\d+ +)?(?:kB|[KMG]i?B|bytes)\b)"
r"|\b[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\b|(?<![\w:])[0-9a-f]{4}:[0-9a-f]{4}(?![\w:]))"
r"|\b[A-Za-z][A-Za-z0-9+.-]{1,12}://\S+|\S+@\S*[A-Za-z]\S*"
r"|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|\b(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}\b"
r"|(?<![\w.:])(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}(?![\w.:])"
r"|(?<![\w.])(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}(?!\w|\.\d|-microsoft)"
r"|(?<![\w.])(?=(?:\D?\d){7})\d{2,}(?:-\d+)+(?!\w)|\b[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}\b"
r"|(?<!\w)\+?\d{2,4}[ /-]\d{3,4}[ -]?\d{3,}(?!\w)")
_PIECE=re.compile(r"[^\s/\\=,:;|()\[\]{}<>\"'`&?!#%$^*~]+")
_BUILD=re.compile(r"^(pop[a-z]+[\w.-]{0,40}-\d+(?:\.\d+)+\+\d+)-[0-9a-f]{10}$")
_CAMEL=re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
SUFFIXES=tuple("s es ed d ing er ly ion able".split())
PREFIXES=("lib", "re", "un")
LIBRARY="""argparse asyncio/base_events asyncio/events ctypes/__init__ doctest inspect mimetypes optparse os pdb pickle pydoc_data/topics random
shutil socket ssl statistics subprocess tarfile threading turtle urllib/request uuid venv/__init__ xmlrpc/client zipfile""".split()
def own_words():
	tables=(QUESTIONS, INSPECT, LIBRARIES, KERNEL_LOG, DISTRIBUTIONS, FRAMEWORKS, OPTIONS, spelled_out(VARIABLES+VARIABLE_PREFIXES))
	return set(re.findall(r"[a-z]{3,24}", str(tables).lower()))
def library_words():
	found=set()
	for name in LIBRARY:
		try:
			with open(os.path.join(os.path.dirname(os.__file__), f"{name}.py"), encoding="utf-8", errors="replace") as file:
				found.update(re.findall(r"\b[a-z]{3,24}\b", file.read()))
		except OSError: continue
	return found
WORDS=spelled_out(LISTED_WORDS)|own_words()|library_words()
class Cleaner:
	def __init__(self, user="", hosts=(), places=()):
		self._user=user.lower() if user not in ("root", "user") else ""
		self._private={part.lower() for host in hosts for part in (host, *host.split(".")) if len(part)>2 and part!="localhost"}
		self._private|={self._user}
		self._places=sorted(((place, name) for place, name in places if len(place)>1), key=lambda each:-len(each[0]))
	def lines(self, text):
		return "\n".join(self._json(line) if line[:1] in ("{", "[") else self.line(line[:6000]) for line in text.splitlines())
	def line(self, line, only=""):
		for place, name in self._places:
			line=line if only not in ("", name) else re.sub(re.escape(place)+r"(?![\w.-])", name.replace("\\", "/"), line)
		line=_SECRET.sub(r"\1"+HIDDEN, _BEARER.sub(HIDDEN, line))
		kept, end=[], 0
		for found in _FORMS.finditer(line):
			kept+=[self._pieces(line[end : found.start()]), found[1] or HIDDEN]
			end=found.end()
		whole="".join([*kept, self._pieces(line[end:])])
		return "".join(letter if letter.isprintable() or letter=="\t" else "?" for letter in re.sub(r"\*(?:[ ,]+\*)+", HIDDEN, whole))
	def value(self, value):
		if isinstance(value, str): return "\n".join(map(self.line, value.split("\n")))
		if isinstance(value, (list, tuple)): return [self.value(item) for item in value]
		if isinstance(value, dict): return {str(key): self.value(item) for key, item in value.items()}
		return value if isinstance(value, (bool, int, float)) or value is None else HIDDEN
	def _json(self, text):
		try: return json.dumps(self.value(json.loads(text)), ensure_ascii=False)
		except ValueError: return self.line(text)
	def version(self, text):
		plain=re.fullmatch(r"[vV]?\d[\w.!:~+-]{0,50}", text)
		return text if plain and all(len(word)<5 or known(word) for word in re.findall("[A-Za-z]+", text)) else HIDDEN
	def _pieces(self, text): return _PIECE.sub(lambda found: self._piece(found[0]), text)
	def _piece(self, piece):
		bare=piece.strip("._-+")
		if self._user and bare.lower()==self._user: return piece.replace(bare, "user")
		return piece if not bare or self.allowed(bare) else piece.replace(bare, HIDDEN)
	def allowed(self, piece):
		piece=_BUILD.sub(r"\1", piece)
		if len(piece)>90 or not piece.isascii(): return False
		if re.fullmatch(r"0x[0-9a-fA-F]{1,10}|[0-9a-f]{4}", piece) or (
LIBRARIES.match(piece) and re.fullmatch(r"\w{5,32}\.so(\.\d+)*", piece)):
			return True
		return all(self._part(part) for part in re.findall(r"[A-Za-z\d]+", piece))
	def _part(self, part):
		low=part.lower()
		if low in self._private or low in WORDS: return low not in self._private
		runs=re.findall(r"[A-Za-z]+|\d+", part)
		if len(runs)>3 and len(part)>5 and not (low[:2]=="0x" or low.rstrip("0123456789") in WORDS): return False
		digits=sum(len(run) for run in runs if run.isdigit())
		letters=[run for run in runs if run.isalpha()]
		if digits>6 or (digits>4 and not all(map(known, letters))): return False
		return all(len(run)<=2 or known(run) for run in letters)
def known(word, words=WORDS):
	low=word.lower()
	if low in words or any(low.startswith(prefix) and low[len(prefix) :] in words for prefix in PREFIXES): return True
	for stem in (low[:-len(ending)] for ending in SUFFIXES if low.endswith(ending)):
		if stem in words or f"{stem}e" in words or (stem[-1:]==stem[-2:-1] and stem[:-1] in words): return True
	parts=_CAMEL.findall(word)
	listed=[part for part in parts if part.lower() in WORDS]
	short=[part for part in parts if part not in listed]
	return len(parts)>1 and "".join(parts)==word and all(len(part)<3 for part in short) and len("".join(listed))>len(word)//2


# The Python environment that runs this

def environment(door):
	prefix=sys.prefix.replace("\\", "/")
	installed={}
	for folder in dict.fromkeys(sys.path):
		here={}
		for name in door.listdir(folder) if folder else ():
			found=re.match(r"^(.+?)-([^-]+)\.dist-info$|^([^-]+)-([^-]+?)(-py\d[\d.]*)?(-[\w.]+)?\.egg(-info)?$", name)
			if found: here.setdefault(re.sub(r"[-_.]+", "-", found[1] or found[3]).lower(), set()).add(found[2] or found[4])
		for name, versions in here.items():
			if DISTRIBUTIONS.match(name) and name not in installed: installed[name]=sorted(versions) if len(versions)>1 else min(versions)
	version=".".join(map(str, sys.version_info[:3]))
	return {"version": version, "prefix": prefix, "kind": _kind(door, prefix), "distributions": installed}
def _kind(door, prefix):
	marker=door.read(f"{prefix}/pyvenv.cfg").text
	if marker: return "uv" if re.search(r"^uv\s*=", marker, re.M) else "poetry" if "/pypoetry/" in prefix else "venv"
	if door.exists(f"{prefix}/conda-meta"): return "conda"
	return "pyenv" if "/.pyenv/versions/" in prefix else "uv" if "/uv/python/" in prefix else "system"


# Asks a door the questions of the table

SYSTEMS=("windows", "macos", "wsl")
DEVICES="/sys/bus/pci/devices"
MOST=64
LIBRARY_IN_ICD=re.compile(r"/[^\s\"']{1,200}\.so[\w.]*")
TOTAL=20.0
SECONDS=5.0
_PCI=r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_PLAIN=re.compile(r"[^\s\"\\]+")
class Question:
	def __init__(self, group, line, number):
		what, _, self.keep=line.partition(" :: ")
		self.group, self.number=group, number
		self.verb, _, self.where=what.partition(" ")
		self.commands={argv_of(command): command for command in (self.where.split(" || ") if self.verb=="run" else ())}
def argv_of(command): return tuple(part for word in shlex.split(command) for part in OPTIONS.get(word, (word,)))
def questions():
	found=[]
	names={}
	group=""
	for line in QUESTIONS.strip().splitlines():
		for name, meaning in names.items(): line=line.replace(name, meaning)
		if line[0]=="<":
			name, _, meaning=line.partition(" = ")
			names[name]=meaning
		elif line[0]=="[": group=line[1 : line.index("]")]
		else: found.append(Question(group, line, len(found)+1))
	return found
def titles(): return dict(re.findall(r"^\[(\w+)\] (.*)$", QUESTIONS, re.M))
class Clock:
	def __init__(self, seconds=TOTAL): self._end=time.monotonic()+seconds
	def left(self): return self._end-time.monotonic()
def guarded(seconds, function):
	box=[]
	def work():
		try: box.append((function(), ""))
		except BaseException as error: box.append((None, f"{type(error).__name__}: {error}"))
	worker=threading.Thread(target=work, daemon=True)
	worker.start()
	worker.join(max(0.05, seconds))
	return box[0] if box else (None, f"no answer after {seconds:.0f} s")
class Found:
	def __init__(self):
		self.entries=[]
		self.missing=[]
		self.unasked=[]
	def add(self, other):
		for name, value in vars(self).items(): value.extend(getattr(other, name))
class Asker:
	def __init__(self, door, clock, clean):
		self.door, self.clock, self.clean=door, clock, clean
		self.found=Found()
		self.troubles=[]
		self._places={}
	def ask(self):
		for question in questions():
			if question.group in SYSTEMS and not self.is_system(question.group): continue
			limit=min(SECONDS*max(1, len(question.commands))+1.5, self.clock.left())
			found, why=guarded(limit, lambda question=question: self._one(question)) if limit>0.2 else (None, "")
			if found:
				self.found.add(found)
				continue
			self.found.unasked.append(question.number)
			if why:
				where=self.clean.line(question.where[:60])
				self.troubles.append(f"unknown: question {question.number} ({where}): {self.clean.line(why)}")
		if self.clock.left()<=0.2: self.troubles.append("unknown: the rest, since the time was over")
		return self
	def is_system(self, name):
		if name=="wsl": return self.door.platform=="wsl2" or "microsoft" in self.door.read("/proc/sys/kernel/osrelease").text.lower()
		return bool(self.door.platform==name)
	def _one(self, question):
		found=Found()
		if question.verb=="run":
			self._run(question, found)
			return found
		for path in self.paths(question.where):
			found.entries+=[(question.group, *entry) for entry in getattr(self, f"_{question.verb}")(path, question)]
		return found
	def unasked(self): return " ".join(map(str, self.found.unasked))
	def paths(self, where):
		found={}
		for one in braces(self._filled(where)):
			here=[""]
			for part in one.strip("/").split("/"):
				here=[f"{folder}/{name}" for folder in here for name in (self._matching(folder, part) if "*" in part else [part])]
			found.update(dict.fromkeys(map(_plain_path, here)))
		return list(found)
	def _matching(self, folder, part): return fnmatch.filter(self.door.listdir(_plain_path(folder or "/")), part)[:MOST]
	def _filled(self, where):
		for name in re.findall(r"\{(gpu|home|site|path|named|release|comfy)\}", where):
			where=where.replace("{"+name+"}", "{"+",".join(self.places(name) or ["\0"])+"}")
		return where
	def places(self, name):
		if name not in self._places:
			self._places[name]=[each for each in dict.fromkeys(self._named(name)) if not set("{},")&set(each)][:MOST]
		return self._places[name]
	def _named(self, name):
		door, home=self.door, home_of(self.door)
		if name=="gpu": return self._gpus()
		if name=="home": return [home] if home else []
		if name=="site": return sites_of(door)
		if name=="release": return door.read("/proc/sys/kernel/osrelease").text.split()[:1]
		if name=="comfy":
			folders=braces(self._filled(COMFY))
			return [place for place in folders if door.exists(f"{place}/custom_nodes") or door.exists(f"{place}/main.py")][:2]
		folders=plain(door.env("PATH" if name=="path" else "LD_LIBRARY_PATH")).split(";" if door.platform=="windows" else ":")
		return [folder.rstrip("/") for folder in folders if "/" in folder and folder[1:]][:24]
	def _gpus(self):
		for address in self.door.listdir(DEVICES):
			kind, vendor=(self.door.read(f"{DEVICES}/{address}/{name}").text.strip() for name in ("class", "vendor"))
			if kind.startswith(("0x03", "0x12", "0x0b40", "0x1180")) or vendor=="0x1d95" or (kind[:6], vendor)==("0x0680", "0x10de"):
				bridges=re.findall(_PCI, self.door.readlink(f"{DEVICES}/{address}") or "")[1:-1]
				yield from (address, *bridges[-2:])
	def _read(self, path, question):
		result=self.door.read(path)
		if result.problem: return [("item", path, f"!{result.problem}")] if result.problem not in ("missing", "not-recorded") else []
		lines=kept(question.keep, result.text.replace("\0", "").rstrip("\n"))
		entries=[("text", path, lines if path=="/etc/os-release" else self.clean.lines(lines))]
		for library in LIBRARY_IN_ICD.findall(lines) if "icd" in path else (): entries+=self._there(library, question)
		return entries
	def _packages(self, manager, text):
		by_version={}
		release=(self.places("release") or ["?"])[0]
		for name, version in sorted(packages_in(manager, text).items()):
			if not re.match(r"linux-\w+-(unsigned-)?\d", name) or release in name:
				by_version.setdefault(self.clean.version(version), []).append(name)
		listed="; ".join(f"{version}: {' '.join(names)}" for version, names in by_version.items())
		return [("line", f"By {manager}: {listed}", "")] if text.strip() else []
	def _list(self, path, question):
		names=self.door.listdir(path)
		if not names and not self.door.exists(path): return []
		keep="|".join(map(re.escape, self.places("gpu"))) or "$^" if question.keep=="{gpu}" else question.keep
		return [("list", path, [self.clean.line(name) for name in names if kept_name(keep, name) and " " not in name][:200])]
	def _link(self, path, question):
		target=self.door.readlink(path)
		return [("item", path, f"->{self.clean.line(target)}")] if target is not None else []
	def _there(self, path, question): return [("item", path, "")] if self.door.exists(path) else []
	def _node(self, path, question):
		if not self.door.exists(path): return []
		mode, opens=self.door.mode(path), {True: "open", False: "closed"}.get(self.door.may_open(path), "?")
		shown="? ?:? ?:?"
		if mode is not None:
			owner, group=(self.clean.line(name) or "?" for name in (mode.owner, mode.group))
			shown=f"{mode.mode} {owner}:{group} {mode.uid}:{mode.gid}".replace("None", "?")
		return [("item", path, f"[{shown} {opens}]")]
	def _run(self, question, found):
		unknown=False
		for argv in question.commands:
			if argv[0]=="ldd": argv=(*argv[:1], *[path for path in self.paths(argv[1]) if self.door.exists(path)][:1])
			if argv==("ldd",) or ("ollama" in question.where and argv[0]!="ollama" and not self._has("ollama")): continue
			result=self.door.run(argv, timeout=min(SECONDS, max(0.2, self.clock.left())))
			if result.missing or result.not_recorded:
				found.missing+=[argv[0]] if result.missing else []
				unknown=unknown or not result.missing
			elif argv[0] in ("dpkg-query", "rpm", "pacman"):
				if result.rc==0 and result.stdout.strip():
					found.entries+=[(question.group, *entry) for entry in self._packages(argv[0], result.stdout)]
					return
			else:
				found.entries.append((question.group, "command", *self._output(question, argv, result)))
				if result.timed_out or (result.rc==0 and (result.stdout.strip() or len(question.commands)==1)): return
		if unknown and not found.entries: found.unasked.append(question.number)
	def _output(self, question, argv, result):
		ended="no end" if result.timed_out else f"signal {result.signal}" if result.signal is not None else f"exit {result.rc}"
		name=question.commands.get(argv) or " ".join(map(self.clean.line, argv))
		lines=self.clean.lines(kept(question.keep, result.stdout)).splitlines()
		lines+=[f"! {self.clean.line(line)}" for line in result.stderr[:600].splitlines() if line.strip()]
		return f"$ {name}"+(f" ({ended})" if result.rc!=0 else ""), lines
	def _has(self, program): return any(form=="item" and place.endswith(f"/{program}") for _, form, place, _ in self.found.entries)
def _plain_path(path):
	path=posixpath.normpath(path)
	return path[1:] if re.match(r"^/[A-Za-z]:", path) else path
def plain(path): return str(path or "").replace("\\", "/").rstrip("/")
def home_of(door): return plain(door.env("HOME") or door.env("USERPROFILE"))
def sites_of(door):
	prefix, version=plain(door.python.get("prefix")), str(door.python.get("version")).split(".")
	return [f"{prefix}/lib/python{'.'.join(version[:2])}/site-packages", f"{prefix}/Lib/site-packages"] if prefix else []
def content(text): return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


# The first part of the text

NONE="Could not collect"
PACKAGES_FOLLOW="Versions of relevant libraries:"
HEADING="""\
PyTorch version: {torch}
Is debug build: {debug}
CUDA used to build PyTorch: {with_cuda}
ROCM used to build PyTorch: {with_rocm}

OS: {os}
GCC version: {gcc}
Clang version: {clang}
CMake version: {cmake}
Libc version: {libc}

Python version: {python}
Python platform: {platform}
Is CUDA available: {cuda}
CUDA runtime version: {runtime}
CUDA_MODULE_LOADING set to: {loading}
GPU models and configuration: {gpus}
Nvidia driver version: {driver}
cuDNN version: {cudnn}
Is XPU available: {xpu}
HIP runtime version: {hip}
MIOpen runtime version: N/A
Is XNNPACK available: Could not collect

CPU:
Model name: {processor}
Memory: {memory}
"""
def heading(asker):
	values={**_of_torch(asker.door), **_of_system(asker.door), **_of_devices(asker)}
	for line in HEADING.format(**{name: value or NONE for name, value in values.items()}).split("\n"): yield asker.clean.line(line)
	yield PACKAGES_FOLLOW
	listed=asker.door.python.get("distributions")
	if listed is None: yield f"[pip3] {NONE}"
	for name, entry in sorted((listed or {}).items()):
		for version in (entry if isinstance(entry, list) else [entry]) if DISTRIBUTIONS.match(name) else ():
			version=version.get("version") if isinstance(version, dict) else version
			yield f"[pip3] {asker.clean.line(name)}=={asker.clean.version(str(version))}"
def _said(door, argv, pattern):
	found=re.search(pattern, door.read(argv).text if isinstance(argv, str) else door.run(argv, timeout=3.0).stdout)
	return found[1].strip() if found else ""
def _of_torch(door):
	torch=(door.python.get("frameworks") or {}).get("torch")
	installed=door.python.get("distributions") or {}
	torch=torch if isinstance(torch, dict) else {}
	devices=torch.get("devices")
	version, config=torch.get("version") or installed.get("torch"), torch.get("config") or {}
	values={"torch": version or "N/A", "hip": config.get("hip") or "N/A"}
	for name, key, none in ("debug", "debug", NONE), ("with_cuda", "cuda", "None"), ("with_rocm", "hip", "N/A"):
		values[name]=str(none if config.get(key) is None else config[key]) if version else "N/A"
	for name in ("cuda", "xpu") if isinstance(devices, list) else ():
		values[name]=str(any(str(each.get("id")).startswith(name) for each in devices if isinstance(each, dict)))
	values["cudnn"]=next((installed[name] for name in installed if name.startswith("nvidia-cudnn-cu")), NONE)
	return {"cuda": NONE, "xpu": NONE, **values}
def _of_system(door):
	values={"os": _said(door, "/etc/os-release", r'PRETTY_NAME="?([^"\n]+)'), "gcc": _said(door, ("gcc", "--version"), "(gcc .*)"),
"clang": _said(door, ("clang", "--version"), "clang version (.*)"), "cmake": _said(door, ("cmake", "--version"), "cmake version (.*)"),
"libc": "N/A", "python": door.python.get("version"), "platform": _said(door, "/proc/sys/kernel/osrelease", "(.*)"),
"processor": _said(door, "/proc/cpuinfo", "model name.*: (.*)"), "memory": _said(door, "/proc/meminfo", r"MemTotal: +([0-9]+ kB)"),
}
	if getattr(door, "live", True):
		here=platform.platform()
		values.update(os=f"{values['os'] or here} ({platform.machine()})", libc="-".join(platform.libc_ver()), platform=here)
		values["python"]=f"{values['python'] or NONE} ({sys.maxsize.bit_length() + 1}-bit runtime)"
	return values
def _of_devices(asker):
	door=asker.door
	query=next(next(iter(question.commands)) for question in questions() if "--query-gpu" in question.where)
	rows=[row.split(", ") for row in door.run(query, timeout=8.0).stdout.splitlines() if row.count(", ")>5]
	names=[f"GPU {row[0]}: {row[1]}" for row in rows]
	for path in () if names else [f"{DEVICES}/{address}" for address in asker.places("gpu")]:
		kind, vendor, device=(_said(door, f"{path}/{name}", "0x(.*)") for name in ("class", "vendor", "device"))
		driver=(door.readlink(f"{path}/driver") or "none").rpartition("/")[2]
		names+=[f"PCI {vendor}:{device}, driver {driver}"] if vendor and kind[:2]!="06" else []
	return {"runtime": _said(door, ("nvcc", "--version"), r"release ([0-9.]+)"), "loading": door.env("CUDA_MODULE_LOADING") or "N/A",
"gpus": "\n".join(["", *names] if len(names)>1 else names),
"driver": rows[0][-3] if rows else _said(door, "/proc/driver/nvidia/version", r"Module +([0-9.]+)"), }


# Writes what was answered

LIMIT=8192
BEGIN=f"gpudoctor-env {REVISION}: what was looked at and what was found; gpudoctor explain FILE reads it"
END="end of gpudoctor-env"
CUTS=("older log", "libraries", "log", "packages", "programs", "runtimes", "drivers", "system", "devices", "variables")
PRIVATE=("USER", "HOME", "HOSTNAME", "LOGNAME", "SHELL", "DISPLAY", "LANG")
_SECRET_NAME=re.compile(r"KEY|TOKEN|SECRET|PASS|AUTH|CREDENTIAL|ACCOUNT")
def asker_of(door, clock, kind=Asker):
	home, prefix=home_of(door), plain(door.python.get("prefix"))
	user=door.env("USER") or door.env("LOGNAME") or home.rpartition("/")[2]
	hosts=[door.read(path).text.strip() for path in ("/proc/sys/kernel/hostname", "/etc/hostname")]
	hosts+=[door.env(name) or "" for name in ("HOSTNAME", "COMPUTERNAME")]
	places=[(home, "~")]
	if prefix not in ("", "/usr", "/usr/local"): places+=[*((folder, "{site}") for folder in sites_of(door)), (prefix, "{prefix}")]
	return kind(door, clock, Cleaner(user, hosts, places))
def text(asker, limit=LIMIT):
	first, why=guarded(4.0, lambda: list(heading(asker)))
	first=first or [f"unknown: the first part ({asker.clean.line(why)})", PACKAGES_FOLLOW, f"[pip3] {NONE}"]
	left_out=[]
	for cut in CUTS:
		if _fits(asker, first, left_out, limit): break
		left_out.append(cut)
	for cut in left_out[-2::-1]:
		fewer=[each for each in left_out if each!=cut]
		left_out=fewer if _fits(asker, first, fewer, limit) else left_out
	whole=_whole(asker, first, left_out).encode("utf-8", "replace")
	return (whole if len(whole)<=limit else whole[: limit-len(END)-2]+f"\n{END}\n".encode()).decode("utf-8", "ignore")
def _fits(asker, first, left_out, limit): return len(_whole(asker, first, left_out).encode("utf-8", "replace"))<=limit
def _whole(asker, first, left_out):
	clean, found=asker.clean, asker.found
	lines=[*first, "", BEGIN, f"Platform: {asker.door.platform}", *_python(asker, "libraries" not in left_out)]
	for group, title in titles().items():
		entries=[entry[1:] for entry in found.entries if entry[0]==group and group not in left_out]
		lines+=[f"-- {title}"] if entries else []
		lines+=_entries(entries, clean, 12 if group=="log" and "older log" in left_out else 1000)
	lines+=["-- Variables", *_variables(asker)] if "variables" not in left_out else []
	lines+=[f"Not installed: {' '.join(dict.fromkeys(found.missing))}"] if found.missing else []
	unasked=asker.unasked()
	lines+=[f"Not stated, of the questions of the table: {unasked}"] if unasked else []
	lines+=asker.troubles
	lines+=[f"Left out, for want of room: {', '.join(left_out)}"] if left_out else []
	return "\n".join([*lines, END, ""])
def _python(asker, libraries):
	python, clean=asker.door.python, asker.clean
	if not python: return
	prefix=clean.line(str(python.get("prefix") or "?"), "~")
	yield f"-- Python {python.get('version') or '?'}, {python.get('kind') or 'kind not known'}, in {prefix}"
	for name, framework in (python.get("frameworks") or {}).items():
		if not isinstance(framework, dict): continue
		shown={key: value for key, value in framework.items() if key not in ("libraries", "file")}
		shown={key: _short(value) for key, value in shown.items() if value or key in ("imported", "error", "devices")}
		yield f"Import {name}: {json.dumps(clean.value(shown), ensure_ascii=False)}"
		folders={}
		for each in framework.get("libraries") or () if libraries else ():
			folder=clean.line(str(each.get("path")).rpartition("/")[0])
			folders.setdefault(f"{each.get('origin')} {folder}", []).append(clean.line(str(each.get("soname"))))
		if folders: yield f"Loaded by {name}: "+"; ".join(f"{folder}: {' '.join(names)}" for folder, names in folders.items())
def _short(value):
	if isinstance(value, str) and len(value)>1200: return value[:700]+" … "+value[-450:]
	if isinstance(value, list): return [_short(each) for each in value[:16]]
	return {key: _short(each) for key, each in value.items() if key!="git_version"} if isinstance(value, dict) else value
def _entries(entries, clean, most):
	folders={}
	blocks=[]
	first={}
	shown=set()
	empty=[]
	for form, place, answer in entries:
		path=clean.line(place) if form in ("item", "text", "list") else place
		folder, _, name=path.rpartition("/")
		if form=="list":
			blocks.append((path, answer))
			continue
		shown.add(path)
		if form=="item" or (form=="text" and ("\n" not in answer or place[:5]=="/sys/") and len(answer)<200):
			folders.setdefault(folder or "/", []).append(name+(answer if form=="item" else f"={content(answer)}"))
			continue
		blocks.append((f"{path}:" if form=="text" else place, (answer.split("\n") if form=="text" else answer or [])[-most:]))
		for line in answer if "ldconfig" in place else ():
			folder, _, names=line.partition(": ")
			shown|={f"{folder}/{name}" for name in names.split()}
	for folder, row in folders.items():
		shape=(folder.rpartition("/")[0], *(re.split(r"=|->|!|\[", item)[0] for item in row))
		name, before=first.setdefault(shape, (folder.rpartition("/")[2], row))
		like=before is not row and len(row)>3
		yield f"{folder} like {name}: {' '.join(item for item in row if item not in before)}" if like else f"{folder}: {' '.join(row)}"
	for place, lines in blocks:
		if place[-1:]==":" or place[:1]=="$" or place[:3]=="By ":
			yield from (place, *(f"  {line}" for line in lines))
			continue
		names=[name for name in lines if f"{place}/{name}" not in shown]
		if names: yield f"{place}/: {' '.join(names)}"
		else: empty.append(place)
	if empty: yield f"Nothing {'further ' if shown else ''}in: {' '.join(empty)}"
def _variables(asker):
	names={name for prefix in spelled_out(VARIABLE_PREFIXES) for name in asker.door.env_names(prefix)}|spelled_out(VARIABLES)
	for name in sorted(names):
		value=asker.door.env(name)
		if value is not None and name not in PRIVATE and not _SECRET_NAME.search(name) and asker.clean.line(name)==name:
			yield f"{name}={asker.clean.line(value[:600])}"


# This machine

MARK="@gpudoctor "
FRAMEWORK_SECONDS=14.0
QUIET="""TF_CPP_MIN_LOG_LEVEL=1 TF_FORCE_GPU_ALLOW_GROWTH=true XLA_PYTHON_CLIENT_PREALLOCATE=false PYTHONDONTWRITEBYTECODE=1
PYTORCH_NVML_BASED_CUDA_CHECK=1 KERAS_HOME=/dev/null/none"""
_CHILD="import sys; sys.path[0:1] = []; __file__ = 'gpudoctor'; exec(compile(sys.stdin.read(), 'gpudoctor', 'exec'))"
class Said:
	def __init__(self, **said):
		self.text=self.problem=self.stdout=self.stderr=""
		self.rc=None
		self.signal=None
		self.missing=self.timed_out=self.not_recorded=False
		vars(self).update(said)
class LocalDoor:
	def __init__(self):
		systems={"win32": "windows", "cygwin": "windows", "darwin": "macos"}
		self.platform=systems.get(sys.platform, "linux")
		self.python={}
		self._said={}
		self._hung=set()
	def read(self, path):
		try:
			if stat.S_ISREG(os.stat(path).st_mode):
				with open(path, "rb") as file: return Said(text=file.read(1_000_000).decode("utf-8", "replace"))
		except (FileNotFoundError, NotADirectoryError): return Said(problem="missing")
		except PermissionError: return Said(problem="denied")
		except OSError: pass
		return Said(problem="io-error")
	def listdir(self, path):
		try: return sorted(os.listdir(path))
		except OSError: return []
	def exists(self, path): return os.path.exists(path)
	def readlink(self, path):
		try: return os.readlink(path)
		except OSError: return None
	def mode(self, path):
		try: found=os.stat(path)
		except OSError: return None
		owner, group=str(found.st_uid), str(found.st_gid)
		try:
			here=Path(path)
			owner, group=here.owner(), here.group()
		except (KeyError, NotImplementedError): pass
		return Said(mode=stat.filemode(found.st_mode), uid=found.st_uid, gid=found.st_gid, owner=owner, group=group)
	def may_open(self, path): return os.access(path, os.R_OK|os.W_OK)
	def env(self, name): return os.environ.get(name)
	def env_names(self, prefix): return sorted(name for name in os.environ if name.startswith(prefix))
	def run(self, argv, timeout=5.0):
		if argv[0] in self._hung: return Said(timed_out=True)
		said=self._said[argv]=self._said.get(argv) or self._run(argv, timeout)
		if said.timed_out: self._hung.add(argv[0])
		return said
	def _run(self, argv, timeout, env=os.environ, stdin_text=""):
		program=argv[0] if os.path.isabs(argv[0]) else shutil.which(argv[0], path=_path_without_here())
		if program is None or not os.path.exists(program): return Said(missing=True)
		try:
			child=subprocess.Popen(
[program, *argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
env={**env, "LC_ALL": "C"}, cwd=os.path.abspath(os.sep), )
		except OSError as error: return Said(**{"missing" if isinstance(error, FileNotFoundError) else "not_recorded": True})
		said=Said()
		out=err=b""
		try:
			out, err=child.communicate(stdin_text.encode(), timeout=timeout)
			said.rc, said.signal=(child.returncode, None) if child.returncode>=0 else (None, -child.returncode)
		except subprocess.TimeoutExpired:
			_end(child)
			said.timed_out=True
			try: out, err=child.communicate(timeout=0.5)
			except (subprocess.TimeoutExpired, ValueError): pass
		said.stdout, said.stderr=out[:4_000_000].decode("utf-8", "replace"), err[:100_000].decode("utf-8", "replace")
		return said
	def inspect_python(self, seconds):
		self.python=environment(self)
		wanted=[name for name in FRAMEWORKS if getattr(find_spec(name), "origin", None)]
		self.python["frameworks"]=found={name: {"imported": None} for name in wanted}
		self._workers=[threading.Thread(target=self._framework, args=(name, seconds, found), daemon=True) for name in wanted]
		for worker in self._workers: worker.start()
	def wait(self, seconds):
		end=time.monotonic()+seconds
		for worker in self._workers: worker.join(max(0.0, end-time.monotonic()))
	def _framework(self, name, seconds, into):
		quiet=dict(each.split("=") for each in QUIET.split())
		environment={**quiet, **os.environ, "CI": "true", "KERAS_HOME": quiet["KERAS_HOME"]}
		said=self._run([sys.executable, "-X", "utf8", "-c", _CHILD, name], seconds, environment, INSPECT)
		found={}
		stage=""
		for line in said.stdout.splitlines():
			if line.startswith(MARK):
				found.update(json.loads(line[len(MARK) :]))
				stage=str(found.pop("stage", ""))
		found["imported"]=bool(found.get("imported"))
		where=f"import {name}" if stage in ("import", "") else f"{name} after its import"
		tail="\n".join(line.strip()[:300] for line in said.stderr.splitlines() if line.strip() and "Warning" not in line)[-900:]
		kind, label, message="exception", "exit", f" left with status {said.rc}\n{tail}"
		if said.timed_out: kind, label, message="timeout", "timeout", f": no end after {seconds:.0f} s"
		elif said.signal is not None:
			kind, label="signal", {each.value: each.name for each in signal.Signals}.get(said.signal, f"signal {said.signal}")
			message=f" died of {label}\n{tail}"
		if kind!="exception" or stage not in ("done", "failed"):
			found["error"]={"kind": kind, "name": label, "message": f"{where}{message}"}
		into[name]={key: value for key, value in found.items() if key not in ("machine", "bits", "python", "file")}
def _path_without_here():
	folders=[folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
	return os.pathsep.join(folder for folder in folders if not hasattr(os, "geteuid") or os.geteuid() or _is_roots(folder))
def _is_roots(folder):
	try: found=os.stat(folder)
	except OSError: return False
	return found.st_uid==0 and not found.st_mode&0o022
def _end(child):
	if sys.platform!="win32":
		try: return os.killpg(child.pid, signal.SIGKILL)
		except OSError: pass
	child.kill()


# `python gpudoctor-env.py`

def main():
	began=time.monotonic()
	door, clock=LocalDoor(), Clock(TOTAL-4.0)
	_, trouble=guarded(3.0, lambda: door.inspect_python(FRAMEWORK_SECONDS))
	asker, why=guarded(2.0, lambda: asker_of(door, clock))
	trouble=trouble or why
	asker=asker or Asker(door, clock, Cleaner())
	_, why=guarded(TOTAL-4.0, asker.ask)
	guarded(TOTAL-4.0-(time.monotonic()-began), lambda: door.wait(FRAMEWORK_SECONDS+1.0-(time.monotonic()-began)))
	asker.troubles+=[f"unknown: {asker.clean.line(each)}" for each in (trouble, why) if each]
	written, why=guarded(6.0, lambda: text(asker))
	report=written or f"{BEGIN}\nunknown: everything ({why})\n{END}\n"
	sys.stdout.flush()
	os.write(1, report.encode("utf-8", "replace"))
	os._exit(0)

if __name__ == "__main__":
    main()
