"""Plans by hand, as a specialist would write them: what every export and the screen are tried on."""

from __future__ import annotations

from typing import Any

from gpudoctor.model.plan import DONE, IMPOSSIBLE, Act, Command, FileChange, Option, Plan, PlannedStep, Recommendation, Refusal, Word

FINGERPRINT = "0C0E6AF955CE463C03FC51574D098D70AFBE5E1F"
ARC_ENV = "/home/nick/.local/share/gpudoctor/torch-xpu"
UV = "/home/nick/.local/bin/uv"
ROCM_ENV = "/home/nick/rocm"


def step(number: int, kind: str, title: str, *acts: Act, **more: Any) -> PlannedStep:
    given: dict[str, Any] = {"why": f"Without it {title.lower()} is missing.", "layer": "framework", "recipe": "example", "settings": {}}
    return PlannedStep(number=number, kind=kind, title=title, acts=acts, **{**given, **more})


def apt(*packages: str) -> Command:
    return Command(
        argv=("apt-get", "install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=600", *packages),
        root=True,
        env={"DEBIAN_FRONTEND": "noninteractive"},
    )


def pip(env: str, *arguments: str) -> Command:
    return Command(argv=(f"{env}/bin/python", "-m", "pip", "install", *arguments), env={"PIP_NO_CACHE_DIR": "1"})


def groups(number: int, *names: str, user: str = "nick", **more: Any) -> PlannedStep:
    return step(
        number,
        "group",
        f"{user} in the groups {' and '.join(names)}",
        Command(argv=("usermod", "-aG", ",".join(names), user), root=True),
        why="The card's device files belong to them.",
        layer="device-node",
        settings={"groups": list(names), "user": user},
        changes=tuple(f"adds {user} to the group {name}" for name in names),
        root=True,
        restart="login",
        **more,
    )


def venv(number: int, env: str, python: str = "python3") -> PlannedStep:
    return step(
        number,
        "venv",
        "A Python environment of its own",
        Command(argv=(python, "-m", "venv", env)),
        why="Nothing is installed into the system's Python.",
        settings={"path": env},
        changes=(f"makes {env}",),
    )


def vendor_repository(number: int, name: str, url: str, suite: str, key: str = FINGERPRINT) -> PlannedStep:
    keyring = f"/usr/share/keyrings/gpudoctor-{name}.gpg"
    sources = f"/etc/apt/sources.list.d/gpudoctor-{name}.sources"
    text = f"Types: deb\nURIs: {url}\nSuites: {suite}\nComponents: main\nSigned-By: {keyring}\n"
    return step(
        number,
        "apt.repository",
        f"Package repository {name}",
        FileChange(path=keyring, fetched_from=f"{url}/key.asc", fingerprint=key, root=True),
        FileChange(path=sources, content=text, root=True),
        Command(argv=("apt-get", "update", "-o", f"Dir::Etc::sourcelist={sources}"), root=True),
        why="The distribution's own packages are older than this card.",
        layer="user-driver",
        changes=(f"writes {keyring}", f"writes {sources}"),
        root=True,
    )


ARC = Plan(
    name="torch-xpu",
    recipe="torch-xpu-ubuntu",
    title="PyTorch on Intel GPUs (XPU)",
    stack="torch-xpu",
    compute="torch-xpu",
    machine="Arc A770 · Ubuntu 24.04 · kernel 6.8.0-45",
    env=ARC_ENV,
    os_id="ubuntu",
    os_version="24.04",
    disk_gb=9.5,
    variables={"ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE"},
    warnings=("ONEAPI_ROOT is set: a sourced oneAPI gets in the way of the wheel's own libraries.",),
    remarks=("Resizable BAR must be on in the firmware.",),
    sources=("https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html", "intel/compute-runtime#710"),
    mends=("intel-no-level-zero-driver-1a2b3c4d",),
    steps=(
        step(1, "apt.install", "Kernel 6.2 or newer", state=DONE, note="6.8 runs", layer="kernel-driver"),
        step(2, "edit", "No force_probe left", state=DONE, note="the kernel's command line has none", layer="kernel-driver"),
        vendor_repository(3, "intel-graphics", "https://ppa.launchpadcontent.net/kobuk-team/intel-graphics/ubuntu", "noble"),
        step(
            4,
            "apt.install",
            "Level Zero and OpenCL drivers",
            apt("libze-intel-gpu1", "libze1", "intel-opencl-icd"),
            why="They are the way from PyTorch to the card.",
            layer="user-driver",
            settings={"packages": ["libze-intel-gpu1", "libze1", "intel-opencl-icd"]},
            changes=("installs libze-intel-gpu1, libze1, intel-opencl-icd",),
            root=True,
        ),
        groups(5, "render", "video"),
        venv(6, ARC_ENV),
        step(
            7,
            "pip",
            "PyTorch 2.14 with XPU",
            pip(ARC_ENV, "torch==2.14.*", "torchvision", "--index-url", "https://download.pytorch.org/whl/xpu"),
            why="The wheels of this index bring the SYCL run time with them.",
            changes=(f"installs torch, torchvision into {ARC_ENV}",),
        ),
        step(
            8,
            "environment",
            "Variables of the environment",
            FileChange(path=f"{ARC_ENV}/gpudoctor-env.sh", content="export ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE\n"),
            why="One card is one device then.",
            changes=(f"writes {ARC_ENV}/gpudoctor-env.sh",),
        ),
    ),
)

