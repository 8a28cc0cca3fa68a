"""People go, the machine stays."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.privacy.pseudonyms import FILE, Pseudonyms
from gpudoctor.privacy.redactor import Redactor
from gpudoctor.system import system_names
from gpudoctor.system.system_names import Names

UUID = "9f6dbf4a-1c2d-4e5f-8a9b-0c1d2e3f4a5b"
NAMES = Names(users=("alice", "Alice Liddell", "bob"), hosts=("wonderland", "wonderland.example.org"), domains=("example.org",))


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(NAMES, {"alice-utils"})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("/home/alice/venv/bin/python", "/home/user-1/venv/bin/python"),
        ("PATH=/home/alice/bin:/home/bob/bin:/usr/bin", "PATH=/home/user-1/bin:/home/user-2/bin:/usr/bin"),
        ("C:\\Users\\alice\\venv", "C:\\Users\\user-1\\venv"),
        ("C:\\\\Users\\\\alice\\\\venv", "C:\\\\Users\\\\user-1\\\\venv"),
        ("C:/Users/alice/venv", "C:/Users/user-1/venv"),
        ("/mnt/c/Users/alice/x", "/mnt/c/Users/user-1/x"),
        ("/var/home/alice/x", "/var/home/user-1/x"),
        ("/data/alice/set", "/data/user-1/folder-1"),
        ("alice@wonderland:~$ nvidia-smi", "user-1@host-1:~$ nvidia-smi"),
        ("Linux wonderland 6.8.0-45-generic #45 SMP", "Linux host-1 6.8.0-45-generic #45 SMP"),
        ("Linux version 6.8.0-custom (bob@forge) (gcc 13)", "Linux version 6.8.0-custom (user-1@host-1) (gcc 13)"),
        ("built on wonderland.example.org by alice.", "built on host-1 by user-1."),
        ("asked node17.lab.example.org:22", "asked host-1:22"),
        ("mounted from files.queen.com, see pytorch.org", "mounted from host-1, see pytorch.org"),
        ("on wonderland.local now", "on host-1 now"),
        ("name: DESKTOP-AB12CD3", "name: host-1"),
        ("Accepted key from 203.0.113.9 port 22", "Accepted key from 192.0.2.1 port 22"),
        ("WONDERLAND, Alice's RTX 4090", "host-1, user-1's RTX 4090"),
        ("/dev/mapper/wonderland--vg-root, vg_alice", "/dev/mapper/folder-1, vg_user-1"),
        ("Nov 21 10:00:00 cuda kernel: i915", "Nov 21 10:00:00 host-1 kernel: i915"),
        ("[    1.234567] looking-glass kernel: nvidia: module", "[    1.234567] host-1 kernel: nvidia: module"),
        ("uid=1000(alice) gid=1000(alice) groups=1000(alice),44(video)", "uid=1000(user-1) gid=1000(user-1) groups=1000(user-1),44(video)"),
        ("crw-rw---- 1 alice render 226, 128 Nov 21 10:00 renderD128", "crw-rw---- 1 user-1 render 226, 128 Nov 21 10:00 renderD128"),
        ("render:x:992:alice,bob\n", "render:x:992:user-1,user-2\n"),
        ("Alice Liddell <a.liddell@example.org>", "user-1 <<email>>"),
        ("https://bob:hunter2@pypi.example.org/simple", "https://<credentials>@host-1/folder-1"),
        ("https://bob:p@ss@pypi.org/simple", "https://<credentials>@pypi.org/simple"),
        ("https://download.pytorch.org/whl/cu128", "https://download.pytorch.org/whl/cu128"),
        ("git+https://github.com/looking/glass.git@1a2b3c", "git+https://github.com/project-1/project-2@1a2b3c"),
        ("git+https://github.com/pytorch/torch.git@v2", "git+https://github.com/pytorch/torch.git@v2"),
        ("git@github.com:looking/glass.git", "git@github.com:project-1/project-2"),
        ("HTTPS_PROXY=http://10.1.2.3:3128", "HTTPS_PROXY=http://192.0.2.1:3128"),
        ("inet 10.1.2.3/24 brd", "inet 192.0.2.1/24 brd"),
        ("nfs: server 10.1.2.3 not responding", "nfs: server 192.0.2.1 not responding"),
        ("listening on 192.168.1.17", "listening on 192.0.2.1"),
        ("inet6 fe80::3e7c:3fff:feaa:bbcc/64", "inet6 fe80::1/64"),
        ("fe80::1 is a router", "fe80::1 is a router"),
        ("link/ether 3c:7c:3f:aa:bb:cc brd", "link/ether 02:00:00:00:00:01 brd"),
        ("token = abcdefgh1234", "token = <secret>"),
        ("HF_TOKEN=hf_abcdefghijklmnopqrstuvwx", "HF_TOKEN=<secret>"),
        ("MY_OWN_TOKEN=abcd1234", "MY_OWN_TOKEN=<secret>"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=<secret>"),
        ("key AKIAIOSFODNN7EXAMPLE and", "key <secret> and"),
        ("Authorization: Basic YWxpY2U6aHVudGVyMg==", "Authorization: Basic <secret>"),
        ("curl --token abc123def x", "curl --token <secret> x"),
        ("use ghp_abcdefghijklmnopqrstuvwxyz0123456789 now", "use <secret> now"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP", "<secret>"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nx", "<secret>\nx"),
        ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIabcdefghi alice@wonderland", "<secret>"),
        ("Serial Number : 1320921000123", "Serial Number : serial-1"),
        ("Device Serial Number 00-11-22-ff-fe-33-44-55", "Device Serial Number serial-1"),
        ('"serial": "ABC123"', '"serial": "serial-1"'),
        ("<a><serial>1320921000123</serial></a>", "<a><serial>serial-1</serial></a>"),
        (f"GPU 0: NVIDIA A100 (UUID: GPU-{UUID})", "GPU 0: NVIDIA A100 (UUID: GPU-00000000-0000-4000-8000-000000000001)"),
        ("root=UUID=" + UUID, "root=UUID=00000000-0000-4000-8000-000000000001"),
        ("nas:/export/pictures /mnt/pix nfs4 rw,addr=10.1.2.3 0 0", "host-1:/share-1 /mnt/folder-1 nfs4 rw,addr=192.0.2.1 0 0"),
        (
            "//nas/pictures /mnt/pix cifs rw,username=carol,domain=REDQUEEN 0 0",
            "//host-1/share-1 /mnt/folder-1 cifs rw,username=user-1,domain=domain-1 0 0",
        ),
        ("net use \\\\nas\\pictures", "net use \\\\host-1\\share-1"),
        ("/home/alice/rabbit-hole/train.py", "/home/user-1/folder-1/train.py"),
        ("/opt/intel/oneapi/setvars.sh /mnt/c/data", "/opt/intel/oneapi/setvars.sh /mnt/c/data"),
    ],
)
def test_replaced(redactor: Redactor, before: str, after: str) -> None:
    said = redactor.text(before)
    assert said == after
    assert redactor.text(said) == said


KEPT = (
    "0000:03:00.0 VGA compatible controller [0300]: Intel Corporation DG2 [8086:56a0] (rev 08)",
    "nvidia-curand-cu12 10.3.5.147",
    "libcudart.so.12.4.127",
    "31.0.101.4502",
    "torch==2.8.0+cu126",
    "NVIDIA-SMI 550.54.15",
    "10.0.22631.4317",
    "Linux version 6.8.0 (buildd@lcy02-amd64-042)",
    "Serial Number : N/A",
    "Serial Number : 0",
    "http://127.0.0.1:8080",
    "libalice.so.1",
    "alice-utils 1.2",
    "1.0+alice",
    "update cuDNN from 8.9.2.26 to 9.1.0.70",
    "org.freedesktop.systemd1",
    "com.apple.driver",
    "torch.distributed.run",
    "alice.so",
    "malice",
    "wonderlands",
    "/usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1.3.26241.33",
    "00000000-0000-0000-0000-000000000000",
    "CL_DEVICE_NAME  Intel(R) Arc(TM) A770 Graphics",
    "sm_80 sm_86 sm_90",
    "12:30:45",
    "[    1.234567] i915 0000:03:00.0: GuC firmware",
    "git@github.com:",
    "root=/dev/nvme0n1p2",
    "tokenizers 0.19",
    "token count: 4",
    "max_tokens=5",
    "version 2023.15.3.0.20_160000",
    "pip @ 24.0",
)


@pytest.mark.parametrize("text", KEPT)
def test_kept(redactor: Redactor, text: str) -> None:
    assert redactor.text(text) == text


@pytest.mark.parametrize("name", ["cuda", "intel", "root", "test", "torch", "lab", "ubuntu", "render", "numpy", "gpu", "xpu"])
def test_a_user_or_host_called_like_a_word(name: str) -> None:
    redactor = Redactor(Names(users=(name,), hosts=(name,)), {"numpy"})
    for text in (
        f"lib{name}.so",
        f"/usr/local/{name}/lib",
        f"{name} 12.4",
        f"/opt/{name}/oneapi",
        f"{name}==2.1",
        f"module {name}",
        f"group {name}",
        f"{name}:0",
        f"/usr/lib/{name}/x",
    ):
        assert redactor.text(text) == text
    assert redactor.text(f"/home/{name}/venv") == ("/home/root/venv" if name == "root" else "/home/user-1/venv")
    if name not in ("root", "render"):
        assert redactor.text(f"uid=1000({name}) gid=1000({name})") == "uid=1000(user-1) gid=1000(user-1)"
    if name != "root":
        assert redactor.text(f"USER={name}") == "USER=user-1"
        assert redactor.text(f"Linux {name} 6.8.0 x") == "Linux host-1 6.8.0 x"


def test_the_group_of_a_device_is_kept_whoever_is_called_like_it() -> None:
    redactor = Redactor(Names(users=("render",)))
    said = redactor.text("uid=1000(render) gid=1000(render) groups=1000(render),992(render)")
    assert said == "uid=1000(user-1) gid=1000(user-1) groups=1000(user-1),992(render)"


def test_the_same_stays_the_same(redactor: Redactor) -> None:
    first = redactor.text(f"GPU-{UUID} and GPU-{UUID.replace('9f', 'aa')}")
    assert redactor.text(f"GPU-{UUID.upper()}").lower() == first.split(" ")[0].lower()
    assert first.split(" ")[0] != first.split(" ")[2]
    assert redactor.text("192.168.0.1 192.168.0.2 192.168.0.1") == "192.0.2.1 192.0.2.2 192.0.2.1"


def test_a_number_is_found_again_where_nothing_names_it(redactor: Redactor) -> None:
    redactor.text("Serial Number: XJ12345678")
    assert redactor.text("card XJ12345678 is hot") == "card serial-1 is hot"


def test_values_in_tables(redactor: Redactor) -> None:
    value = {
        "board_serial": "123",
        "path": "/home/alice/x",
        "n": 3,
        "list": ["alice"],
        "/home/alice": None,
        "api_key": "abc",
        "serial": "N/A",
        "alice": "a name as a key",
    }
    assert redactor.value(value) == {
        "board_serial": "serial-1",
        "path": "/home/user-1/x",
        "n": 3,
        "list": ["user-1"],
        "/home/user-1": None,
        "api_key": "<secret>",
        "serial": "N/A",
        "user-1": "a name as a key",
    }
    assert redactor.counts["user"] == 4


def test_json_and_xml_keep_their_layout_and_lose_names_in_keys_too(redactor: Redactor) -> None:
    text = '{"alice": {"bob": 1.10, "host": "wonderland", "serial": "XJ12345678"}, "version": "10.1.2.3",\n "path": "C:\\\\Users\\\\alice"}'
    said = redactor.text(text)
    changes = {"alice": "user-1", "bob": "user-2", '"wonderland"': '"host-1"', '"XJ12345678"': '"serial-1"'}
    expected = text
    for before, after in changes.items():
        expected = expected.replace(before, after)
    assert said == expected
    assert json.loads(said)["user-1"]["user-2"] == 1.1
    assert redactor.text("<gpu><alice>wonderland</alice></gpu>") == "<gpu><user-1>host-1</user-1></gpu>"


def test_what_a_child_said_is_json_in_a_text(redactor: Redactor) -> None:
    assert redactor.text('warning: alice\n@gpudoctor {"bob": "alice"}\n') == 'warning: user-1\n@gpudoctor {"user-2": "user-1"}\n'


def test_packages_called_like_secrets(redactor: Redactor) -> None:
    value = {"distributions": {"serial": "0.0.97", "ast-serialize": "0.13.1", "token": "1.0", "x": {"version": "1.2"}}, "serializer": "abc"}
    assert redactor.value(value) == value
    assert redactor.text("serial==0.0.97 token==1.0.0 pyserial==3.5") == "serial==0.0.97 token==1.0.0 pyserial==3.5"


def test_inactive_changes_nothing() -> None:
    text = f"/home/alice {UUID} token=abcdefgh"
    redactor = Redactor(NAMES, active=False)
    assert redactor.text(text) == text and redactor.counts == {}


def test_a_folder_of_work_with_a_space_in_it() -> None:
    redactor = Redactor(Names(paths=("/opt/Looking Glass/venv",)))
    assert redactor.text("in /opt/Looking Glass/venv/bin/python") == "in /opt/folder-1/venv/bin/python"
    assert redactor.path("/opt/Looking Glass/venv/lib/x") == "/opt/folder-1/venv/lib/x"


def test_names_of_the_system() -> None:
    files = {
        "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1::/:/bin/false\ndave:x:1001:1001:Dave Bowman,,,:/home/dave:/bin/sh\n"
        "broken\nnobody:x:65534:1::/:/x\n",
        "/etc/hosts": "127.0.0.1 localhost\n127.0.1.1 discovery.example.org discovery\n10.0.0.7 hal.example.org hal # core\n",
        "/etc/resolv.conf": "nameserver 10.0.0.1\nsearch jupiter.example.org\n",
        "/etc/machine-id": "0123456789abcdef0123456789abcdef\n",
        "/proc/mounts": "pod:/bay/doors /bay nfs4 rw 0 0\nbob@pod2:/x /y fuse.sshfs rw 0 0\n"
        "tmpfs /tmp tmpfs rw 0 0\nC:\\\\ /mnt/c 9p rw 0 0\n",
        "/home/carol/.gitconfig": "[user]\n name = Carol Clarke\n email = cclarke@example.org\n",
        "/work/.git/config": '[remote "origin"]\n url = git@github.com:monolith/tycho.git\n',
    }
    environment = {"USER": "carol", "HOME": "/home/carol", "HOSTNAME": "discovery", "CONDA_DEFAULT_ENV": "odyssey", "PWD": "/work/space"}
    names = system_names.collect(lambda path: files.get(path, ""), environment, [], [], [], [], "/work/space")
    assert {"carol", "dave", "Dave Bowman", "Carol Clarke", "cclarke"} <= set(names.users) and not {"daemon", "root", "nobody"} & set(
        names.users
    )
    assert {"discovery", "discovery.example.org", "hal", "pod", "pod2"} <= set(names.hosts)
    assert {"jupiter.example.org", "example.org"} <= set(names.domains)
    assert {("project", "odyssey"), ("project", "monolith/tycho"), ("share", "bay/doors"), ("share", "doors")} <= set(names.words)
    assert ("machine-id", "0123456789abcdef0123456789abcdef") in names.words
    assert {"/bay", "/y", "/work/space"} <= set(names.paths)


def test_names_of_this_machine_are_found_without_an_error() -> None:
    assert system_names.of_this_machine().hosts


def test_pseudonyms_are_kept_in_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "state" / FILE
    first = Redactor(NAMES)
    said = first.text("alice on wonderland, token=abcdefgh")
    assert first.pseudonyms.save(path) == ""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "abcdefgh" not in path.read_text(), "secrets are not kept anywhere"
    again = Pseudonyms()
    again.load(path)
    later = Redactor(Names(users=("dave", "alice"), hosts=("wonderland",)), pseudonyms=again)
    assert later.text("dave") == "user-2"
    assert later.text("alice on wonderland, token=abcdefgh") == said
    assert ("user", "user-1", "alice") in again.table()


@pytest.mark.parametrize("content", ["", "[]", '{"format": 2}', '{"format": 1, "numbers": {"user": {"a": 1}}}', "\x00"])
def test_a_broken_file_of_pseudonyms_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    table = Pseudonyms()
    table.load(tmp_path / FILE)
    assert table.table() == []


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "file" in Pseudonyms().save(tmp_path / "file" / "state" / FILE)


PIECES = (
    "alice",
    "wonderland",
    "Alice Liddell",
    "/home/alice/",
    "/home/bob/acme/x.py",
    "https://",
    "u:p@",
    "host.acme.io",
    "10.1.2.3",
    "192.168.1.1",
    ":8080",
    "uid=1000(",
    "alice)",
    "groups=",
    "Serial: ",
    "ABC1234567",
    "token=",
    "hf_abcdefghijklmnopqrstuvwx",
    "fe80::1",
    "3c:7c:3f:aa:bb:cc",
    "//srv/share",
    "srv:/x /mnt/y nfs4 rw,addr=1.2.3.4 0 0",
    "\n",
    " ",
    "@",
    "=",
    ":",
    "hostname: ",
    "USER=",
    "zed",
    "Linux ",
    "6.8.0-1",
    "user-1",
    "host-2",
    "<secret>",
    "serial-3",
    "folder-4",
    "C:\\Users\\zed\\q",
    UUID,
    "GPU-",
    "git+https://github.com/a/b.git",
    "git@github.com:o/r.git",
    "kernel: ",
    "Nov 21 10:00:00 ",
    "[    0.000000] ",
    '"',
    "<serial>",
    "</serial>",
    "{",
    "}",
    "-----BEGIN RSA PRIVATE KEY-----",
    "crw-rw---- 1 zed render 2 x",
    "render:x:992:zed,alice",
    "\\\\nas\\pix",
    "/opt/my proj/venv",
)


@settings(max_examples=150)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=14).map("".join))
def test_the_redacted_is_redacted(text: str) -> None:
    names = Names(users=("alice", "Alice Liddell"), hosts=("wonderland",), domains=("acme.io",), paths=("/opt/my proj/venv",))
    redactor = Redactor(names)
    once = redactor.text(text)
    assert redactor.text(once) == once
    assert Redactor(names).text(once) == once


@given(st.text(max_size=300))
def test_any_text_twice_is_once(text: str) -> None:
    redactor = Redactor(Names(users=("alice",), hosts=("wonderland",)))
    once = redactor.path(text)
    assert redactor.path(once) == once
    assert "/home/alice/" not in redactor.text(text + " /home/alice/ ")


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "a." * 100_000,
        "1." * 100_000,
        "a@" * 50_000,
        "/home/" * 30_000,
        "serial" * 30_000,
        "aa:" * 60_000,
        "eyJ" * 60_000,
        "/mnt/" + "a/" * 60_000,
        "https://" + "a." * 60_000 + "/" + "b/" * 30_000,
        "uid=1000(" + "a),1(" * 40_000,
        '{"a": "' + "x" * 200_000 + '"}',
        "<a" * 60_000 + "</",
        "token=" * 40_000,
        "hostname: " * 20_000,
        "user@host " * 20_000,
        "Authorization: " * 20_000,
        "-----BEGIN PRIVATE KEY-----" * 8_000,
        "10.1.2.3 " * 20_000,
        "f:" * 80_000,
        "fe80" + ":0" * 60_000,
        "\\\\a" * 60_000,
        "git@" * 50_000,
        "a b c d 0 0\n" * 20_000,
        "://" * 60_000,
    ],
)
def test_no_text_is_slow(redactor: Redactor, text: str) -> None:
    import time

    began = time.process_time()
    redactor.text(text)
    assert time.process_time() - began < 3
