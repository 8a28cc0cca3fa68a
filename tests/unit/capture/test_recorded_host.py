"""Recorded machines: what they answer, and hostile ones."""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import tarfile
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudoctor.capture.capture_store import MemoryStore
from gpudoctor.capture.recorded_host import RecordedHost, open_recorded
from gpudoctor.system.host import CaptureError

MACHINE = 'format = 1\ncomplete = false\nplatform = "linux"\n'
BDF = "/sys/bus/pci/devices/0000:03:00.0"
FILES = {
    "machine.toml": MACHINE,
    "files/etc/os-release": "ID=ubuntu\n",
    f"files{BDF}/vendor": "0x8086\n",
    "files/sys/bus/pci/drivers/xe/uevent": "",
    "files/dev/dri/renderD128": "",
    "files/opt/intel/oneapi/compiler/2025.1/lib/libsycl.so.8": "",
    "links.toml": f'"{BDF}/driver" = "../../../../bus/pci/drivers/xe"\n"/opt/intel/oneapi/compiler/latest" = "2025.1"\n'
    f'"/sys/class/drm/renderD128/device" = "../../../bus/pci/devices/0000:03:00.0"\n"/a" = "/b"\n"/b" = "/a"\n',
    "modes.toml": '"/dev/dri/renderD128" = {mode = "crw-rw----", owner = "root", group = "render", uid = 0, gid = 110}\n'
    '"/dev/kfd" = {mode = "crw-rw-rw-", owner = "root", group = "root", uid = 0, gid = 0}\n',
    "unreadable.toml": '"/sys/kernel/debug/dri/0/name" = "denied"\n',
    "env.toml": 'ONEAPI_ROOT = "/opt/intel/oneapi"\nZE_AFFINITY_MASK = "0"\n',
    "commands.jsonl": "\n".join(
        json.dumps(line)
        for line in (
            {"argv": ["id"], "rc": 0, "stdout": "uid=1000(user) gid=1000(user) groups=1000(user),44(video)\n"},
            {"argv": ["sycl-ls"], "rc": 1, "stdout": "old"},
            {"argv": ["sycl-ls"], "rc": 0, "stdout": "new", "stderr": "", "seconds": 0.2},
            {"argv": ["clinfo"], "timed_out": True, "stdout": "part", "truncated": True},
            {"argv": ["rocminfo"], "signal": 11},
            {"argv": ["nvidia-smi"], "missing": True},
        )
    ),
    "python.json": '{"executable": "/x/bin/python", "distributions": {"torch": "2.8.0+xpu"}}',
}


