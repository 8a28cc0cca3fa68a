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
    r"^(?:(?:accelerate|bigdl-llm|coremltools|flashinfer-python|pip|amdsmi|flashinfer-[a-z]+|llama-cpp-python|causal-conv1d|mamba-ssm|tens"
    r"orrt[a-z0-9-]*|ocl-icd[a-z-]*|khronos-opencl-icd-loader|plaidml|vulkan|kp|kompute|taichi|wgpu|gpt4all|comfyui[a-z-]*|amd-[a-z0-9-]+|"
    r"rocm-[a-z0-9-]+|transformers|diffusers|peft)$|(torch|pytorch|lib?torch|triton|intel|nvidia|cuda|cupy|rocm|amd-torch|tensorflow|keras"
    r"|tf-keras|tf-nightly|jax|onnxruntime|ort-|openvino|optimum|oneccl|dpctl|dpcpp|mkl|xformers|bitsandbytes|flash-attn|flash-attention|d"
    r"eepspeed|apex|auto-gptq|autoawq|gptqmodel|vllm|sgl|sageattention|poptorch|popart|numpy$|protobuf$|pyopencl|pocl|opencl|ocl-icd|ipex|"
    r"umf$|tcmlib$|detectron2|mmcv|natten|fbgemm))"
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
acc{,elerator} adreno aer agree akmod al{chemist,locator,lreduce,pine,teracl} am{dgcn,dhsa,drocm,dvlk,p,pere,x} an{aconda,ame,v} apex
apptainer ar{c,m,mv} as{ahi,cend,imd,pect} aten attn audio authenticamd auto{cast,conf,gptq,tune} avx aws azure ba{ndwidth,sekit,ttlemage}
bcs be{egfs,ignet,nchmark} bfloat binaries bios bla{ck,ckwell,s} bo{ard,chs,ost,ot} br{ake,anch,idges} broadc{ast,om} buildkit bwd caffe
ccs cdi ceph chip cifs cl{ang,blast,create,enqueue,finish,over,vk} cma{ke,th}
co{ld,llective,mgr,mpil,mplexfloat,mpose,mputername,ntradiction,nverge,nvolution,operative,reml,rrupt} credential csrc ctr{,anslate}
cu{bin,blaslt,ctxcreate,damalloc,dart,datoolkit,file,h,init,pti,py,rand,solver} cusparse{,lt} da{emonset,rktable,t,taloader,taparallel}
dcgm dch ddp de{adline,bian,epspeed,mand,nse,serialize,spite,tectron,terministic,velopment,vicequery} dgx
di{ffusion,mension,sagrees,strobox,visible} dma dmlexecution dnn downgraded dpcpp dram drvfs dtype dxg{i,kio} dylib dynamo ecc efi elf
enoent epp epyc ethernet exllama expkeysig fabric fallen fe{dora,ll,nce} ffi fla{sh,vour} fma fooocus foreach fpga framebuffer freedreno
fuse fwd gaudi gbits gcc gcsfuse gdrdrv ge{force,mm,nai,nuineintel} gfw gib{,berish} glusterfs gmm governor gptq gpu{direct,opencl,stat}
gr{adient,e,u} gsp{,lat} gtx gu{c,est,ix} ha{bana,lf,rdware,swell} hbm hea{rtbeat,t} hi{bernat,ghvram,pblas,pblaslt,pcc,prtc} hlo hopper
hpp hpu hub huc hypervisor ibv icdl idle ifwt igpu im{age,pl,porterror} in{active,ductor,smod,stallation,stinct,telocl,terop} ioctl
ipuconfig iris irtual isa isp ivpu jaxlib jet{pack,son} jit keyerror kgspbootgsprm khr kmod koboldcpp kube{let,pods} kunlun
la{ke,ptop,unch,vapipe} lib{egl,glx,hsakmt,nvoptix,roctracer,ur,ze} lightning llmpipeline llvm{,pipe} lmem lnk
lo{adlibrary,gname,velace,wvram} lstm lts lunar lustre lvp lxcfs ma{li,nifest,tmul} mei met{al,ax,eor} mgag mhz
mi{b,g,graphx,niforge,nutes,openstatus} mlx mmcv mobile mount msvc mtl mus{a,l} navi ncclallreduce ndarray neo neur{al,on} nfs
ni{ghtly,nja,xos} nncf no{isy,netype,nsense,rm,tfound,va} nv{cr,cuda,idiactl,idiafb,k,link,mlerror,shmem,smi,switch,toolsext,top,vm}
oc{cupied,i,ulink} offload on{eccl,line,nx} oom open{clon,cv,mp} op{kernel,namespace,s,timum} orca orin outofmemory overlay{,fs}
pa{nfrost,nther,rallel,ravirtual,rtner,scal,ssthrough,thfinder} pciback pe{ermem,ntium,rf,rsistence} pin pjrt plan plugin pnpdeviceid
po{d,dman,nte,wersave} ppc prepack privateuse{,one} pro{cedure,chot,ject,prietary,tobuf,xmox} pstate psu pt{hread,i,x,xas} pubkey pve
py{bind,built,d,have,nvml,opencl,wrap} qattn qcom qnn qua{dro,lcomm,ntization} ra{deonsi,dv,m,ptor,spi,tl,y} rbln rcs rdevice
reboot{ing,s} reco{gni,vered,very} re{duction,fus,g,gistration,mov,plicas,tirement} ri{ng,scv,sky} rminitadapter rnn
ro{ce,ck,ckchip,m,otless,setta,ute} rpc rpi rror rtx runtime{class,error} ryzen sa{geattn,lloc,tisfies} sbatch sbin sc{atter,hed,reen}
sdnext sdxl secret secure{,boot} sgl{,ang} shaderfloat shm si{bling,gabrt,gsegv,licon} skylake slowdown smb{,fs} solve
sp{ark,conv,eedup,irv,yre} sram srun sse sshfs st{olen,rategy,uck,udio} su{bgroupsize,dden,do,rvey} sve swiftshader sxm tag tcmlib
te{mplate,nsile,nsor,sla} thermal thro{ttle,ughput} ti{le,medout,tan} to{kenizers,olbox,rchrun} tpu tra{iner,ining,its,nsformers}
tritonmissing tur{ing,nip} ubuntu uhd umd un{allocated,correctable,healthy,installing,licensed,recoverable,resolvable,responsive,sloth}
upgrade utili{sation,zation} valueerror ve{ctor,n,rb} vgpu virtio{,fs} visual vitis{,ai} vmid volta vsec watermark wddm webui wedged
whisper{,x} whl wildcat windowsml work{load,space} xanmod xavier xen xeon xgmi xnnpack xorg xtx zeinit zesinit zink zluda znver
"""
