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
    r"^(?:(?:accelerate|bigdl-llm|bitsandbytes|coremltools|flashinfer-python|intel-extension-for-pytorch|ipex-llm|ja"
    r"x|jaxlib|keras|numpy|nvidia-nccl-cu12|nvidia-nccl-cu13|onnxruntime|onnxruntime-openvino|onnxruntime-qnn|onnxru"
    r"ntime-silicon|onnxruntime-vitisai|openvino|openvino-dev|openvino-nightly|popart|poptorch|protobuf|pytorch-dire"
    r"ctml|pytorch-ocl|pytorch-triton-xpu|tensorflow|tensorflow-cpu|tensorflow-directml|tensorflow-directml-plugin|t"
    r"ensorflow-gpu|tensorflow-intel|tensorflow-metal|torch|torch-directml|torchvision|triton|triton-windows|triton-"
    r"xpu|pip|amdsmi|flashinfer-[a-z]+|llama-cpp-python|causal-conv1d|mamba-ssm|tensorrt[a-z0-9-]*|ocl-icd[a-z-]*|kh"
    r"ronos-opencl-icd-loader|plaidml|vulkan|kp|kompute|taichi|wgpu|gpt4all|comfyui[a-z-]*|amd-[a-z0-9-]+|rocm-[a-z0"
    r"-9-]+|transformers|diffusers|peft)$|(torch|pytorch|lib?torch|triton|intel|nvidia|cuda|cupy|rocm|amd-torch|tens"
    r"orflow|keras|tf-keras|tf-nightly|jax|onnxruntime|ort-|openvino|optimum|oneccl|dpctl|dpcpp|mkl|xformers|bitsand"
    r"bytes|flash-attn|flash-attention|deepspeed|apex|auto-gptq|autoawq|gptqmodel|vllm|sgl|sageattention|poptorch|po"
    r"part|numpy$|protobuf$|pyopencl|pocl|opencl|ocl-icd|ipex|umf$|tcmlib$|detectron2|mmcv|natten|fbgemm))"
)
FRAMEWORKS = {
    "torch": """torch pytorch-directml""".split(),
    "intel_extension_for_pytorch": """intel-extension-for-pytorch intel-extension-for-pytorch-deepspeed""".split(),
    "torch_directml": """torch-directml""".split(),
    "pytorch_ocl": """pytorch-ocl""".split(),
    "poptorch": """poptorch""".split(),
    "tensorflow": """tensorflow tensorflow-cpu tensorflow-gpu tensorflow-intel tensorflow-rocm tensorflow-directml tensorflow-macos tf-nightly""".split(),
    "onnxruntime": """onnxruntime onnxruntime-gpu onnxruntime-openvino onnxruntime-directml onnxruntime-training onnxruntime-rocm onnxruntime-migraphx onnxruntime-qnn onnxruntime-silicon onnxruntime-vitisai onnxruntime-windowsml ort-nightly ort-nightly-gpu""".split(),
    "openvino": """openvino""".split(),
    "jax": """jax""".split(),
    "bitsandbytes": """bitsandbytes""".split(),
    "xformers": """xformers""".split(),
}
COMMANDS = {
    '@ollama-show': ('systemctl', 'show', 'ollama.service', '--property=LoadState,ActiveState,User,Group,SupplementaryGroups,DynamicUser,Environment,EnvironmentFiles,PrivateDevices,DevicePolicy,DeviceAllow,NeedDaemonReload,FragmentPath'),
    '@ollama-log': ('journalctl', '--unit=ollama', '--output=cat', '--no-pager', '--lines=400', '--grep=inference compute|Listening on|dropping integrated GPU|NVIDIA driver too old|not in compiled architectures|GPU discovery'),
}
VARIABLES = """
LD_LIBRARY_PATH LD_PRELOAD PATH PWD HOME USER SHELL DISPLAY XDG_SESSION_TYPE LANG VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONNOUSERSITE
PIP_INDEX_URL PIP_EXTRA_INDEX_URL UV_INDEX_URL CMPLR_ROOT MKLROOT CCL_ROOT TBBROOT DPCPP_ROOT DNNLROOT SETVARS_COMPLETED I_MPI_ROOT
OverrideDefaultFP64Settings IGC_EnableDPEmulation EnableImplicitScaling NEOReadDebugKeys PrintDebugMessages CreateMultipleSubDevices
AllowUnrestrictedSize DirectSubmissionRelaxedOrdering UseKmdMigration WSL_DISTRO_NAME WSL_INTEROP WSLENV container KUBERNETES_SERVICE_HOST
HOSTNAME ROCM_PATH ROCM_HOME AMD_LOG_LEVEL AMD_SERIALIZE_KERNEL MIOPEN_DEBUG_CONV_GEMM PJRT_DEVICE BIGDL_IMPORT_IPEX DATASET_DIR DATA_DIR
DATASET DATASET_PATH DATA_PATH DATA_ROOT TORCH_HOME HF_HOME HF_DATASETS_CACHE IMAGENET_DIR KAGGLEHUB_CACHE KERAS_HOME TFDS_DATA_DIR
FIFTYONE_DATASET_DIR OS SystemRoot USERPROFILE PROCESSOR_ARCHITECTURE CUPY_CACHE_DIR TRITON_CACHE_DIR VLLM_ATTENTION_BACKEND VLLM_USE_V1
VLLM_PLUGINS VLLM_PORT VLLM_CPU_KVCACHE_SPACE FLASHINFER_DISABLE_VERSION_CHECK COMFYUI_PATH
""".split()
VARIABLE_PREFIXES = """
CUDA_ CUDNN_ CUBLAS_ NCCL_ NVIDIA_ NVCC_ NV_ HIP_ ROCR_ ROC_ HSA_ RCCL_ MIOPEN_ GPU_ AMDGPU_ ONEAPI_ ZE_ ZES_ ZET_ ZEL_ SYCL_ UR_ PI_
IPEX_ DNNL_ ONEDNN_ CCL_ BIGDL_ OPENVINO_ INTEL_ OCL_ OPENCL_ POCL_ RUSTICL_ LIBGL_ MESA_ DXCORE_ DML_ TFDML_ DIRECTML_ POPLAR_ POPART_
POPTORCH_ IPUOF_ GCDA_ GC_ VIPU_ GRAPHCORE_ POPSDK_ CONDA_ PYTORCH_ TORCH_ TORCHINDUCTOR_ TF_ XLA_ JAX_ OMP_ KMP_ MKL_ ORT_ ORTMODULE_
SLURM_ USE_ OLLAMA_ GGML_ LLAMA_ARG_ LLAMA_CPP_ OpenCL_ PLAIDML_ VK_ MPS_ CL_ ACCELERATE_
""".split()
WORDS = frozenset(
    """
aarch abbrev abi able abort about above absent acc accel accelerate acceleration accelerator accept access accessible account accumulation
accuracy ached ackerrorhang acpi acquire across action activated activations active activestate activity ada adagrad adam adamw adapter
adapterram add additional addons addr address admits adreno advanced advertise aer aff affinity after again against age agent agree agx
ailed aimdo aio aiter akmod alarm alchemist alder algo algorithm alias alignment alive all alloc allocatable allocate allocating
allocation allocator allow allreduce almalinux almost alone alongside alpaca alpine already also alteracl alternate although always amber
amd amdgcn amdgpu amdhip amdhsa amdnpu amdocl amdrocm amdsmi amdttm amdvlk amdxc amdxdna among amount amp ampere amx amzn anaconda aname
ancdata anchormode and announced anomalies anonymous another answer antivirus anv any anyitem anyway aotriton aperture apex api apiversion
apk apollo apos app appdata appear apple application applied applylayer appropriate apptainer apt apu arc arch architecture archlinux are
arg argument arithmetic arm armv array arrayfire arrived arrow asahi ascend asic aside asimd ask aspect assert assertion assign assignment
assistant associated ast async ated aten atidxx ation atl atom atomic ats attach attempted attempting attention attn attr attribute audio
aur auth authenticamd auto autoawq autocast autoconf autogptq autoinstall automatic automatically autoreport autotun autotune auxiliary
availabe available avc average avoids avx awaited awq aws axes azure bac back backend backports backward bactivate bad baddbmm baea
balancing bamd bandwidth bar barcelo bare barrier base basekit basic bat batch battlemage bazzite bbar bbswitch bconda bcs bda bdb bdf
bdist bdrm bdxg because become beegfs been before begin beignet being belong below bench benchmark berror beside best between beyond bfc
bfcarena bfloat bgid bgpu bguc bhuc bias bidirectional bigdl billions bin binaries binary binfmt bios biris bit bitaccess bitindexmath
bitsandbytes bjetson bkfd black blacklist blackwell blas ble blob block blockwise blue bluefin bmodule bnomodeset bnot bnxt board bochs
bool boolean boom boost boot bootrom bootstrap bootstrapping both bound boxes bpip bprocessor brake branch brand breaks bring broadcast
broadcom broadwell broken brought broxton bsize bsod buffer bufferindex bug build buildhip buildkit buildnumber built builtin bundle bus
busbw busy but bvirtualenv bwd bxe bxid bxpu byte cables cache cachyos cadam caffe call calloc cam came can cancelled candidate cann
cannot canonicalize canuse cap capabilities capability capable capacity caption capture capturing card cargo carriage carries cast cat
catastrophic caught causal cause ccl ccs cdequantize cdi cdna ceiling celeron cell celsius center centos centre ceph certified cezanne cff
cfg cfs cget cgroup change changing channel character check checkout checkpoint checksum cherryview child chip chlo choose chosen chunk
cicc cifs ciminstance circular city claimed clang clash class clblast clc clcreate cldnn clean clenqueue clfinish clhpp cli client clinfo
clique cllinkprogram clock close clover clsvmalloc cluster clvk clwait cmake cmath cmd cmdline cmplr coalesced code codegen codename
coffee cog col colab colima collect collective colored colossus coloured com combination come comet comfy comfyui comgr comm command
commandlists commit committed common communicate communication communicator compare compat compatibility compatible compil compilation
compile complains complete completion complexdouble complexfloat complexhalf component composable compose compressed computation compute
computer computername computing concurrent cond conda condition conf confidential config configproto configuration configure conflict
connect connection consider constant construct consumed consumption contain containerenv contents context contiguous contradiction contrib
contributor control conv converge conversion convert convertto convolution cooperative coordination copied copy core coreml correct
corresponding corrupt corruption cospi cospif could couldn count counterpart cpp cpu cpufreq cpuinfo cpx cpython cquantize crash crashloop
crawl create createfromir createprocess creating creation credential crescent cross crt crun crw cse csffw csrc cstdint cstdlib csv ction
ctl ctr ctranslate ctrl cubes cubin cublas cublaslt cuctxcreate cuda cudaapierror cudafree cudagetdevice cudagetkernel cudagraphs
cudahostalloc cudamalloc cudart cudasetdevice cudatoolkit cudf cudnn cufft cufile cugraph cuh cui cuinit culinkadddata cumem cumemhost
cuml cumm cupti cupy cupyx curand curanderror curesult current cusolver cusolverdn cusparse cusparselt custom cut cutensor cutlassf cvms
cwd cxx cxxabi cycle cython daac daemon daemonset dali damaged darktable darwin dat data database datacenter dataloader dataparallel
dataset date dba dcgm dch dcp ddcae ddk ddp dead deadline deadlock deallocated debian debug debugfs decide deck declaration declare
declaring decode decoding dedicated deep deepspeed default defender defined defines degrees deinitialized delet demand denial denied dense
dependencies dependency depends deployment deprecated deps depth dereference describe description descriptor deserialize desired desktop
despite destroy detailed detect detection detectron determine deterministic dev devel developer development device deviceallow deviceid
deviceinfo devicename devicepolicy devicequery devicetype devuan dff dggml dgl dgx dict did died dies diff different diffusers diffusion
dim dimension dir direct directml directory disable disabling disagrees disappeared disconnects discovered discovery discrete disk disp
dispatch display dist distributed distribution distro distrobox distutils divisible dkms dll dlopen dlprimitives dma dmabuf dmar dmesg dmi
dml dmlallocator dmlexecution dmlfusednode dmltensor dnf dnn dnnl dnnlroot docker dockerenv dockerfile docs doctype documents does doesn
domain don done door dotted double down downgraded downgrades download dozen dpcpp dpctl dpkg dpx dracut drain dram draw dri drive driver
driverdate driverid driverinfo drivername driverversion drm drmfd drop dropout dropped dropping drv drvfs dso dst dtype dual due dumped
duplicate during dvmmnnk dxcore dxdispatch dxg dxgi dxgk dxgkio dxgkrnl dying dylib dynamic dynamiccache dynamicuser dynamicvram dynamo
dzn eacces each eaddrinuse eager ecb ecc echo ecode editable edition effect efficient efi efifb efivars egg egpu eigen einval either
elementary elements elf elfclass elfutils elkhart ellesmere else elsewhere embedding embeded emitting empty enable enablegpu encode
encoder encoding encountered end endbr endeavouros engine enginecore english enoent enough ensure ensurepip enter entire entity entries
entry env environment envycontrol eof epoch epp eps epyc equal erdriver erfaceversion err errimagepull errno error ersion essential
establish estimate etc eval evaluation even event ever every everything evict exact examined example exc exceeded exceeds excepted
exception exclamation exclude exclusive exe exec execbuffer executable execute executing execution exhausted exist existent exit exitcode
exllama exllamav expandable expanded expected expecting expects experimental expiration expired expkeysig explain explicit export ext
extend extension external extra extraction extramodules extremely fabric fabricmanager facefusion fact factor factory factoryconfig fail
failure fallback fallen falling fallocate falls false family fast fastembed fata fatal fault fbgemm fcl fdf feature fedora fedoraproject
fell fence fermi fetch few ffe fff ffff ffi field fiftyone fiji file filelock filenames filesystem fill filter finalize find fine finish
firmware first fit fitted fitting flag flash flashinfer flathub flatpak flavour flax flex float floor flt fluctuates fma fmha fmin folder
following fooocus for forbidden forbids force foreach foreign forever forge forget fork form format forward found four fpga fraction
fragmentation fragmentpath framebuffer framework free freedreno freeze freezing frequency frigate from fromarray frontend frontier fsdp
fsycl ftrivial fulfil full fully function functional functionality further fury fuse fusion fwd gallium garbage garbled garuda gather
gaudi gaussian gbs gcc gcda gcipuinfo gcn gcnarchname gcsfuse gdk gdrdma gdrdrv geforce gelf gem gemini gemm gemv gen genai gencode
general generate generating generation generator generic genericsearch genuineintel get getarchflags getimageblob getinfo getprototype
getting gfile gfw gfx gfxhub gfxstream ggml gib gibberish gid git github given gives giving glibc glibcxx global gloo glusterfs gmm gmmlib
gnu goes gogh going gomp gone google got governor gpg gpl gpt gptq gptqmodel gpu gpublascreate gpudevicestub gpudirect gpudoctor
gpuindexflat gpuislost gpuopencl gpuoptions gpustat gputil grad gradient gradscaler grain granite granted graph graphbolt graphcore
graphics gre greater green grep grew greyed grid groundingdino group growing grows growth gru grub gsp gsplat gsprminit gtt gtx guc
guessed guessing guest guise guix habana had hal half halo halts hand handle handler hang happened happens hardened hardware has hash
hashcat hasvk haswell have having hawk hbm hca hcc hda header headless heads healthy heap heartbeat heat held helper helps here hibernat
hidden hide high highest highvram hint hip hipblas hipblaslt hipcc hipcub hipdriver hiperror hipfft hipinfo hipmemcpy hiprtc hipsdk hit
hlo hold home homebrew honeykrisp hook hopper host hostbuffer hostengine hostname hot hotfix hottest hours how however hpg hpp hpu hsa
html http hub hugepage huggingface hung hwdata hyper hypervisor ibv icd icdl ice identifier identifying idle ids idx iecore ienetwork ifwt
iga igc igd igdfcl igdgmm igdlh igdrcl ignore ignoring igpu iigd ijit iled illegal image imagenet imbalance imex img immediate immich
impacting impi impimporter impl implemented implementer implicit import importerror inaccurate inactive include incompatible inconsistent
incorrect increase increasing incus indefinite independent index indexerror indicate indices inductor inductorerror inet inf inference
infiniband infinite info information inforom ini init initial initialize initializer initializing initramfs initstate injection inl
inpaint input insert inside insightface insmod inspect install installable installation instance instead instinct instruction insufficient
int integer integrated integrity intel intelocl interactivity interface intermediate internal internalerror interop interpreter
interrupted into invalid invalidmodule inventory invoke invokeai invoking ioctl ioinfooptions iommu iomp ion ipex ipexlinear ipexrun ipu
ipuconfig ipucontext ipuof ipuscope irdma iris irtual isa isabled island isn isp issue item iterable iteration itex its itself ivpu ized
jasper jax jaxlib jeffser jemalloc jetpack jetson jinja jit jnp job join joules journalctl json jupyter just kaby kagglehub kali keep
kepler kept keras kern kernel kernelimpl kernelversion key keyerror keyword kfd kgspbootgsprm khr khronos kill kind kit kmagic kmd kmg
kmgt kmod kmp kmpc knn know known koboldcpp kompute kplan krackan ksampler kube kubeadm kubectl kubelet kubepods kubernetes kunlun kvcache
kvm lab lacks lake lang language lapack laptop large larger largest last later latest launch lavapipe layer layout lazily lazy ldcache
ldconfig ldd lead leaf leak leap learner least leaves left leftovers legacy legalize lends length less level lhr lib libacl libamd
libamdhip libamdocl libascend libascendcl libc libcaffe libccl libcl libclang libclblast libclc libcu libcublas libcuda libcudart libcudf
libcudnn libcudss libcufft libcuml libcupti libcurand libcusolver libcusparse libcusparselt libcutensor libdevice libdgl libdirectml
libdirs libdlprim libdnnl libdxcore libegl libelf libffi libgbe libge libggml libgl libglx libgomp libgraphbolt libhccl libhip libhipfft
libhiprtc libhsa libhsakmt libigc libigdgmm libigdrcl libintel libintlc libiomp libllama libmali libmesaopencl libmetal libmiopen libmkl
libmpi libmpicxx libnccl libnuma libnvcuvid libnvd libnvidia libnvinfer libnvjitlink libnvoptix libnvrtc libnvvm libomp liboneccl
libopencl libopenvino libpi libpocl libpod libpopart libpoplar libpoplin libpopops libpoputil libprotobuf libpt libpti libraries library
librccl librmm librocblas librocdxg librocfft librocm librocrand libroctracer libstdc libsycl libtbb libtcmalloc libtensorflow libtorch
libtorchaudio libtorchcodec libtpu libtriton libur libuv libvulkan libxrt libze licence license lies lightning like limit line link linux
linuxbrew linuxmint list listening little live llama llamaindex lld llm llmpipeline llvm llvmpipe lmem lmstudio lnk lnksta load
loadlibrary loadstate local localappdata localdata localhost locate locating location lock lockable lockdown log logging logical login
logits logname long longest look lookup loop lopencl loss lost lovelace low lowest lowvram lpg lsmod lspci lstdc lstm lsycl lts lucienne
lunar lustre lvp lxc lxcfs lxd lze mac macbook machdep machine macos macosx made magic magma main maintenance major make maker malformed
mali malloc mamba managed management manager mandlists manifest manjaro manually many manylinux map mapped mapping mark market marlin mask
master mat match math matmul matrix matter max maxbuffersize maximum maxwell may mcdm mcount mean meant measured measurement measures
median mei mem memavailable member meminfo memlock memory memoryerror memorytypes memsize memtotal mendocino mes mesa mesaopencl message
meta metadata metal metax meteor method metrics mgag mharden mhlo mhz mib micro microk microseconds microsoft mid mig migenabled might
migraphx milliseconds min miniconda miniforge minikube minimum minor minute miopen miopenstatus misaligned misc misconfigured mismatch
missing mit mix mkinitcpio mkl mklroot mlir mlmodel mlp mlx mma mmap mmcv mmdet mmengine mmhub mmio mnnvl mnt mobile mode model modeset
modified modify modinfo modpost modprobe module mokutil moltenvk monitor monotonic more most mount mountinfo move movidius mpi mpl mps
mpscore mpsfloattype mpsgraph mpskernel mpsmatrix mpsndarray mrecord msvc mtl much multi multiarray multicast multiple multithreaded musa
musl musllinux must mxfp nable naive name namespace naming nan nano narrow native natten navi nccl ncclallreduce ncclp ncnn ncs nction
ndarray ndle near necessary need neither neo neon nerdctl net network neural neuron never new newest next nfs ngen ngl ngraph nightly
ninja nixos nncf nnk nnvv nobara node nodevfiles noheader noise noisy nomodeset non none nonetype nonsense nonzero noprofile nor norm
normal normalised normalvram not note notebook notfound notfounderror nothing notifyevent notsupported nounits nouveau nova novram now
nowhere nps npu nsreached nstatus nuget null nullptr num numa numactl numba number numpy nvcc nvcgo nvcr nvcuda nvdiffrast nvdm nvenc
nvgpuctrperm nvidia nvidiactl nvidiafb nvitop nvjitlink nvk nvl nvlddmkm nvlink nvlsm nvlt nvmapmemalloc nvmii nvml nvmlerror nvopencl
nvrm nvrmmeminit nvrtc nvshmem nvsmi nvswitch nvtoolsext nvtop nvvm nvwgf object obtained occupied occupies occurred oci ocl ocloc oculink
odd off offered offers official offload ofi often old oldest oled ollama omp once one oneapi oneccl onednn onemkl ongthread online only
onnx onnxruntime oom oomkilled ooter open opencl openclon opencv opengl openmp opensuse openvino operand operating operation operator
opkernel opnamespace opposite ops opset opt optimization optimizer optimum optimus option opx orca orch order ordinal org origin
originates orin ort ortmodule oserror osrelease ostree osx other otherwise ound our out outdated outofmemory output outside over overflow
overhead overheating overheats overlapped overlay overlayfs override overriding overwrite overwritten own ownership pace pack package
packaging pacman paddle page pager paging pairs panfrost panic panicked panther panvk parallel parameter params paravirtual parity parse
parsing part partially participants partition partner pascal pasid pass passthrough past patched path pathfinder pattern paused payload
pci pciback pcie pcode pdm peak peer peermem peft pending pentium pep per percent perf perform performance period perl permission
permitted persistence pfncreate phase phoenix physical picasso pick pickle picture pid pidfd piece pin pinned pip pipe pipeline pipelining
pipenv pjrt pkcs pkg pkgutil place placeholder placement plaidml plan platform please plicit plug plugdev pluggable plugin plus pmap pmu
pnpclass pnpdeviceid pnpentity pocl pod podman poetry point pointnet poison polaris policy ponte pool poor pop popart popc popdist popef
popen poplar poprun popsdk poptorch popxl port portable posix possible possibly post power powersave powershell powervr ppc pre
preallocates prebuilt precise precision precondition prediction prefix preload prepack prepare preparing present pretends pretty previous
prime primitive prints prior private privateuse privateuseone privilege pro probability probe problem proc procedure process processor
prochot produced produces product productname profile profiler profiling prog program progress prohibited project prompt properly
properties property proprietary props protection protobuf protocol proton provide provider providing proxmox psp pstate psu pth pthread
pti ptss ptx ptxas pubkey public published pull pure purpose put pve pwd pybind pybuilt pycharm pyd pyenv pyg pyhave pynvml pyopencl
pyopenvino pypi pypoetry pyproject pypy python pythonhome pythonpath pytorch pyvenv pywrap pyxis qattn qbits qcm qcom qemu qnn quad quadro
qualcomm quantization quantize quarantin query queryformat questions queue queuec quot quota radeon radeonsi radv ram ran random range
rank raphael raptor raspberry raspbian raspi rasterization rather ratio ratl raven raw ray rbln rccl rcs rdering rdevice rdma rdna
reachable reached reaches read readable readme readonly ready real reason rebar reboot rebuilds rebuilt receiv recent recipe recogni
recognition recognized recommended recommends recompile reconnecting record recover recoverable recovery recurrent recv redist reduce
reduction reference refresh refus reg regex region register registration registry regression reinstall reject related release relevant
relied reload rem remain remap remapped remapper remapping rembrandt remedy remnode remote remov remove render rendezvous renoir repeated
repeating replace replicas replicated replication repo report repository reproduce reproducible request require requirement reservations
reserve reset resetrequired resetting resident resizable resize resolution resolve resolver resource respect respond response rest restart
restore restricted result resum resume resv ret retarget retired retirement retracing retrieve retry return reverse revision rhel ridge
right ring rip riscv riser risky rke rma rminitadapter rnn roc rocblas rocblaslt roce rock rockchip rocket rocky rocm rocminfo rocprim
rocr rocwmma rom roofline room roop root rootless ror rosetta route routine row rpc rpi rpm rror rsqrt rsqrtf rss rtcore rtsafe rtx ruamel
rubbish rule run runc runner running runtime runtimeclass runtimeerror rusticl rusticlopencl ryzen safetensors sage sageattention sageattn
said salloc same sandbox sandboxutils satisfies satisfy saves say sbatch sbin scalar scale scaling scan scanned scatter sched scheduler
schedutil scope scores scratch screen script sdk sdma sdnext sdpa sdxl sea search secded second secret secure secureboot security see seek
seems seen segfault segment segmentation select selective selector self selinux semaphore send sentence seq sequence serialization
serialize series serve server service sess session set setting setup setupbackend setuptools setvars several severity sff sgemm sgl sglang
sgx shaderfloat shadowed shadows shall shape shards share sharp shell shims shm short should show showallinfo shown shut shutting side
sigabrt sigbus sigill sigkill signal signature signed sigsegv silently silicon silverblue simd simple simpledrm since single singularity
sinpi sinpif site sits size skip skipped skipping skylake slangpy sleep sles slice slicing slot slow slowdown slowest sls slurm small smb
smbfs smi sms smu snapdragon snd sock socket soft softmax softpipe software solution solve solving some something soname sos source
southern space spark sparse sparsemps spawn spc spconv spdisplays spec specific specification specified specifier specify speed speedup
sphinxcontrib spir spirv spline split spoke sppci spread spyder spyre sqlite sram src srcmmalayout srun sse sshfs ssm stable stablehlo
stack stage stale stall stamped stand standard start startup stat state static statistics status stays std stdc steam step stick still stl
stop stopped stopping storage storagebuffer stored str strategy stream strict stride strix stub stuck studio sub subgroup subgroupsize
sublibrary subprocess subsequent subset subsystem succeeded success successful such sudden sudo suitable suite suits summary sums super
supergfxctl supplied support sure survey survivability suse suspend sva sve swap swapfree swapped swaptotal swiftshader swiotlb switched
switches sxid sxm sycl symbol symbolic sympy sync syncbn sys sysctl sysdeps sysmem system systemctl systemroot table tag tagged taichi
taint take taken tar target task tbb tbbroot tcc tcmalloc tcmlib tcpstore tdr tedondevice tegra temp temperature template temporarily
temporary ten tensile tensor tensorflow tensorrt terminal terminated termination tesla test text tfdml tfds tflop tgp than that thc
thcatomics thcgeneral thcnumerics thcstate the their them then there thermal these they things third this thnn thor those though thread
three threshold throttle throttling through throughput throw thunderbolt tiger tile time timedout timeout tinycudann titan title tivity
tls tmp today together token tokenizer told toml tonga too took tool toolbox toolbx toolchain toolkit toolset top topo topology torch
torchao torchaudio torchcodec torchinductor torchrun torchsparse torchvision torvalds total tpu trace tracemodel train traits transfer
transformer translated translation transport trap tree triang tried triggered triggers triton tritonmissing trojan trt trtexec true
truncated trusted try ttm tumbleweed tuples turing turnip turns tuxedo twice two txt type typing ubuntu udev uhd uid uint uintptr ulimit
ultra ultralytics umad umd umf unable unallocated uname unasked unauthorized unavailable unbalanced unbox uncommitted uncorrect
uncorrectable undeclared undefined under underflow unexpected unhandled unhealthy unicode unified unimplemented uninitialized uninstall
unique unit universal unknown unknownerror unleashed unless unlicensed unlikely unlimited unload unmarshal unmet unpack unparsable unreach
unreachable unrecognised unrecognized unrecoverable unrelated unresolvable unresponsive unsatisfiable unsatisfied unscale unseen unset
unsigned unsloth unspecified unsuccessful unsupported unsure until untolerated unusable unused unwrap update updating upgrad upgrade upper
upsample upscayl upstream urces uri url usable usage use useipumodel user userprofile userspace using usr usual utc utf util utilisation
utiliz utilization uuid uvm vae vaedecode val valid validate validation validator value valueerror van var variable variant vbios vcl vcpu
vcvarsall vecchio vector vega ven vendor vendorid venus venv ver verb verbose verification verified verify version very vescales vfio
vglusers vgpu via video videodrivers view vii violation vipu virt virtio virtiofs virtual virtualbox virtualenv virtualises vis visible
vision visual vitisai vkqueuesubmit vladmandic vllm vlmpipeline vmid vmrss vmware vnni void volatile volta vpu vpux vram vscode vsec
vulkan vulkaninfo wait want warn was wasn watchdog watermark watts way wddm weak webgpu webui wedged weight well went were wgpu what
whatever wheel when where whether which while whiskey whisper whisperx whl who whole whose why width wildcat will win window windowsapps
windowsml windowspath winerror with within without won words work workerproc workload workspace workstation world would wpr wrapper
writable write writing wrong wsl wslenv wslinterop www xanmod xavier xccl xdg xdna xen xeon xff xformers xfrm xgboost xgemm xgemmbatched
xid xilinx xla xml xnack xnnpack xorg xpu xpum xrt xserver xtx yaml yay year yed yes yet yml yolo yolov you your yourself zeinit zel zen
zero zes zesdevice zesinit zet zink zip zlibwapi zluda znk znver zombie zone zope zorin ztin zypper
""".split()
)