def folder(root: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


def tar(root: Path, files: dict[str, str], prefix: str = "") -> str:
    path = root / "m.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return str(path)


def zipped(root: Path, files: dict[str, str]) -> str:
    path = root / "m.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return str(path)


def host_of(changes: dict[str, str | None]) -> RecordedHost:
    files = {**FILES, **changes}
    return RecordedHost(MemoryStore("machine", {name: text.encode() for name, text in files.items() if text is not None}, {}))


@pytest.mark.parametrize("form", ["folder", "tar", "wrapped", "zip"])
def test_answers(tmp_path: Path, form: str) -> None:
    makers = {"folder": folder, "tar": tar, "zip": zipped, "wrapped": lambda root, files: tar(root, files, "./box/")}
    host = open_recorded(makers[form](tmp_path, FILES))
    assert host.read("/etc/os-release").text == "ID=ubuntu\n"
    assert host.read("/etc/os-release", limit=3).problem == "too-large"
    assert host.read("/etc/absent").problem == "missing"
    assert host.read("/sys/module/nvidia/version").problem == "not-recorded" and not host.knows("/sys/module")
    assert host.read("/opt/rocm/.info/version").problem == "missing" and host.knows("/opt/rocm")
    assert host.read("/sys/kernel/debug/dri/0/name").problem == "denied"
    assert host.read("/etc").problem == "io-error"
    assert host.listdir(BDF) == ["driver", "vendor"]
    assert host.listdir("/sys/bus/pci/devices") == ["0000:03:00.0"]
    assert host.listdir("/dev") == ["dri", "kfd"] and host.exists("/dev/kfd")
    assert host.readlink(f"{BDF}/driver") == "../../../../bus/pci/drivers/xe"
    assert host.realpath(f"{BDF}/driver") == "/sys/bus/pci/drivers/xe"
    assert host.realpath("/sys/class/drm/renderD128/device") == BDF
    assert host.read("/sys/class/drm/renderD128/device/vendor").text == "0x8086\n"
    assert host.realpath("/sys/class/drm/renderD128/device/driver") == "/sys/bus/pci/drivers/xe"
    assert host.readlink("/sys/class/drm/renderD128/device/driver") == "../../../../bus/pci/drivers/xe"
    assert host.exists("/opt/intel/oneapi/compiler/latest/lib/libsycl.so.8")
    assert host.run(["sycl-ls"]).stdout == "new" and host.run(["sycl-ls"], limit=1).truncated
    assert host.run(["clinfo"]).timed_out and host.run(["clinfo"]).truncated
    assert host.run(["rocminfo"]).signal == 11 and host.run(["nvidia-smi"]).missing
    assert host.run(["never-asked"]).missing
    assert host.env("ONEAPI_ROOT") == "/opt/intel/oneapi" and host.env_names("ZE_") == ["ZE_AFFINITY_MASK"] and host.env("X") is None
    assert host.python_environment() == {"executable": "/x/bin/python", "distributions": {"torch": "2.8.0+xpu"}}


def test_link_loops_end() -> None:
    host = host_of({"links.toml": '"/a" = "/b"\n"/b" = "/a"\n"/c" = "/c/c"\n"/d" = "d/d/d/d/../../x"\n'})
    for path in ("/a", "/a/x", "/c", "/c/y", "/d", "/d/z"):
        assert host.read(path).problem
        assert not host.exists(path)
        assert host.listdir(path) == []
        host.realpath(path)


def test_links_stay_inside(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    root = Path(folder(tmp_path / "m", {**FILES, "links.toml": f'"/up" = "../../../../../..{secret}"\n"/full" = "{secret}"\n'}))
    (root / "files/etc/outside").symlink_to(secret)
    (root / "files/etc/folder").symlink_to(tmp_path)
    host = open_recorded(str(root))
    for path in ("/up", "/full", "/etc/outside", "/etc/folder/secret", f"/../../..{secret}", f"/etc/../..{secret}", "../secret"):
        assert host.read(path).text == ""
    (root / "machine.toml").unlink()
    (root / "machine.toml").symlink_to(secret)
    with pytest.raises(CaptureError, match=r"machine.toml is a link"):
        open_recorded(str(root))


def test_complete_captures_do_not_guess() -> None:
    host = host_of({"machine.toml": MACHINE.replace("false", "true"), "absent.toml": 'paths = ["/etc/no"]', "folders.toml": '"/f" = ["a"]'})
    assert host.run(["never-asked"]).not_recorded
    assert host.read("/etc/other").problem == "not-recorded" and not host.knows("/etc/other")
    assert host.read("/etc/no").problem == "missing" and host.read("/etc/no/deeper").problem == "missing"
    assert host.read("/f/b").problem == "missing" and host.exists("/f/a") and host.listdir("/f") == ["a"]


ID = '{"argv": ["id"], "rc": 0, "stdout": "%s"}\n'
LS = '{"argv": ["ls", "-l", "/dev/dri"], "rc": 0, "stdout": "crw-rw----+ 1 root render 226, 128 Jan 15 09:12 renderD128\\n"}\n'


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        (ID % "uid=1000(u) gid=1000(u) groups=1000(u),44(video)", False),
        (ID % "uid=1000(u) gid=1000(u) groups=1000(u),44(video)" + LS, None),
        (ID % "uid=1000(u) gid=1000(u) groups=1000(u),110(render)", True),
        (ID % "uid=1000(u) gid=1000(u) groups=1000(u),110(render)" + LS, True),
        (ID % "uid=0(root) gid=0(root) groups=0(root)", True),
        (ID % "garbage", None),
        ("", None),
    ],
)
def test_who_may_open(commands: str, expected: bool | None) -> None:
    host = host_of({"commands.jsonl": commands})
    assert host.may_open("/dev/dri/renderD128") is expected
    assert host.may_open("/dev/kfd") is True
    assert host.may_open("/dev/dri/renderD129") is None


