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
    r"^(?:(?:accelerate|bigdl-llm|coremltools|pip|amdsmi|flashinfer-[a-z]+|llama-cpp-python|causal-conv1d|mamba-ssm|tensorrt[a-z0-9-]*|khr"
    r"onos-opencl-icd-loader|plaidml|vulkan|kp|kompute|taichi|wgpu|gpt4all|comfyui[a-z-]*|amd-[a-z0-9-]+|transformers|diffusers|peft)$|(to"
    r"rch|pytorch|lib?torch|triton|intel|nvidia|cuda|cupy|rocm|amd-torch|tensorflow|keras|tf-keras|tf-nightly|jax|onnxruntime|ort-|openvin"
    r"o|optimum|oneccl|dpctl|dpcpp|mkl|xformers|bitsandbytes|flash-attn|flash-attention|deepspeed|apex|auto-gptq|autoawq|gptqmodel|vllm|sg"
    r"l|sageattention|poptorch|popart|numpy$|protobuf$|pyopencl|pocl|opencl|ocl-icd|ipex|umf$|tcmlib$|detectron2|mmcv|natten|fbgemm))"
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
acc{,elerator} adapterram aer affinity agree aio akmod al{arm,chemist,locator,lreduce,pine,teracl} amd{gcn,hsa,rocm,vlk,xc} am{p,pere,x}
an{aconda,ame,v} ap{ex,plylayer,ptainer} ar{c,m,mv} as{ahi,cend,imd} at{en,idxx,tn} audio aut{henticamd,ocast,otune} avc avx aws azure
bandwidth battlemage bcs beegfs beignet bfc bfloat binaries bios bla{ck,ckwell,s} bo{ard,chs,ot} br{ake,anch,idges,oadcom} cables caffe
ccs cdi ceph chip cifs cl{ang,blast,enqueue,finish,over,vk} cmake
co{ld,llective,mgr,mpil,mpose,mputername,ntradiction,operative,ordination,reml} cre{atefromir,dential} ctr{,anslate}
cu{bin,blaslt,dart,datoolkit,file,init,mm,pti,py,rand,solver} cusparse{,lt} da{emonset,t,taloader} dc{gm,h,p} ddcae ddp
de{adline,bian,epspeed,mand,nse,serialize,tectron,viceinfo} di{ffusion,mension,sagrees,strobox} dma downgraded dpcpp drmfd drvfs dso dtype
dxg{i,kio} dylib dynamo ecb ecc efi endbr enoent epp epyc errimagepull ethernet exllamav expkeysig fabric fallen fedora fell finalize
fla{sh,vour} fma fooocus fpga fr{agmentation,amebuffer,eedreno} fuse gau{di,ssian} gbits gcc gcsfuse gdk gdrdrv
ge{force,mm,nai,nuineintel} gfw gibberish glusterfs gmm governor gp{tq,udirect,uopencl} gr{adient,e,idd,oundingdino,u} gsp{,lat,rminit}
gtx gu{c,est,ix} ha{bana,lf,rdware,swell} hbm hcc hea{rtbeat,t} highvram hip{blas,cc,rtc} hpp hpu hu{b,c,ng} hypervisor ibv icdl idle ifwt
igpu image importerror in{active,smod,stallation,stinct,telocl,terop} ioctl iris irtual isp ivpu jaxlib jetson jit kernelversion keyerror
kgspbootgsprm khr kmod knn kube{let,pods} kunlun la{ke,ptop,unch,vapipe} lib{cu,egl,glx,hipfft,hsakmt,rocfft,rocrand,roctracer,ur,ze}
llvmpipe lmem lnk{,sta} lo{adlibrary,gname,velace,wvram} lstm lts lunar lustre lvp lxcfs matmul mei met{al,ax,eor,rics} mgag mhz
mi{b,g,graphx,nutes} mlx mmcv mobile mount mtl mus{a,l} navi neo neur{al,on} nfs ni{ghtly,nja,xos} no{isy,nsense,tsupported,va}
nv{cr,cuda,diffrast,idiactl,idiafb,k,lddmkm,link,mlerror,shmem,smi,switch,toolsext,vm,wgf} oci offload on{eccl,line,nx} oom{,killed}
op{enmp,kernel,s} orca osx overlay{,fs} pa{nfrost,nther,rallel,ravirtual,rtner,scal,ssthrough,thfinder} pciback
pe{ermem,ntium,rf,rsistence} pidfd pin pjrt placement plugin pnpdeviceid po{d,dman,intnet,ison,nte,wersave} ppc privateuse{,one}
pro{cedure,chot,prietary,tobuf,xmox} pstate psu pt{hread,x,xas} pubkey pve py{bind,built,have,opencl} qcom qnn qu{adro,alcomm,euec}
ra{deonsi,dv,ptor,spi,sterization,tl,y} rbln rcs recogni{,tion} recover{ed,y} re{fus,g,gistration,mov,plicas,setrequired,sident}
retire{d,ment} ri{ng,p,scv,sky} rma rminitadapter rnn ro{ck,ckchip,m,otless,setta,ute} rpc rpi rtx runtimeerror ryzen sandbox satisfies
sbin scatter sched se{cret,cure,tupbackend} shaderfloat shm si{bling,gsegv,licon} skylake slowdown sm{b,bfs,s,u} sp{c,conv,eedup,yre} sram
sse sshfs st{olen,rategy,uck,udio} su{bgroupsize,do,rvivability} sve swiftshader sxid sxm tag tcc tcmlib tensor tesla thermal
thr{eshold,ottle,oughput} ti{les,medout,tan} toolbox torch{run,sparse} tpu tra{ining,its,nsformers} tur{ing,nip} ubuntu uhd umd
un{correctable,healthy,installing,licensed,recoverable,sloth} upgrade userspace utilization validator ve{ctor,n,rb,scales} vgpu
virtio{,fs} vitis{,ai} vlk vmid vnni vpux vsec watermark wddm wedged whisper{,x} whl wildcat windows{ml,path} work{load,space} wpr xanmod
xen xeon xgmi xnnpack xorg xtx zink zluda znver
"""
