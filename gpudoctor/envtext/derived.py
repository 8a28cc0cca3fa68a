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
OLLAMA_LOG = 'inference compute|Listening on|dropping integrated GPU|NVIDIA driver too old|not in compiled architectures|GPU discovery'
COMMANDS = {}
for mark, own, unit in (('', (), 'ollama'), ('-snap', (), 'snap.ollama.listener'), ('-own', ('--user',), 'ollama')):
    COMMANDS[f'@ollama-show{mark}'] = ('systemctl', *own, 'show', f'{unit}.service', '--property=LoadState,ActiveState,User,Group,SupplementaryGroups,DynamicUser,Environment,EnvironmentFiles,PrivateDevices,DevicePolicy,DeviceAllow,NeedDaemonReload,FragmentPath')
    COMMANDS[f'@ollama-log{mark}'] = ('journalctl', *own, f'--unit={unit}', *('--output=cat', '--no-pager', '--lines=400'), f'--grep={OLLAMA_LOG}')
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
ac{c,celerator,tivate} ada adreno aer aff{,inity} agree akmod al{chemist,der,locator,lreduce,malinux,pine,teracl}
am{ber,dgcn,dhsa,drocm,dvlk,p,pere,x,zn} an{aconda,ame,v} ap{ex,os,ptainer,t,u} ar{c,chlinux,m,mv} as{ahi,cend,imd,pect,sistant}
at{en,s,tn} au{dio,r,thenticamd} auto{awq,cast,conf,gptq,tune} avx aws azure ba{ckports,ndwidth,rcelo,sekit,ttlemage,zzite} bcs bda
be{egfs,ignet,nchmark} bfloat bgpu binaries bios bla{ck,ckwell,s} blob bo{ard,chs,ost,ot} br{ake,anch,idges,ings} broad{cast,com,well}
broxton buildkit bwd bxpu ca{chyos,ffe,nn,rgo,rries} ccs cdna ce{leron,ntos,ntre,ph,zanne} cff cfs ch{eckout,erryview,ip} cifs
cl{ang,blast,create,enqueue,finish,hpp,over,vk} cma{ke,th}
co{dename,ffee,ld,llective,lossus,met,mgr,mm,mpil,mplexfloat,mpose,mputername,ntradiction,ntributor,nverge,nvolution,operative,reml,rrupt}
cre{dential,scent} cse csrc ct{l,r,ranslate} cu{bin,blaslt,ctxcreate,damalloc,dart,datoolkit,file,h,i,init,pti,py,rand,solver}
cusparse{,lt} cxxabi da{emonset,li,rktable,t} data{center,loader,parallel} dba dcgm dch ddp
de{adline,bian,bugfs,ck,mand,nse,serialize,spite,tectron,terministic,vel,velopment,vicequery,vuan} dff dgx
di{ffusion,mension,sagrees,stance,strobox,visible} dlprimitives dma dmlexecution dn{f,n,nlroot} downgraded dozen dpc{pp,tl} dram drvfs
dtype dxg{i,kio} dylib dynamo dzn ecc echo edit efi{,vars} egg el{ementary,f,futils,khart} en{deavouros,oent,surepip,tity} epp epyc
ethernet exllama expkeysig fabric fallen fbgemm fdf fdinfo fedora{,project} fe{ll,nce,rmi} ff{e,f,ff,i} fiji fl{ash,avour,ex} fma fooocus
foreach fpga fr{amebuffer,eedreno,ontier} fury fuse fwd ga{llium,ruda,udi} gbits gbs gc{c,n,sfuse} gdrdrv ge{force,mini,mm,nai,nuineintel}
gfw gfxstream gib{,berish} glusterfs gmm{,lib} gogh google gpt{,q,qmodel} gpu{direct,opencl,stat} gr{adient,anite,e,id,u,ub} gsp{,lat} gtx
gu{c,est,ix} ha{bana,lf,lo,rdened,rdware,svk,swell,wk} hbm hea{dless,p,rtbeat,t} hi{bernat,ghvram,pblas,pblaslt,pcc,prtc} hlo
ho{neykrisp,pper,tfix,ttest} hp{g,p,u} hub huc hwdata hypervisor ibv icdl ice idle ifwt igdlh igpu im{age,pl,porterror}
in{active,ductor,i,itramfs,l,smod,stallation,stinct,telocl,terop} ioctl ipuconfig iris irtual is{a,land,p} ivpu jasper jaxlib
jet{pack,son} jit joules kaby kali ke{pler,rn,yerror} kgspbootgsprm khr kib km{d,g,od} koboldcpp kompute krackan kube{let,pods} kunlun
la{b,ke,nes,pack,ptop,unch,vapipe} leap lhr lib{cl,egl,glx,hsakmt,nvinfer,nvoptix,roctracer,tcmalloc,ur,ze} lightning linuxmint
llmpipeline llvm{,pipe} lmem lnk lo{adlibrary,gname,velace,wvram} lpg lstm lts lu{cienne,nar,stre} lvp lxcfs
ma{li,nifest,njaro,nylinux,tmul,xwell} mbits me{i,ndocino,tal,tax,teor} mgag mhz mi{b,cro,croseconds,g,niconda,niforge,nutes,openstatus,t}
mlx mmcv mo{bile,ltenvk,unt} mpi mpl msvc mtl mtu multiarray mus{a,l,llinux} na{no,tten,vi} ncclallreduce ndarray ne{o,on,ural,uron,west}
nfs ni{c,nja,xos} nncf nnvv no{bara,isy,netype,nsense,rm,rmalvram,tfound,va,vram}
nv{cr,cuda,dm,idiactl,idiafb,k,l,link,lsm,lt,mii,mlerror,shmem,smi,switch,toolsext,top,vm} oc{cupied,i,ulink} offload oled
on{eccl,line,nx} oom open{clon,cv,mp,suse} op{erstate,kernel,namespace,s,timum} orca orin outofmemory overlay{,fs}
pa{ce,nfrost,nther,nvk,rallel,ravirtual,rity,rtner,scal,ssthrough,thfinder} pciback pdev pe{ak,ermem,ntium,rf,rsistence} phb pi{casso,n,x}
pjrt pkcs plan plugin pnpdeviceid po{d,dman,etry,laris,nte,wersave,wervr} ppc prepack privateuse{,one}
pro{cedure,chot,ject,prietary,tobuf,xmox} pstate psu pt{hread,i,x,xas} pubkey pve pxb
py{bind,built,d,env,have,nvml,opencl,pi,poetry,py,wrap} qattn qcom qua{dro,lcomm,ntization} quot
ra{deonsi,dv,m,phael,ptor,spbian,spi,tl,y} rbln rcs rd{ering,evice,na}
re{adme,booting,boots,cogni,covered,covery,duction,fus,g,gistration,mbrandt,medy,mov,noir,plicas,pository,sident} retire{d,ment} rhel
ri{dge,ng,scv,sky} rminitadapter rnn roce rock{,chip,et,y} ro{m,otless,setta,ute} rpc rpi rror rtx ruamel runtime{class,error} ryzen
sage{,attention,attn} salloc satisfies sbatch sbin sc{atter,hed,reen} sdnext sdxl sea sec{ded,ret,ure,ureboot} sff sgl{,ang}
sh{aderfloat,ims,m} sibling sig{abrt,ill,kill,segv} skylake sl{angpy,es,owdown} smb{,fs} so{ftpipe,lve,uthern}
sp{ark,conv,eedup,hinxcontrib,irv,yre} sram srun sse sshfs st{eam,olen,rategy,rix,uck,udio} su{bgroup,dden,do,rvey,se} sve swap
swiftshader sxm tag taichi tbbroot tcmlib te{mperature,mplate,nsor,sla} tflops th{ermal,or,rottle,roughput} ti{ger,le,medout}
to{kenizers,nga,olbox,po,rchrun,rvalds} tpu tra{iner,ins,its,nsformers} tritonmissing tu{mbleweed,ring,rnip,xedo} ubuntu uhd ultra umd
un{allocated,correctable,healthy,installing,licensed,parsable,recoverable,resolvable,responsive,sloth} upgrade upstream userprofile
utili{sation,zation} vae valueerror vbios ve{cchio,ctor,ga,n,nus,rb,rification} vgpu vi{i,rtiofs,rtualenv,sual,tis} vmid vol{atile,ta}
vsec wat{ermark,ts} wddm webui wedged wgpu whis{key,per,perx} whl wildcat windowsapps work{load,space,station} wslenv xanmod xavier xdg
xen xeon xgmi xnnpack xorg xtx ze{init,n,sinit} zink zluda znver zope zorin zypper
"""