def test_mode_from_a_listing() -> None:
    host = host_of({"modes.toml": None, "commands.jsonl": LS})
    mode = host.mode("/dev/dri/renderD128")
    assert mode is not None and (mode.mode, mode.group) == ("crw-rw----+", "render")


def test_windows_paths(tmp_path: Path) -> None:
    windows = {
        "machine.toml": MACHINE.replace("linux", "windows"),
        "files/C:/Users/user/a.txt": "1",
        "files/D/Data/b.txt": "2",
        "env.toml": 'Path = "C:\\\\Windows"\n',
    }
    host = open_recorded(tar(tmp_path, windows))
    for spelling in ("C:/Users/user/a.txt", "C:\\Users\\user\\a.txt", "c:/users/USER/A.TXT", "/C:/Users/user/a.txt"):
        assert host.read(spelling).text == "1", spelling
    assert host.read("D:/Data/b.txt").text == "2"
    assert host.listdir("C:/Users") == ["user"]
    assert host.realpath("C:/Users/user/a.txt") == "C:/Users/user/a.txt"
    assert host.env("PATH") == "C:\\Windows" and host.env_names("pa") == ["Path"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("machine.toml", None, "machine.toml is missing"),
        ("machine.toml", "format = 2", "expected 1"),
        ("machine.toml", "format = 1\nformat = 1", "machine.toml"),
        ("machine.toml", 'format = 1\nplatform = "beos"', "expected one of"),
        ("machine.toml", 'format = 1\ncomplete = "yes"', "expected true or false"),
        ("links.toml", "/a = 1", "expected TOML"),
        ("links.toml", '"/a" = 1', "expected text"),
        ("links.toml", '"/a" = "b"\n"/a" = "c"', "links.toml"),
        ("modes.toml", '"/a" = "rw"', "expected a table"),
        ("env.toml", "[[[", "expected TOML"),
        ("env.toml", "a = " + "[" * 100_000, "env.toml"),
        ("commands.jsonl", '{"argv": ["id"], "rc": 0}\n{bad', "line 2"),
        ("commands.jsonl", "[1]", "expected an object"),
        ("commands.jsonl", '{"argv": "id", "rc": 0}', "argv"),
        ("commands.jsonl", '{"argv": ["id"], "rc": "0"}', "rc"),
        ("commands.jsonl", '{"argv": ["id"]}', "neither"),
        ("commands.jsonl", "[" * 100_000, "line 1"),
        ("commands.jsonl", '{"argv": ["id"], "rc": ' + "9" * 10_000 + "}", "line 1"),
        ("python.json", "{", "expected JSON"),
        ("python.json", "[]", "expected an object"),
        ("unreadable.toml", '"/a" = 1', "expected text"),
        ("folders.toml", '"/a" = 1', "expected a list"),
        ("absent.toml", "paths = 1", "expected a list"),
    ],
)
def test_broken_tables_end_in_one_line(name: str, text: str | None, words: str) -> None:
    with pytest.raises(CaptureError) as caught:
        host_of({name: text})
    message = str(caught.value)
    assert words in message and "\n" not in message and len(message) < 400 and "machine" in message


def test_broken_encodings_are_shown() -> None:
    store = MemoryStore(
        "m",
        {
            "machine.toml": MACHINE.encode(),
            "files/etc/x": b"\xff\xfe\x00a",
            "commands.jsonl": b'{"argv": ["a\\ud800"], "rc": 0, "stdout": "\\ud83d"}',
        },
        {},
    )
    host = RecordedHost(store)
    host.read("/etc/x").text.encode()
    host.run(["a?"]).stdout.encode()
    assert host.run(["a?"]).rc == 0


