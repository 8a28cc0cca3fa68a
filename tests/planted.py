"""A machine on which names, addresses, numbers and secrets stand in every place where real machines have them."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path

from machine_builder import Machine

SEEN = {"imported": True, "error": None}


@dataclass(frozen=True, kw_only=True)
class Plant:
    """What must not come out. `project` and `share` are folders, `secret` and `token` have no form that betrays them but their place."""

    user: str
    full_name: str
    other: str
    host: str
    domain: str
    project: str
    share: str
    server: str
    ip: str
    mac: str
    ipv6: str
    uuid: str
    machine_id: str
    serial: str
    secret: str
    token: str
    email: str
    password: str

    def all(self) -> dict[str, str]:
        return {each.name: getattr(self, each.name) for each in fields(self)}


def machine(plant: Plant, name: str = "planted") -> Machine:
    """An NVIDIA workstation with a fault (a CPU build of torch beside a card), told by a thousand tongues."""
    p = plant
    home = f"/home/{p.user}"
    work = f"{home}/{p.project}"
    made = Machine(name).linux("ubuntu 22.04", "6.8.0-51-generic").nvidia()
    made.environment.clear()
    made.commands = [each for each in made.commands if each["argv"][0] not in ("uname", "id", "nvidia-smi")]
    made.run("uname", "-a", out=f"Linux {p.host} 6.8.0-51-generic #52 SMP x86_64 GNU/Linux\n")
    made.run("id", out=f"uid=1000({p.user}) gid=1000({p.user}) groups=1000({p.user}),44(video),992(render)\n")
    query = "--query-gpu=index,name,uuid,pci.bus_id,driver_version,memory.total,compute_cap"
    row = f"0, NVIDIA GeForce RTX 4090, GPU-{p.uuid}, 00000000:01:00.0, 570.124.06, 24564, 8.9\n"
    made.run("nvidia-smi", query, "--format=csv,noheader,nounits", out=row)
    made.run("nvidia-smi", "-L", out=f"GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-{p.uuid})\n")
    processes = f"|    0   N/A  N/A      4242      C   {work}/venv/bin/python   812MiB |\n"
    made.run("nvidia-smi", out=f"| NVIDIA-SMI 570.124.06   Driver Version: 570.124.06   CUDA Version: 12.8 |\n{processes}")
    made.run("nvidia-smi", "-q", out=f"    Serial Number : {p.serial}\n    GPU UUID : GPU-{p.uuid}\n    Name : {work}/train.py\n")
    xml = f"<gpu id='0'><serial>{p.serial}</serial><uuid>GPU-{p.uuid}</uuid><process_name>{work}/x</process_name></gpu>"
    made.run("nvidia-smi", "-q", "-x", out=f"<nvidia_smi_log>{xml}</nvidia_smi_log>")
    log = (
        f"[    0.000000] Linux version 6.8.0-51-generic ({p.other}@{p.server}) (gcc 13.2.0) #52 SMP\n"
        f"[    0.000001] Command line: BOOT_IMAGE=/vmlinuz root=UUID={p.uuid} nfsroot={p.ip}:/{p.share} ip={p.ip}\n"
        f"[    1.234567] nvidia 0000:01:00.0: firmware for board {p.serial}, asked by {p.user}@{p.host}\n"
        f"[    2.000000] r8169 0000:05:00.0 eth0: RTL8125B, {p.mac}, drm\n"
        f"[    3.000000] nvidia: nfs: server {p.ip} not responding, firmware of {p.full_name}\n"
        f"[    4.000000] NVRM: token={p.token} from {p.host}.{p.domain} via {p.ipv6}/64\n"
        f"[    5.000000] python[4242]: segfault at 0 in {work}/libfoo/core.py, owner {p.user}\n"
    )
    made.run("dmesg", out=log)
    made.run(
        "journalctl",
        "-k",
        "-b",
        "--no-pager",
        "-o",
        "short-monotonic",
        out=f"[    0.000000] {p.host} kernel: NVRM: loading for {p.user}\n[    1.000000] {p.host} kernel: nvidia: {p.email}\n",
    )
    made.run("ls", "-l", "/dev/dri", out=f"total 0\ncrw-rw----+ 1 {p.user} render 226, 128 Nov 21 10:00 renderD128\n")
    made.run(
        "clinfo", "--json", out=json.dumps({"platforms": [], "devices": [], "note": f"{p.full_name} on {p.host}", "path": f"{work}/cl"})
    )
    made.run("sycl-ls", out=f"[opencl:gpu:0] {work}/libsycl.so for {p.user}\n")
    made.run(
        "df",
        "-P",
        "-k",
        home,
        out=f"Filesystem 1024-blocks Used Available Capacity Mounted on\n{p.server}:/{p.share} 100000 50000 50000 50% /home\n",
    )
    made.file(
        "/etc/passwd",
        f"root:x:0:0:root:/root:/bin/sh\n{p.user}:x:1000:1000:{p.full_name},,,:{home}:/bin/bash\n"
        f"{p.other}:x:1001:1001::/home/{p.other}:/bin/sh\n",
    )
    made.file("/etc/hostname", f"{p.host}\n")
    made.file("/etc/group", f"root:x:0:\nvideo:x:44:{p.user}\nrender:x:992:{p.user},{p.other}\n{p.user}:x:1000:\n")
    made.file("/etc/hosts", f"127.0.0.1 localhost\n127.0.1.1 {p.host}.{p.domain} {p.host}\n{p.ip} {p.server}.{p.domain} {p.server}\n")
    made.file("/etc/resolv.conf", f"nameserver {p.ip}\nsearch {p.domain}\n")
    made.file("/etc/machine-id", f"{p.machine_id}\n")
    made.file("/proc/cmdline", f"root=UUID={p.uuid} nfsroot={p.ip}:/{p.share} quiet\n")
    made.file(
        "/proc/mounts",
        "/dev/mapper/" + p.host + "--vg-root / ext4 rw 0 0\n"
        f"{p.server}:/{p.share} {home} nfs4 rw,addr={p.ip},clientaddr={p.ip} 0 0\n"
        f"//{p.server}/{p.share} /mnt/{p.share} cifs rw,username={p.user},domain={p.domain},password={p.password},addr={p.ip} 0 0\n"
        f"{p.other}@{p.server}:/{p.share} /media/{p.user}/{p.project} fuse.sshfs rw,user_id=1000 0 0\n",
    )
    made.file("/etc/OpenCL/vendors/mine.icd", f"{work}/lib/libmine.so\n")
    made.file(
        f"{work}/venv/pyvenv.cfg", f"home = {home}/.pyenv/versions/3.11.9/bin\nversion = 3.11.9\ncommand = {home}/x -m venv {work}/venv\n"
    )
    made.file("/etc/modprobe.d/local.conf", f"# {p.full_name} <{p.email}>, {p.host}\noptions nvidia NVreg_X=1\n")
    made.env(
        USER=p.user,
        LOGNAME=p.user,
        HOME=home,
        HOSTNAME=p.host,
        PWD=work,
        VIRTUAL_ENV=f"{work}/venv",
        SHELL="/bin/bash",
        PATH=f"{work}/venv/bin:{home}/.local/bin:/usr/local/cuda/bin:/usr/bin:/bin",
        LD_LIBRARY_PATH=f"{work}/lib:/usr/local/cuda/lib64",
        PIP_INDEX_URL=f"https://{p.user}:{p.password}@{p.server}.{p.domain}/simple",
        HTTPS_PROXY=f"http://{p.other}:{p.password}@{p.ip}:3128",
        HF_TOKEN=p.token,
        CUDA_API_KEY=p.secret,
        AWS_SECRET_ACCESS_KEY=p.secret,
        GITHUB_TOKEN=f"ghp_{p.secret}{p.secret}",
        DATASET_DIR=f"/mnt/{p.share}/{p.project}",
        TORCH_HOME=f"{work}/cache",
        CONDA_DEFAULT_ENV=p.project,
        SLURM_JOB_ACCOUNT=p.project,
        SLURM_SUBMIT_HOST=p.server,
        IPUOF_VIPU_API_HOST=p.ip,
        CUDA_CACHE_PATH=f"{home}/.nv/{p.project}",
        NVIDIA_NOTE=f"{p.full_name}, {p.email}",
    )
    message = f"{work}/venv/lib/python3.11/site-packages/x.so: cannot open shared object file, asked by {p.user} on {p.host}"
    libraries = [{"soname": "libcuda.so.1", "path": f"{work}/venv/lib/python3.11/site-packages/nvidia/libcuda.so.1", "origin": "wheel"}]
    made.environment_of(
        {
            "torch": "2.7.1+cpu",
            "numpy": "2.1.0",
            p.project + "-tools": {
                "version": "1.0",
                "url": f"git+https://{p.user}:{p.password}@{p.server}.{p.domain}/{p.user}/{p.project}.git",
            },
        },
        {
            "torch": {
                **SEEN,
                "version": "2.7.1+cpu",
                "devices": [],
                "libraries": libraries,
                "notes": [message],
                "file": f"{work}/torch/__init__.py",
            },
            "onnxruntime": {"imported": False, "error": {"kind": "exception", "name": "ImportError", "message": message}, "devices": []},
        },
    )
    return made


def write(plant: Plant, root: Path) -> Path:
    """The folder of the recorded machine, whose target environment lies in the person's project."""
    made = machine(plant)
    made.expect()
    folder = made.write(root)
    python = json.loads((folder / "python.json").read_text())
    prefix = f"/home/{plant.user}/{plant.project}/venv"
    python.update(executable=f"{prefix}/bin/python", prefix=prefix)
    (folder / "python.json").write_text(json.dumps(python))
    return folder
