"""nvidia-smi in each of its forms."""

from __future__ import annotations

from gpudoctor.facts.probes import nvidia_smi as smi
from gpudoctor.model.facts import Unknown

XML = """<?xml version="1.0"?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <driver_version>570.124.06</driver_version><cuda_version>12.8</cuda_version>
  <gpu id="00000000:3B:00.0">
    <product_name>NVIDIA A100 &amp; more</product_name>
    <mig_mode><current_mig>Enabled</current_mig><pending_mig>Enabled</pending_mig></mig_mode>
    <mig_devices>None</mig_devices>
    <pci><pci_bus_id>00000000:3B:00.0</pci_bus_id>
      <pci_gpu_link_info><link_widths>
        <max_link_width>16x</max_link_width><current_link_width>8x</current_link_width></link_widths></pci_gpu_link_info>
    </pci>
    <clocks_event_reasons><clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown></clocks_event_reasons>
    <fb_memory_usage><total>40960 MiB</total></fb_memory_usage>
    <ecc_errors><volatile><sram_uncorrectable>0</sram_uncorrectable><dram_uncorrectable>2</dram_uncorrectable></volatile></ecc_errors>
    <remapped_rows><remapped_row_pending>Yes</remapped_row_pending><remapped_row_failure>No</remapped_row_failure></remapped_rows>
    <gpu_power_readings><current_power_limit>200.00 W</current_power_limit>
      <default_power_limit>400.00 W</default_power_limit></gpu_power_readings>
    <processes/>
  </gpu>
</nvidia_smi_log>"""


def test_xml_becomes_a_record() -> None:
    log = smi.parse_xml(XML)
    assert log is not None
    (gpu,) = smi.devices(log)
    assert gpu["name"] == "NVIDIA A100 & more"
    assert gpu["address"] == "0000:3b:00.0"
    assert gpu["memory_bytes"] == 40960 * 2**20
    assert (gpu["mig_mode"], gpu["mig_instances"]) == ("Enabled", 0)
    assert gpu["ecc_errors"] == 2
    assert gpu["remap_pending"] is True and gpu["remap_failed"] is False
    assert gpu["throttle_reasons"] == ["hw_thermal_slowdown"]
    assert gpu["power_limit_share"] == 0.5
    assert (gpu["link_width"], gpu["link_width_max"]) == (8, 16)
    assert isinstance(gpu["temperature"], Unknown)


def test_documents_that_declare_entities_are_refused() -> None:
    bomb = '<!DOCTYPE nvidia_smi_log [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><nvidia_smi_log><x>&b;</x></nvidia_smi_log>'
    assert smi.parse_xml(bomb) is None


def test_broken_and_deep_xml_teaches_nothing() -> None:
    assert smi.parse_xml("<nvidia_smi_log><gpu></nvidia_smi_log>") is None
    assert smi.parse_xml("<nvidia_smi_log>" + "<a>" * 5000) is None
    assert smi.parse_xml("NVIDIA-SMI has failed") is None


def test_plain_long_form() -> None:
    text = """
==============NVSMI LOG==============

Driver Version                            : 591.86
CUDA Version                              : 13.1

Attached GPUs                             : 1
GPU 00000000:0C:00.0
    Product Name                          : NVIDIA GeForce RTX 2080 SUPER
    Driver Model
        Current                           : WDDM
    FB Memory Usage
        Total                             : 8192 MiB
"""
    log = smi.parse_plain(text)
    assert log is not None and smi.look(log, "driver_version") == "591.86"
    (gpu,) = smi.devices(log)
    assert gpu["driver_model"] == "WDDM" and gpu["memory_bytes"] == 8192 * 2**20
    assert gpu["address"] == "0000:0c:00.0"


def test_query_list_header_and_errors() -> None:
    (row,) = smi.parse_query("0, NVIDIA GeForce RTX 3060, GPU-1, 00000000:0B:00.0, 570.124.04, 12288, 8.6\n")
    assert row["compute_capability"] == "8.6" and row["address"] == "0000:0b:00.0"
    assert smi.parse_query('Field "compute_cap" is not a valid field to query.\n') == []
    listed = smi.parse_list("GPU 0: NVIDIA A30 (UUID: GPU-1)\n  MIG 1g.6gb      Device  0: (UUID: MIG-1)\n")
    assert listed[0]["mig_instances"] == 1
    head = "| NVIDIA-SMI 615.71.09    Driver Version: 615.71.09    CUDA UMD Version: 13.4 |"
    assert smi.parse_header(head) == {"driver": "615.71.09", "cuda": "13.4", "smi": "615.71.09"}
    said = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.54\n"
    assert "mismatch" in str(smi.parse_error(said)) and smi.parse_nvml_version(said) == "550.54"
    assert smi.parse_error("all is well") is None
