"""Tables that docs/env_script.py takes from the probes and checks; not to be changed by hand."""

from __future__ import annotations

import re

LIBRARIES = re.compile(
    r"^lib(cuda|nvidia|nvml|OpenCL|ze_|igd|igc|iga|igdgmm|sycl|ur_|pi_|d3d12|dxcore|directml|hsa|amdhip|amdocl|rocm|MIOpen|rocblas|poplar|"
    r"gcipuinfo|mkl_sycl|mkl_intel|ocloc|vulkan|MesaOpenCL|RusticlOpenCL|pocl|cudart|cudnn|cublas|stdc\+\+|tbb|omp|blas|lapack|dnnl|ccl)"
)
KERNEL_LOG = re.compile(
    r"i915|\bxe\b|intel_vpu|amdxdna|amdgpu|\bkfd\b|NVRM|nvidia|nouveau|\bXid\b|snd_hda_intel|\bGuC\b|\bHuC\b|firmware|iommu|DMAR|AMD-Vi|dx"
    r"gkrnl|dxgk|\bdxg\b|\bBAR \d|Resizable|taint|lockdown|Out of memory|\boom|Lockdown|module "
    r"verification|PKCS|ipu\b|graphcore|simple-framebuffer|nomodeset|\bdrm\b|AER:|PCIe Bus Error|segfault|secure "
    r"?boot|\bmodule\b.*\b(?:rejected|restricted)|\bnot signed\b"
, re.IGNORECASE)
DISTRIBUTIONS = re.compile(
    r"^(?:(?:accelerate|bigdl-llm|coremltools|ctranslate2|pip|amdsmi|flashinfer-[a-z]+|llama-cpp-python|causal-conv1d|mamba-ssm|tensorrt[a"
    r"-z0-9-]*|khronos-opencl-icd-loader|plaidml|vulkan|kp|kompute|taichi|wgpu|gpt4all|comfyui[a-z-]*|amd-[a-z0-9-]+|transformers|diffuser"
    r"s|peft)$|(torch|pytorch|lib?torch|triton|intel|nvidia|cuda|cupy|rocm|amd-torch|tensorflow|keras|tf-keras|tf-nightly|jax|onnxruntime|"
    r"ort-|openvino|optimum|oneccl|dpctl|dpcpp|mkl|xformers|bitsandbytes|flash-att|deepspeed|apex|auto-gptq|autoawq|gptqmodel|vllm|sgl|sag"
    r"eattention|poptorch|popart|numpy$|protobuf$|pyopencl|pocl|opencl|ocl-icd|ipex|umf$|tcmlib$|detectron2|mmcv|natten|fbgemm))"
)
FRAMEWORKS = """torch intel_extension_for_pytorch torch_directml pytorch_ocl poptorch tensorflow onnxruntime openvino jax bitsandbytes xformers""".split()
OLLAMA_LOG = 'inference compute|Listening on|dropping integrated GPU|NVIDIA driver too old|not in compiled architectures|GPU discovery'
OPTIONS = {'@show': ('--property=LoadState,ActiveState,User,Group,SupplementaryGroups,DynamicUser,Environment,EnvironmentFiles,PrivateDevices,DevicePolicy,DeviceAllow,NeedDaemonReload,FragmentPath',), '@log': (*('--output=cat', '--no-pager', '--lines=400'), f'--grep={OLLAMA_LOG}')}
VARIABLES = """
AMD_SERIALIZE_KERNEL CMPLR_ROOT COMFYUI_PATH DATASET{,_DIR,_PATH} DATA_{DIR,PATH,ROOT} FIFTYONE_DATASET_DIR
FLASHINFER_DISABLE_VERSION_CHECK HF_{DATASETS_CACHE,HOME} IGC_EnableDPEmulation IMAGENET_DIR KAGGLEHUB_CACHE KERAS_HOME
KUBERNETES_SERVICE_HOST LD_{LIBRARY_PATH,PRELOAD} LOCALAPPDATA MKLROOT OS OverrideDefaultFP64Settings PATH PROCESSOR_ARCHITECTURE PWD
PYTHON{HOME,NOUSERSITE,PATH} SETVARS_COMPLETED TFDS_DATA_DIR TORCH_HOME VIRTUAL_ENV VLLM_{ATTENTION_BACKEND,CPU_KVCACHE_SPACE,PORT,USE_V1}
WSL_DISTRO_NAME container
"""
VARIABLE_PREFIXES = """
ACCELERATE_ AMDGPU_ BIGDL_ CCL_ CL_ CONDA_ CU{BLAS_,DA_,DNN_} DIRECTML_ DML_ DNNL_ DXCORE_ GCDA_ GC_ GGML_ GPU_ GRAPHCORE_ HIP_ HSA_
INTEL_ IPEX_ IPUOF_ JAX_ KMP_ LIBGL_ LLAMA_{ARG_,CPP_} MESA_ MIOPEN_ MKL_ MPS_ NCCL_ NV{CC_,IDIA_,_} OCL_ OLLAMA_ OMP_ ONE{API_,DNN_}
OPEN{CL_,VINO_} ORT{MODULE_,_} OpenCL_ PI_ PLAIDML_ POCL_ POP{ART_,LAR_,SDK_,TORCH_} PYTORCH_ RCCL_ ROC{R_,_} RUSTICL_ SLURM_ SYCL_ TFDML_
TF_ TORCH{INDUCTOR_,_} UR_ USE_ VIPU_ VK_ XLA_ ZE{L_,S_,T_,_}
"""
LISTED_WORDS = """
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