@pytest.mark.parametrize("name", ["../../etc/passwd", "files/../../x", "/etc/passwd"])
def test_archives_that_reach_out(tmp_path: Path, name: str) -> None:
    for path in (tar(tmp_path, {**FILES, name: "x"}), zipped(tmp_path, {**FILES, name: "x"})):
        with pytest.raises(CaptureError, match="outside the capture"):
            open_recorded(path)


def test_archive_members_that_are_no_files(tmp_path: Path) -> None:
    path = tmp_path / "m.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, kind, target in (("files/etc/l", tarfile.SYMTYPE, "/etc/passwd"), ("files/etc/h", tarfile.LNKTYPE, "/etc/passwd"),
                                   ("files/etc/f", tarfile.FIFOTYPE, ""), ("files/etc/d", tarfile.CHRTYPE, "")):  # fmt: skip
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
        member = tarfile.TarInfo("machine.toml")
        member.size = len(MACHINE)
        archive.addfile(member, io.BytesIO(MACHINE.encode()))
    host = open_recorded(str(path))
    assert all(host.read(f"/etc/{name}").text == "" for name in "lhfd")


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudoctor.capture.capture_store.MAX_TOTAL", 3_000_000)
    big = {**FILES, "files/var/log/big": "0" * 2_000_000, "files/var/log/big2": "0" * 2_000_000}
    for path in (tar(tmp_path, big), zipped(tmp_path, big)):
        with pytest.raises(CaptureError, match="unpacked"):
            open_recorded(path)
    lying = tmp_path / "lying.tar.gz"
    member = tarfile.TarInfo("machine.toml")
    member.size = 1 << 50
    lying.write_bytes(gzip.compress(member.tobuf() + b"\0" * 10_000))
    with pytest.raises(CaptureError):
        open_recorded(str(lying))


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"PK\x03\x04garbage", b"\x1f\x8bgarbage", b"PK", gzip.compress(b"not a tar" * 100, mtime=0)]
)
def test_what_is_no_capture(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(content)
    with pytest.raises(CaptureError):
        open_recorded(str(path))


def test_paths_that_are_no_capture(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (str(tmp_path), str(tmp_path / "none"), str(tmp_path / "fifo"), "/dev/zero", "a\x00b"):
        with pytest.raises(CaptureError):
            open_recorded(path)


def test_fifo_in_a_folder_does_not_hang(tmp_path: Path) -> None:
    root = Path(folder(tmp_path, FILES))
    os.mkfifo(root / "files/etc/fifo")
    began = time.monotonic()
    assert open_recorded(str(root)).read("/etc/fifo").problem == "io-error"
    assert time.monotonic() - began < 2
    assert stat.S_ISFIFO(os.stat(root / "files/etc/fifo").st_mode)


def test_damaged_archives_never_raise_anything_else(tmp_path: Path) -> None:
    whole = {"t": Path(tar(tmp_path, FILES)).read_bytes(), "z": Path(zipped(tmp_path, FILES)).read_bytes()}
    target = tmp_path / "broken"

    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.sampled_from(["t", "z"]), st.integers(0, 5000), st.binary(max_size=8), st.booleans())
    def check(form: str, at: int, junk: bytes, cut: bool) -> None:
        at %= len(whole[form])
        target.write_bytes(whole[form][:at] + junk + (b"" if cut else whole[form][at + len(junk) :]))
        try:
            open_recorded(str(target)).read("/etc/os-release")
        except CaptureError as error:
            assert "\n" not in str(error)

    check()


names = st.lists(st.sampled_from(["a", "b", "..", ".", "", "sys", "0000:03:00.0", "C:"]), max_size=6).map("/".join)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(names, names, max_size=8), names, st.sampled_from(["linux", "windows"]))
def test_any_links_are_harmless(links: dict[str, str], asked: str, platform: str) -> None:
    text = "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in links.items())
    host = host_of({"links.toml": text, "machine.toml": MACHINE.replace("linux", platform)})
    host.read(asked), host.exists(asked), host.listdir(asked), host.realpath(asked), host.mode(asked), host.may_open(asked)
    assert host.readlink(asked) is None or isinstance(host.readlink(asked), str)
