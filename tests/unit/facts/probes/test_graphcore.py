from __future__ import annotations

from gpudoctor.facts.derive import graphcore as joins
from gpudoctor.facts.derive import onnxruntime as ort
from gpudoctor.facts.probes import graphcore as probe
from gpudoctor.model.facts import Facts, Known

LISTING = """Graphcore device listing:
Partition: own [active]
-+- Id: [0], target: [Fabric], IPU-M host: [10.9.1.2], IPU#: [1]
-+- Id: [1], target: [Fabric], IPU-M host: [10.9.1.2], IPU#: [0]
-+- Id: [2], target: [Multi IPU]
 |--- Id: [0], DNC Id: [0], IPU-M host: [10.9.1.2], IPU#: [1]
"""
PCIE = "-+- Id: [0], target: [PCIe], PCI Domain: [0000:1a:00.0]\n"
TABLE = """ Partition   | Cluster  | ILDs | GW Routing | ILD Routing | Size | GCDs | State
------------------------------------------------------------------------
 own         | c4       | 1    | DEFAULT    | DNC         | 2    | 1    | ACTIVE
"""


def test_gc_info_lists_single_ipus_only() -> None:
    devices = probe.parse_gc_info_list(LISTING)
    assert devices is not None
    assert [(d["id"], d["partition"], d["host"]) for d in devices] == [(0, "own", "10.9.1.2"), (1, "own", "10.9.1.2")]
    pcie = probe.parse_gc_info_list(PCIE)
    assert pcie is not None and pcie[0]["address"] == "0000:1a:00.0"


C2 = """Graphcore device listing:

  -+- Id:  [0], type:      [PCIe], PCI Domain: [0000:1a:00.0]
  -+- Id: [15], type:      [PCIe], PCI Domain: [0000:bb:00.0]
  -+- Id: [16], type: [Multi IPU]
   |--- PCIe Id: [15], DNC Id: [0], PCI Domain: [0000:bb:00.0]
   |--- PCIe Id:  [0], DNC Id: [1], PCI Domain: [0000:1a:00.0]
"""


def test_gc_info_of_a_c2_server_says_type_instead_of_target() -> None:
    devices = probe.parse_gc_info_list(C2)
    assert devices is not None
    assert [(d["id"], d["target"], d["address"]) for d in devices] == [(0, "PCIe", "0000:1a:00.0"), (15, "PCIe", "0000:bb:00.0")]


def test_an_entry_of_an_unknown_form_makes_no_empty_listing() -> None:
    assert probe.parse_gc_info_list("Graphcore device listing:\n-+- Device 0 (PCIe)\n") is None


def test_no_devices_is_an_answer_and_nonsense_is_none() -> None:
    assert probe.parse_gc_info_list("No devices found\n") == []
    assert probe.parse_gc_info_list("Segmentation fault") is None
    assert probe.parse_partitions("connection refused") is None


def test_partitions() -> None:
    rows = probe.parse_partitions(TABLE)
    assert rows == [{"name": "own", "cluster": "c4", "size": 2, "state": "ACTIVE"}]
    assert probe.parse_partitions(TABLE.splitlines()[0]) == []


def test_processes_of_table_and_json() -> None:
    table = "| Attached processes in partition own |\n|  PID | Command | Time | User | ID |\n| 4242 | python3 | 16s | user | 0 |\n"
    assert probe.parse_processes(table) == [{"pid": 4242, "user": "user", "command": "python3", "ipu": "0"}]
    tree = '{"cards": [{"ipus": [{"ID": "1", "processes": [{"PID": "7", "User": "u"}]}]}]}'
    assert probe.parse_processes(tree) == [{"pid": 7, "user": "u", "command": None, "ipu": "1"}]
    assert probe.parse_processes("{broken") is None


def test_versions_in_folder_names() -> None:
    assert probe.parse_sdk_version("/opt/poplar_sdk-ubuntu_20_04-3.2.0+1277-7cd8/poplar-ubuntu_20_04-3.2.0+5555") == "3.2.0"
    assert probe.parse_built_for("poplar-ubuntu_20_04-3.2.0") == "ubuntu 20.04"
    assert probe.parse_sdk_version("/software/graphcore/poplar_sdk/3.3.0") == "3.3.0"


def derived(**given: object) -> dict[str, object]:
    facts = Facts({name.replace("__", "."): Known(value) for name, value in given.items()})
    return {name: fact.value for name, fact in joins.derive(facts) if isinstance(fact, Known)}


def test_poptorch_takes_one_torch_and_one_sdk() -> None:
    found = derived(python__distributions={"poptorch": "3.3.0+113432", "torch": "2.1.2+cpu"}, poplar__sdk__version="3.2.0")
    assert found["poplar.poptorch.torch"] == "2.0.1"
    assert found["poplar.poptorch.torch_ok"] is False and found["poplar.poptorch.sdk_ok"] is False


def test_intel_ipu_is_no_graphcore_card() -> None:
    found = derived(pci__devices=[{"address": "0000:00:05.0", "vendor_id": "8086", "device_id": "9a19"}])
    assert found["poplar.cards"] == [] and found["poplar.present"] is False


def test_ipu_model_is_recognised_where_it_is_switched_on() -> None:
    assert derived(env={"TF_POPLAR_FLAGS": "--use_ipu_model"})["poplar.model"] == ["TF_POPLAR_FLAGS=--use_ipu_model"]
    assert derived(env={"POPTORCH_IPU_MODEL": "0"})["poplar.model"] == []


def test_onnxruntime_wheels_and_their_cuda() -> None:
    majors = [(row["cuda"], row["cudnn"]) for v in ("1.18.1", "1.19.2", "1.26.0", "1.27.0") if (row := ort.built_for(v))]
    assert majors == [("11.8", "8"), ("12", "9"), ("12", "9"), ("13", "9")]
    assert ort.built_for("9.0") is None


def test_missing_cuda_libraries_look_at_wheels_and_system() -> None:
    base = {"libraries": Known({"libcublasLt.so.12": "/x", "libcudart.so.12": "/x", "libcufft.so.11": "/x"})}
    assert ort.missing_libraries(Facts({**base, "python.distributions": Known({})}), "12", "9") == ["libcudnn.so.9"]
    old = Facts({**base, "python.distributions": Known({"nvidia-cudnn-cu12": "8.9.7.29"})})
    assert ort.missing_libraries(old, "12", "9") == ["libcudnn.so.9"]
    new = Facts({**base, "python.distributions": Known({"nvidia-cudnn-cu12": "9.1.0.70"})})
    assert ort.missing_libraries(new, "12", "9") == []
    assert ort.missing_libraries(Facts(), "12", "9") is None
    folder = Facts({**base, "python.distributions": Known({}), "nvidia.loader_path.libraries": Known(["/opt/cudnn/lib/libcudnn.so.9"])})
    assert ort.missing_libraries(folder, "12", "9") == []