ROCM = Plan(
    name="rocm",
    recipe="rocm-ubuntu",
    title="PyTorch on AMD GPUs (ROCm)",
    stack="torch-rocm",
    compute="torch-rocm",
    machine="Radeon RX 6600 XT · Ubuntu 24.04 · kernel 6.8.0-45",
    env=ROCM_ENV,
    os_id="ubuntu",
    os_version="24.04",
    variables={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"},
    sources=("https://rocm.docs.amd.com/",),
    steps=(
        step(
            1,
            "modprobe",
            "amdgpu is not blacklisted",
            FileChange(path="/etc/modprobe.d/gpudoctor-amdgpu.conf", content="options amdgpu noretry=0\n", root=True),
            Command(argv=("update-initramfs", "-u"), root=True),
            layer="kernel-driver",
            changes=("writes /etc/modprobe.d/gpudoctor-amdgpu.conf",),
            root=True,
            restart="reboot",
        ),
        groups(2, "render", "video"),
        venv(3, ROCM_ENV, "python3.12"),
        step(4, "pip", "PyTorch for ROCm 7", pip(ROCM_ENV, "torch", "--index-url", "https://download.pytorch.org/whl/rocm7.0")),
        step(
            5,
            "environment",
            "HSA_OVERRIDE_GFX_VERSION=10.3.0",
            FileChange(path=f"{ROCM_ENV}/gpudoctor-env.sh", content="export HSA_OVERRIDE_GFX_VERSION=10.3.0\n"),
            why="The libraries have no kernels for gfx1032; those for gfx1030 run on it.",
        ),
    ),
)

WSL = Plan(
    name="directml",
    recipe="directml-wsl",
    title="PyTorch by DirectML",
    stack="torch-directml",
    compute="torch-directml",
    machine="Arc A770 · Ubuntu 22.04 in WSL2 · Windows 11",
    env="/home/nick/directml",
    os_id="ubuntu",
    os_version="22.04",
    archived="torch-directml has had no release since 2024-09; on Intel cards PyTorch's own XPU backend replaces it.",
    steps=(
        step(
            1,
            "reboot",
            "WSL starts anew",
            Word(text="In PowerShell: wsl --shutdown; then open the distribution again."),
            why="A new Windows driver is seen after that only.",
            layer="device-node",
            settings={"what": "wsl"},
            restart="wsl",
        ),
        step(
            2,
            "venv",
            "Python 3.10",
            Command(argv=(UV, "venv", "--python", "3.10", "/home/nick/directml")),
            settings={"path": "/home/nick/directml"},
        ),
        step(
            3,
            "pip",
            "torch-directml",
            Command(argv=(UV, "pip", "install", "--python", "/home/nick/directml/bin/python", "torch-directml==0.2.5.dev240914")),
        ),
    ),
)

POPLAR = Plan(
    name="poplar",
    recipe="poplar-pcie",
    title="PopTorch on Graphcore IPUs",
    stack="poplar",
    compute="poptorch",
    machine="Graphcore C2 · Ubuntu 20.04 · kernel 5.4.0-150",
    env="/home/nick/poplar",
    os_id="ubuntu",
    os_version="20.04",
    archived="Graphcore has published no SDK since 3.4 (2023); there is no successor.",
    steps=(
        step(
            1,
            "person",
            "The SDK archive",
            Word(text="Log in at Graphcore's download portal and put poplar_sdk-ubuntu_20_04-3.4.0.tar.gz into /home/nick/sdk."),
            Command(argv=("tar", "xf", "poplar_sdk-ubuntu_20_04-3.4.0.tar.gz", "-C", "/home/nick/sdk")),
            why="It is behind a login, so nobody but you can fetch it.",
            layer="runtime",
            settings={"text": "…", "ready_path": "/home/nick/sdk/poplar/enable.sh"},
        ),
        venv(2, "/home/nick/poplar", "python3.8"),
        step(3, "pip", "PopTorch of the SDK", pip("/home/nick/poplar", "/home/nick/sdk/poptorch-3.4.0-cp38-cp38-linux_x86_64.whl")),
        step(4, "person", "A partition", Word(text="Ask the administrator of the pod for a partition named p1."), settings={}),
    ),
)

REFUSED = Plan(
    name="intel-driver",
    recipe="intel-driver-none",
    title="Intel graphics driver",
    stack="",
    compute="",
    machine="Arc A770 · Ubuntu 22.04 in WSL2",
    env="",
    os_id="ubuntu",
    os_version="22.04",
    refusals=(Refusal(title="No kernel or display driver is installed in WSL", advice="Install the driver for Windows: WSL uses it."),),
    steps=(
        step(1, "apt.install", "A newer kernel", state=IMPOSSIBLE, note="WSL brings its own", layer="kernel-driver", root=True),
        step(2, "apt.install", "OpenCL driver", apt("intel-opencl-icd"), layer="user-driver", root=True),
    ),
)

ALL = {"arc": ARC, "rocm": ROCM, "wsl": WSL, "poplar": POPLAR, "refused": REFUSED}

CHOICE = Recommendation(
    first=Option(
        name="torch-xpu",
        title="PyTorch's own Intel backend",
        reasons=("It is maintained, and needs no other run time.", "The kernel of this machine knows the card."),
        device="xpu:0 (Arc A770)",
        command="gpudoctor setup torch-xpu",
    ),
    runner_up=Option(name="openvino", title="OpenVINO", reasons=("For inference alone it is faster.",), command="gpudoctor setup openvino"),
    against=("ipex: archived since 2026-03-30", "cuda: no NVIDIA card here"),
)
