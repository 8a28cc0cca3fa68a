"""What is asked, as a table: one question a line, in groups. The order of the groups is the order of the text.

    [else] VERB WHERE [:: KEEP]

`read` a file, `list` a folder, `node` a device node, `link` the target of a link, `there` whether something exists, `run` a command (with its
time limit in seconds; `else`: only where the question before was not answered; of commands on one line, separated by ` || `, the first that answers). KEEP is an expression for the lines, names or
JSON keys that are kept. `*` stands for names, `{a,b}` for each of them, and these for folders of this machine:

`{gpu}` PCI addresses of GPUs and accelerators, and of the bridges above them; `{home}`; `{prefix}` of the Python environment, `{site}` its
packages; `{path}` folders of PATH; `{lib}` folders of shared libraries; `{release}` of the kernel; `{comfy}` where ComfyUI lies.
A command `@name` is one of derived.COMMANDS.
"""

from __future__ import annotations

REVISION = 2
"""Of this table; it grows with each change. A reader takes what an older table did not ask as not recorded."""
LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib", "/lib64",
    "/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib64/nvidia", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib",
    "/run/opengl-driver/lib",
)  # fmt: skip
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
