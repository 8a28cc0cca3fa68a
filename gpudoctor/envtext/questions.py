"""What is asked, as a table: one question a line, in groups. The order of the groups is the order of the text.

    VERB WHERE [:: KEEP]

`read` a file, `list` a folder, `node` a device node, `link` the target of a link, `there` whether something exists, `run` a command (of those on
one line, separated by ` || `, the first that answers). KEEP is an expression for the
lines, names or JSON keys that are kept, or a name of kept.py. `*` stands for names, `{a,b}` for each of them, `<name>` for the text that a line
`<name> = text` gives it, and these for what is on this machine:

`{gpu}` PCI addresses of GPUs, accelerators and NVSwitches, and of the bridges above them; `{home}`; `{site}` the packages of the Python environment; `{path}`
folders of PATH; `{named}` those of LD_LIBRARY_PATH; `{release}` of the kernel; `{comfy}` where ComfyUI lies.
A word `@name` of a command stands for those that derived.OPTIONS has for it; the text shows the name.
"""

from __future__ import annotations

import re

REVISION = 3
"""Of this table; it grows with each change. A reader takes what an older table did not ask as not recorded."""
COMFY = "{{/workspace,/opt,/app,,{C:,{home}}{,/ComfyUI_windows_portable},{home}/comfy,{home}/Documents}/ComfyUI,/comfyui}"
"""Where ComfyUI may lie."""
_INNER = re.compile(r"(?<=[{,])([^{},]*)\{([^{}]*)\}([^{},]*)(?=[,}])")
QUESTIONS = r"""
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


def braces(text: str) -> list[str]:
    """`a{b,c}` is ab and ac; groups may lie in groups. A text with a mark for what is not on this machine (NUL) is none."""
    inner = _INNER.search(text)
    while inner:
        text = text[: inner.start()] + ",".join(inner[1] + word + inner[3] for word in inner[2].split(",")) + text[inner.end() :]
        inner = _INNER.search(text)
    found = re.search(r"\{([^{}]*)\}", text)
    if found is None:
        return [] if "\0" in text else [text]
    return [whole for word in found[1].split(",") for whole in braces(text[: found.start()] + word + text[found.end() :])]


def spelled_out(listing: str) -> set[str]:
    """The words of a listing in which those that begin alike are written as one: `cu{bin,fft}`."""
    return {word for group in listing.split() for word in braces(group)}
