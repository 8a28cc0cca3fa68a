"""What workers share that begin together, and the images that they prepare: what the standard library does of it."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest

WORKLOADS = Path(__file__).resolve().parents[3] / "gpudoctor" / "target" / "workloads"
sys.path.insert(0, str(WORKLOADS))

import barrier  # noqa: E402
import networks  # noqa: E402
import preprocessing  # noqa: E402


def test_it_waits_for_the_file_and_not_for_ever(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="never ready"):
        barrier.wait_for_start(str(tmp_path), limit=0.05)
    threading.Timer(0.1, (tmp_path / "start").touch).start()
    began = time.monotonic()
    barrier.wait_for_start(str(tmp_path), limit=10.0)
    assert 0.05 < time.monotonic() - began < 5.0


def test_a_window_lasts_as_long_as_it_was_told_and_has_two_steps_at_least() -> None:
    times, seconds = barrier.window(lambda: time.sleep(0.01), lambda: None, 0.1)
    assert seconds >= 0.1 and len(times) >= 3 and sum(times) == pytest.approx(seconds, abs=0.005)
    assert len(barrier.window(lambda: time.sleep(0.02), lambda: None, 0.001)[0]) == 2


def test_many_samples_are_thinned_evenly() -> None:
    kept, every = barrier.microseconds([1e-3] * 100_000)
    assert every == 3 and len(kept) == 33_334 and kept[0] == 1000.0
    assert barrier.microseconds([0.5, 1.25e-6]) == ([500000.0, 1.2], 1)


def test_cores_are_shared_and_nobody_goes_without() -> None:
    assert barrier.share_of_cores(1) == barrier.cores() and barrier.share_of_cores(10_000) == 1


def test_images_are_those_of_classifiers_and_detectors() -> None:
    taken = {name for name in networks.NETWORKS if preprocessing.takes_images(networks.draw(name))}
    assert {"resnext101_32x4d", "alexnet", "yolox_tiny", "style_transfer"} <= taken
    assert not taken & {"unet_sd15", "gpt2_decode", "gpt2_prefill"}


def test_an_image_has_a_byte_for_each_colour_of_each_pixel() -> None:
    raw = preprocessing.image_bytes(networks.draw("resnet18", batch=2, height=5, width=7))
    assert len(raw) == 2 * 5 * 7 * 3 and max(raw) > 200 and min(raw) < 50


def test_bus_bandwidth_is_that_of_nccl_tests() -> None:
    assert barrier.bus_bytes(1000, 2) == 1000 and barrier.bus_bytes(1000, 8) == 1750 and barrier.bus_bytes(900, 3) == 1200


def test_sums_of_one_sample_stay_in_the_range_of_float16() -> None:
    for ranks in (2, 3, 8, 64, 5000):
        assert ranks ** barrier.operations_of_a_sample(1e-6, ranks) <= max(4096, ranks)
    assert barrier.operations_of_a_sample(1e-6, 2) == 12 and barrier.operations_of_a_sample(0.01, 2) == 1
    assert barrier.operations_of_a_sample(0.0006, 2) == 2
