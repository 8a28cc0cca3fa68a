"""What the ollama probe reads: the unit and its drop-ins, variables and groups of the service, libraries, and the log's last start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpudoctor.capture.recorded_host import open_recorded
from gpudoctor.facts.derive import _ollama_gpus as rules
from gpudoctor.facts.derive import ollama as derived
from gpudoctor.facts.probes import _ollama_log, _ollama_service, ollama
from gpudoctor.model.facts import Absent, Facts, Incomplete, Known, Unknown

LISTED = (
    'level=INFO source=types.go:42 msg="inference compute" id=0 filter_id="" library=ROCm compute=gfx1030 name=ROCm0 '
    'description="AMD Radeon RX 6800" libdirs=ollama,rocm_v7_2 driver=0.0 pci_id=0000:03:00.0 type=discrete total="16.0 GiB"'
)
ON_CPU = 'level=INFO msg="inference compute" id=cpu library=cpu compute="" name=cpu description=cpu libdirs=ollama'


def started(version: str) -> str:
    return f'msg="Listening on 127.0.0.1:11434 (version {version})"'


def test_the_last_start_counts() -> None:
    version, devices, _ = _ollama_log.parse_log("\n".join([started("0.30.1"), LISTED, started("0.32.0"), ON_CPU]))
    assert (version, devices) == ("0.32.0", [])
    version, devices, _ = _ollama_log.parse_log("\n".join([started("0.30.1"), ON_CPU, started("0.32.0"), LISTED]))
    assert devices is not None
    assert [(d["vendor"], d["library"], d["folder"], d["address"]) for d in devices] == [("amd", "rocm", "rocm_v7_2", "0000:03:00.0")]


def test_a_log_that_does_not_reach_discovery_lists_nothing_and_denies_nothing() -> None:
    assert _ollama_log.parse_log(started("0.32.0"))[1] is None


def test_what_is_left_out() -> None:
    text = 'msg="dropping integrated GPU; to enable, set OLLAMA_IGPU_ENABLE=1" id=0 library=Vulkan description="AMD Radeon 780M"\n' + ON_CPU
    assert _ollama_log.parse_log(text)[2] == [{"name": "AMD Radeon 780M", "why": "integrated"}]


def test_a_drop_in_is_added_and_an_empty_value_forgets() -> None:
    unit = _ollama_service.parse_unit([
        "[Service]\nUser=ollama\nEnvironment=CUDA_VISIBLE_DEVICES=0\n[Install]\nUser=nobody\n",
        '[Service]\nEnvironment=\nEnvironment="HSA_OVERRIDE_GFX_VERSION=10.3.0" "OLLAMA_API_KEY=secret"\n# User=root\n',
    ])  # fmt: skip
    assert _ollama_service.last(unit, "User") == "ollama"
    assert _ollama_service.assignments(unit["Environment"]) == {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}


def recorded(
    tmp_path: Path, files: dict[str, str], commands: dict[tuple[str, ...], str] | None = None, env: str = "", known: Facts | None = None
) -> dict[str, object]:
    (tmp_path / "machine.toml").write_text('format = 1\nplatform = "linux"\n')
    (tmp_path / "env.toml").write_text(env)
    lines = [{"argv": list(argv), "rc": 0, "stdout": said, "stderr": ""} for argv, said in (commands or {}).items()]
    (tmp_path / "commands.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for path, text in files.items():
        file = tmp_path / "files" / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return dict(ollama.collect(open_recorded(str(tmp_path)), known or Facts()))


def test_without_the_program_nothing_else_is_asked(tmp_path: Path) -> None:
    assert recorded(tmp_path, {"/usr/bin/other": ""}) == {"ollama.here": Known(False, "PATH")}


def test_libraries_in_folders_and_in_the_folder_itself(tmp_path: Path) -> None:
    found = recorded(tmp_path, {
        "/usr/bin/ollama": "", "/usr/lib/ollama/libggml-base.so": "", "/usr/lib/ollama/libggml-cuda.so": "",
        "/usr/lib/ollama/rocm_v7_2/libggml-hip.so": "", "/usr/lib/ollama/rocm_v7_2/rocblas/library/TensileLibrary_lazy_gfx1030.dat": "",
    })  # fmt: skip
    runners = found["ollama.runners"]
    assert isinstance(runners, Known)
    assert [(runner["folder"], runner["backend"]) for runner in runners.value] == [("", "cuda"), ("rocm_v7_2", "rocm")]
    targets = found["ollama.rocm_targets"]
    assert isinstance(targets, Known) and targets.value == ["gfx1030"]


def test_the_unit_file_speaks_where_systemd_is_not_asked(tmp_path: Path) -> None:
    found = recorded(tmp_path, {
        "/usr/bin/ollama": "", "/etc/group": "render:x:992:ollama\nvideo:x:44:\n",
        "/etc/systemd/system/ollama.service": "[Service]\nUser=ollama\n",
        "/etc/systemd/system/ollama.service.d/override.conf": "[Service]\nEnvironment=OLLAMA_LLM_LIBRARY=cpu\nPrivateDevices=yes\n",
    })  # fmt: skip
    groups, env = found["ollama.service.groups"], found["ollama.env"]
    assert isinstance(groups, Known) and groups.value == ["render"]
    assert isinstance(env, Known) and env.value == {"OLLAMA_LLM_LIBRARY": "cpu"}
    assert isinstance(found["ollama.service.private_devices"], Known) and found["ollama.service.private_devices"].value is True


def test_a_file_of_variables_that_cannot_be_read_leaves_them_open(tmp_path: Path) -> None:
    show = {_ollama_service.SHOW: "LoadState=loaded\nUser=ollama\nEnvironmentFiles=/etc/default/ollama (ignore_errors=no)\n"}
    env = recorded(tmp_path, {"/usr/bin/ollama": ""}, show)["ollama.env"]
    assert isinstance(env, Known) and isinstance(env.value, Incomplete)


def test_a_server_elsewhere_is_not_asked(tmp_path: Path) -> None:
    said = {("ollama", "--version"): "ollama version is 0.32.15\n"}
    files = {"/usr/bin/ollama": ""}
    assert recorded(tmp_path, files, said, 'OLLAMA_HOST = "0.0.0.0:11434"\n')["ollama.version"] == Known("0.32.15", "ollama --version")
    assert recorded(tmp_path, files, said, 'OLLAMA_HOST = "gpu.example.org"\n')["ollama.version"] == Unknown("not inspected")


@pytest.mark.parametrize(
    ("folders", "driver", "capability", "runner", "wanted", "old"),
    [
        (["cuda_v12", "cuda_v13"], "580.95.05", "8.9", "cuda_v13", None, False),
        (["cuda_v12", "cuda_v13"], "570.124.06", "8.9", "cuda_v12", None, False),
        (["cuda_v12", "cuda_v13"], "535.183.01", "8.9", None, "550", False),
        (["cuda_v12", "cuda_v13"], "560.35.03", "6.1", None, "570", False),
        (["cuda_v13"], "580.95.05", "6.1", None, None, True), (["cuda_v13"], "570.124.06", "8.9", None, "580.65.06", False),
        (["cuda"], "535.183.01", "8.9", "cuda", None, False),
    ],
)  # fmt: skip
def test_which_cuda_folder(folders: list[str], driver: str, capability: str, runner: str | None, wanted: str | None, old: bool) -> None:
    facts = Facts({"nvidia.in_use": Known(driver), "ollama.version": Known("0.32.15")})
    found = rules.cuda_folder({"compute_capability": capability}, folders, facts)
    assert (found["runner"], found["driver_wanted"], found["card_too_old"]) == (runner, wanted, old)


def test_older_versions_take_older_drivers() -> None:
    facts = Facts({"nvidia.in_use": Known("535.183.01"), "ollama.version": Known("0.12.3")})
    assert rules.cuda_folder({"compute_capability": "8.9"}, ["cuda_v12"], facts)["runner"] == "cuda_v12"


def test_vulkan_is_asked_since_0_30_or_where_a_variable_says_so() -> None:
    def asked(version: str, env: dict[str, str]) -> object:
        runners = Known([{"folder": "vulkan", "backend": "vulkan", "path": "/usr/lib/ollama/vulkan"}])
        return rules.vulkan_open(Facts({"ollama.runners": runners, "ollama.version": Known(version)}), env)

    assert (asked("0.30.0", {}), asked("0.13.0", {}), asked("0.13.0", {"OLLAMA_VULKAN": "1"})) == (True, False, True)
    assert (asked("0.32.0", {"OLLAMA_VULKAN": "0"}), asked("0.32.0", {"GGML_VK_VISIBLE_DEVICES": "-1"})) == (False, False)


def test_a_node_that_is_open_to_all_needs_no_group() -> None:
    facts = Facts({"ollama.service.groups": Known(["ollama"]), "ollama.service.user": Known("ollama")})
    card = {"vendor": "amd", "node_group": "render"}
    assert rules.missing_group({**card, "node_mode": "crw-rw----"}, facts, False) == "render"
    assert rules.missing_group({**card, "node_mode": "crw-rw-rw-"}, facts, False) is None


def test_a_small_gpu_beside_a_card_does_not_count() -> None:
    cards = [{"vendor": "amd", "kind": "discrete", "gfx": "gfx1030"}, {"vendor": "amd", "kind": "integrated", "gfx": "gfx1036"}]
    facts = Facts({"ollama.here": Known(True), "gpus": Known(cards), "ollama.env": Known({}), "ollama.service": Absent("systemd")})
    gpus = dict(derived.derive(facts))["ollama.gpus"]
    assert isinstance(gpus, Known)
    assert [gpu["main"] for gpu in gpus.value] == [True, False]


def test_nothing_is_derived_where_there_is_no_ollama() -> None:
    assert dict(derived.derive(Facts({"ollama.here": Known(False)}))) == {}


def test_a_unit_of_the_user_runs_as_the_user_and_has_a_journal_of_its_own(tmp_path: Path) -> None:
    system, snap, own = (service.show() for service in _ollama_service.SERVICES)
    journal = _ollama_service.SERVICES[2].journal(_ollama_log.PATTERN)
    assert "--user" in own and "--user" in journal and "--user" not in system
    gone, shown = "LoadState=not-found\n", "LoadState=loaded\nActiveState=active\nUser=\n"
    commands = {system: gone, snap: gone, own: shown, journal: f"{started('0.32.0')}\n{LISTED}"}
    known = Facts({"user.name": Known("anna"), "user.groups": Known(["anna", "render"])})
    found = recorded(tmp_path, {"/usr/bin/ollama": ""}, commands, known=known)
    assert found["ollama.service.own"] == Known(True, "systemctl show")
    assert (found["ollama.service.user"], found["ollama.service.groups"]) == (known.get("user.name"), known.get("user.groups"))
    devices = found["ollama.devices"]
    assert isinstance(devices, Known) and devices.value[0]["vendor"] == "amd"


def test_the_snap_has_its_libraries_beside_the_real_program(tmp_path: Path) -> None:
    files = {"/snap/bin/ollama": "", "/snap/ollama/current/lib/ollama/cuda_v12/libggml-cuda.so": ""}
    found = recorded(tmp_path, files, env='PATH = "/usr/bin:/snap/bin"\n')
    assert found["ollama.libraries"] == Known("/snap/ollama/current/lib/ollama", "the folder of ollama")
