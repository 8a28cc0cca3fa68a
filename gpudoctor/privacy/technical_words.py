"""Technical words that are also names of people and hosts: such a name is replaced only in places where nothing but a name can stand."""

from __future__ import annotations

TECHNICAL = frozenset(
    """
    accel admin ai amd amdgpu anaconda android apple arc archlinux base bin boot build card centos cl clinfo cloud cmake compute conda
    container core cpu cuda cudnn data debian deep default dev device disk dll docker domain driver drm edge fedora folder fs gc gcc gfx
    git github gnu gpu graphcore group guest hip home host i915 icd id igc info input intel ipex ipu jax jenkins kernel kfd kubernetes
    kvm lab level level_zero lib lib64 libcuda linux llvm loader local localhost lspci mac machine main max memory mesa microsoft
    miniconda ml model module mount nccl neo net nobody node none nouveau null nvcc nvidia ollama oneapi onnx onnxruntime opencl
    openvino opt pci pip plugdev pocl popart poplar poptorch power proc python pypi pytorch radeon redhat render rocm root run
    runtime sdk serial server service share smi src ssh sudo suse sycl sys system tensorflow test tmp tools torch torchvision
    triton true ubuntu unknown user usr vendor venv vfio video vm vpu wheel windows work workspace wsl x86 x86_64 xe xpu zero
    """.split()
)
GROUPS = frozenset(
    """
    root daemon bin sys adm tty disk lp mail news uucp man proxy kmem dialout fax voice cdrom floppy tape sudo audio dip www-data backup
    operator list irc src gnats shadow utmp video sasl plugdev staff games users nogroup nobody wheel docker input kvm render sgx netdev
    lpadmin libvirt lxd systemd-journal ipu vboxusers storage power optical scanner network uinput seat podman ollama sambashare crontab
    messagebus
    """.split()
)
"""Groups that a system creates, which stay since membership decides which devices a user may open."""
