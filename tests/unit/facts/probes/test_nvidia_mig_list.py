"""The UUIDs of MIG devices, which only `nvidia-smi -L` lists."""

from __future__ import annotations

from gpudoctor.facts.probes.nvidia_smi import parse_list

LISTED = """GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)
  MIG 3g.40gb     Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)
  MIG 4g.40gb     Device  1: (UUID: MIG-GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77/2/0)
GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-1111)
"""


def test_mig_devices_stand_below_their_card() -> None:
    first, second = parse_list(LISTED)
    assert first["mig_instances"] == 2
    assert first["mig_uuids"] == ["MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f", "MIG-GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77/2/0"]
    assert second["mig_instances"] == 0 and "mig_uuids" not in second
