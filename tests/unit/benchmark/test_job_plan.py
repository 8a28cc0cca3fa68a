"""What is measured on what: devices that check found, --device, options, the order of --quick, and its minute."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.benchmark import flop_model, turns, workload_list
from gpudoctor.benchmark.devices import DeviceError, MeasurementTarget, canonical, choose, targets
from gpudoctor.benchmark.job_plan import Budget, MeasurementRequestError, ValidateOptions, check, hang_limit, plan, seconds, startup
from gpudoctor.benchmark.monitors.monitor_choice import gpu_of
from gpudoctor.model.facts import Facts, Known, Unknown

CPU = MeasurementTarget(framework="torch", device="cpu", python="/p", backend="cpu")
XPU = MeasurementTarget(framework="torch", device="xpu:0", python="/p", backend="xpu", name="Intel(R) Arc(TM) A770 Graphics")


def facts(frameworks: dict[str, Any] | None = None, **more: Any) -> Facts:
    known = {"python.executable": Known("/env/bin/python"), "python.frameworks": Known(frameworks or {}), "cpu.model": Known("A Processor")}
    return Facts({**known, **{name.replace("__", "."): Known(value) for name, value in more.items()}})


def framework(*devices: str, version: str = "1.0", **more: Any) -> dict[str, Any]:
    listed = [{"id": device, "name": f"card {device}", "memory_bytes": None, "capabilities": {}} for device in devices]
    return {"imported": True, "version": version, "error": None, "devices": listed, **more}


def names(found: list[MeasurementTarget]) -> list[tuple[str, str, str]]:
    return [(target.framework, target.device, target.backend) for target in found]


# --- devices


def test_accelerators_alone_are_the_default_and_the_processor_can_be_asked_for() -> None:
    known = facts({"torch": framework("xpu:0", "xpu:1"), "openvino": framework("openvino:CPU", "openvino:GPU.0")})
    assert names(choose(known)) == [("torch", "xpu:0", "xpu"), ("torch", "xpu:1", "xpu"), ("openvino", "openvino:GPU.0", "gpu")]
    assert names(choose(known, ["cpu"])) == [("torch", "cpu", "cpu"), ("openvino", "openvino:CPU", "cpu")]
    assert names(choose(known, ["openvino:GPU.0", "xpu"])) == [("openvino", "openvino:GPU.0", "gpu"), ("torch", "xpu:0", "xpu")]


def test_without_an_accelerator_each_framework_computes_on_the_processor() -> None:
    known = facts(
        {"torch": framework(), "onnxruntime": framework("ort:CPUExecutionProvider", "ort:AzureExecutionProvider"), "jax": framework()}
    )
    assert names(choose(known)) == [
        ("torch", "cpu", "cpu"),
        ("onnxruntime", "ort:CPUExecutionProvider", "cpu"),
        ("jax", "jax:cpu:0", "cpu"),
    ]


def test_raw_opencl_on_a_processor_is_measured_when_asked_for() -> None:
    platforms = [
        {"name": "PoCL", "devices": [{"name": "pthread", "type": "cpu"}]},
        {"name": "Intel", "devices": [{"name": "Arc", "type": "gpu"}]},
    ]
    known = facts({"torch": framework()}, opencl__platforms=platforms[:1])
    assert names(choose(known)) == [("torch", "cpu", "cpu")]
    assert names(choose(known, ["opencl"])) == [("opencl", "opencl:0.0", "cpu")]
    assert names(choose(facts({}, opencl__platforms=platforms))) == [("opencl", "opencl:1.0", "opencl")]


def test_backends_by_build_and_maker() -> None:
    rocm = facts({"torch": framework("cuda:0"), "jax": framework("jax:gpu:0")}, torch__build="rocm", gpu__vendors=["amd"])
    assert [target.backend for target in choose(rocm)] == ["rocm", "rocm"]
    providers = facts({"onnxruntime": framework("ort:DmlExecutionProvider", "ort:CPUExecutionProvider")})
    assert names(choose(providers)) == [("onnxruntime", "ort:DmlExecutionProvider", "directml")]


def test_plugins_have_their_devices_and_a_broken_one_has_none() -> None:
    broken = {"imported": False, "error": {"kind": "signal", "name": "SIGSEGV", "message": "…"}, "devices": Unknown("unparsable")}
    known = facts({"torch": framework(), "torch_directml": framework("dml:0"), "poptorch": framework("ipu:0"), "jax": broken})
    assert names(choose(known)) == [("torch-directml", "dml:0", "directml"), ("poptorch", "ipu:0", "ipu")]
    with pytest.raises(DeviceError, match="jax cannot be imported"):
        choose(known, ["jax:gpu:0"])


def test_pytorch_ocl_counts_the_devices_of_all_platforms() -> None:
    devices = [{"name": "pthread", "type": "cpu"}, {"name": "Arc", "type": "gpu"}]
    assert [target.device for target in choose(facts({"torch": framework(), "pytorch_ocl": framework()}, opencl__devices=devices))] == [
        "ocl:1"
    ]
    assert [target.device for target in choose(facts({"pytorch_ocl": framework()}, opencl__devices=devices[:1]))] == ["ocl:0"]


def test_torch_on_an_opencl_runtime_for_processors_is_as_slow_as_one_and_no_cpu_target() -> None:
    devices = [{"name": "pthread", "type": "cpu", "platform": "PoCL"}]
    known = facts({"torch": framework(), "pytorch_ocl": framework()}, opencl__devices=devices)
    assert names(choose(known)) == [("torch", "cpu", "cpu"), ("torch-opencl", "ocl:0", "ocl")]
    assert names(choose(known, ["cpu"])) == [("torch", "cpu", "cpu")]
    (target,) = choose(known, ["ocl:0"])
    assert target.on_processor and target.name == "pthread, PoCL"


def test_opencl_that_gave_no_answer_is_told_as_such() -> None:
    known = facts({"torch": framework(), "pytorch_ocl": framework()})
    known.set("opencl.devices", Unknown("timeout after 8 s"))
    for device in ("ocl:0", "opencl:0.0"):
        with pytest.raises(DeviceError, match="OpenCL could not be asked: timeout after 8 s; usable here: cpu"):
            choose(known, [device])


def test_what_nobody_could_look_into_is_tried() -> None:
    assert names(targets(facts({"torch": Unknown("out of time")}))) == [("torch", "cpu", "cpu")]


def test_a_provider_may_take_a_device_of_its_own() -> None:
    known = facts({"onnxruntime": framework("ort:OpenVINOExecutionProvider")})
    assert [each.device for each in choose(known, ["ort:OpenVINOExecutionProvider:GPU"])] == ["ort:OpenVINOExecutionProvider:GPU"]


@pytest.mark.parametrize(
    ("given", "meant"), [("xpu", "xpu:0"), ("CUDA:1", "cuda:1"), ("opencl", "opencl:0.0"), ("tf:GPU", "tf:GPU:0"), ("cpu", "cpu")]
)
def test_short_names(given: str, meant: str) -> None:
    assert canonical(given) == meant


@pytest.mark.parametrize(
    ("given", "said"),
    [("cudda:0", "did you mean 'cuda'"), ("xpu:one", "expected such as xpu:0"), ("opencl:1", "expected such as opencl:0.0"),
     ("", "one of cpu"),
     ("ort:CUDA", "ort:CUDAExecutionProvider"), ("cpu:3", "expected such as cpu")],
)  # fmt: skip
def test_what_is_no_device_is_refused_with_what_would_be_one(given: str, said: str) -> None:
    with pytest.raises(DeviceError, match=said):
        canonical(given)


def test_a_device_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(DeviceError, match="usable here: cpu"):
        choose(facts({"torch": framework()}), ["cuda:0"])
    with pytest.raises(DeviceError, match="openvino is not in /env/bin/python"):
        choose(facts({"torch": framework()}), ["openvino:GPU.0"])


def test_which_card_a_device_is() -> None:
    gpus = [{"vendor": "intel", "name": "UHD Graphics 770"}, {"vendor": "nvidia", "name": "T4"}, {"vendor": "intel", "name": "Arc A770"}]
    found = gpu_of(facts({}, gpus=gpus), XPU)
    assert found is not None and found["name"] == "Arc A770"
    cuda = MeasurementTarget(framework="torch", device="cuda:0", python="/p", backend="cuda")
    found = gpu_of(facts({}, gpus=gpus), cuda)
    assert found is not None and found["name"] == "T4"
    assert gpu_of(facts({}, gpus=gpus), CPU) is None


def test_llama_cpp_has_the_cards_that_its_backend_serves_and_the_processor() -> None:
    gpus = [{"name": "Radeon", "python_served": True, "main": True}, {"name": "Arc", "python_served": False, "main": True},
            {"name": "Radeon Graphics", "python_served": True, "main": False}]  # fmt: skip
    given = {"llama_cpp__python__version": "0.3.36", "llama_cpp__gpus": gpus}
    known = facts(**given, llama_cpp__python__backends=["hip"])
    assert names(targets(known)) == [("llama-cpp", "llama:0", "rocm"), ("llama-cpp", "llama:cpu", "cpu")]
    assert names(choose(known)) == [("llama-cpp", "llama:0", "rocm")] and names(choose(known, ["llama"])) == names(choose(known))
    assert names(choose(known, ["llama:cpu"])) == names(choose(known, ["cpu"])) == [("llama-cpp", "llama:cpu", "cpu")]
    assert names(choose(facts(**given, llama_cpp__python__backends=[]))) == [("llama-cpp", "llama:cpu", "cpu")]


def test_llama_bench_has_the_devices_that_it_lists_and_needs_no_package() -> None:
    listed = [{"id": "Vulkan0", "backend": "vulkan", "name": "Arc A770"}, {"id": "RPC", "backend": "rpc", "name": "127.0.0.1:50052"}]
    known = facts(llama_cpp__bench="/usr/bin/llama-bench", llama_cpp__devices=listed, llama_cpp__version="6123")
    (card, processor) = targets(known)
    assert (card.device, card.backend, card.name, card.version) == ("llama:0", "vulkan", "Arc A770", "b6123")
    (job, _) = plan(processor, ValidateOptions())
    assert job.request()["program"] == "/usr/bin/llama-bench" and processor.device == "llama:cpu"


def test_vulkan_is_measured_where_the_target_has_wgpu_and_on_a_processor_when_asked_for() -> None:
    listed = [{"index": 0, "name": "AMD Radeon RX 6800", "type": "discrete"}, {"index": 1, "name": "llvmpipe", "type": "cpu"}]
    assert not targets(facts(vulkan__devices=listed, python__distributions={"numpy": "2.3.5"}))
    known = facts(vulkan__devices=listed, python__distributions={"wgpu": "0.32.0"})
    card, processor = targets(known)
    assert (card.device, card.on_processor, card.version) == ("vulkan:0", False, "0.32.0") and processor.on_processor
    assert names(choose(known)) == [("wgpu", "vulkan:0", "vulkan")]
    lavapipe = facts({"torch": framework()}, vulkan__devices=listed[1:], python__distributions={"wgpu": "0.32.0"})
    assert names(choose(lavapipe)) == [("torch", "cpu", "cpu")] and names(choose(lavapipe, ["vulkan"])) == [("wgpu", "vulkan:0", "vulkan")]
    done = {(job.workload.id, job.dtype) for job in plan(card, ValidateOptions(full=True))}
    assert done == {("matmul", "float32"), ("memory_bandwidth", "float32"), ("launch", "float32")}


# --- what is measured


def test_llama_cpp_measures_its_own_model_and_nobody_else_does() -> None:
    llama = MeasurementTarget(framework="llama-cpp", device="llama:cpu", python="/p", backend="cpu")
    quick = [(job.workload.id, job.dtype, dict(job.options)) for job in plan(llama, ValidateOptions())]
    assert quick == [("llama_prefill", "float16", {"tokens": 128}), ("llama_decode", "float16", {"past": 128})]
    full = [(job.workload.id, dict(job.options)) for job in plan(llama, ValidateOptions(full=True))]
    assert full == [("llama_prefill", {"tokens": 512}), ("llama_decode", {"past": 512})]
    assert not plan(CPU, ValidateOptions(workloads=("llama_prefill",)))
    (prefill, _) = plan(llama, ValidateOptions(workloads=("llama_prefill", "llama_decode")))
    assert prefill.per_item == 512, "a step is one prompt"


def test_what_a_token_costs_is_known_from_the_model() -> None:
    parameters = flop_model.step("llama_decode", "inference", {"past": 512}, "float16").parameters  # type: ignore[union-attr]
    decode = flop_model.step("llama_decode", "inference", {"past": 512}, "float16")
    prefill = flop_model.step("llama_prefill", "inference", {"tokens": 512}, "float16")
    assert decode is not None and prefill is not None and 75e6 < parameters < 77e6
    assert decode.bytes is not None and 2 * parameters * 0.98 < decode.bytes < 2 * parameters * 1.1, "all weights, once for a token"
    assert 2 * parameters * 0.98 < decode.flop < 2 * parameters * 1.3
    assert prefill.flop > 400 * decode.flop and prefill.bytes is not None and prefill.bytes < 1.1 * decode.bytes


def test_each_workload_can_be_drawn_or_is_small_and_costs_are_known() -> None:
    for workload in workload_list.WORKLOADS:
        for task in workload.tasks:
            for options in (workload.options, *({**workload.options, **variant} for variant in workload.variants)):
                step = flop_model.step(workload.name, task, options)
                assert (step is None) == (task == "micro"), workload.id
                assert step is None or (step.flop > 1e6 and step.batch == options.get("batch", 1))


def test_quick_begins_with_what_says_most_and_keeps_a_processor_small() -> None:
    jobs = plan(CPU, ValidateOptions())
    first = [(job.workload.id, job.task) for job in jobs[:3]]
    assert first == [("resnet18", "inference"), ("resnet18", "training"), ("operators", "micro")]
    assert {job.batch for job in jobs if job.workload.options.get("batch") == 16} == {4}
    assert not [job for job in jobs if "device" in job.workload.id]
    there = plan(XPU, ValidateOptions())
    assert {job.batch for job in there if job.workload.options.get("batch") == 16} == {16}
    assert {"host_to_device", "device_to_host"} <= {job.workload.id for job in there}


def test_an_accelerator_runs_networks_in_the_narrow_type_of_its_kind_beside_float32() -> None:
    def types(backend: str, **asked: Any) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for job in plan(MeasurementTarget(framework="torch", device="x:0", python="/p", backend=backend), ValidateOptions(**asked)):
            found.setdefault(job.workload.id, set()).add(job.dtype)
        return found

    assert types("cuda")["resnet50"] == {"float32", "float16"} and types("xpu")["resnet50"] == {"float32", "bfloat16"}
    assert types("cuda")["launch"] == {"float32"} and types("cpu")["resnet50"] == {"float32"}
    assert types("ocl")["resnet50"] == {"float32"}, "no mixed precision there"
    assert types("cuda", full=True)["resnet50"] == {"float32", "bfloat16", "float16"} and types("cuda", full=True)["unet_sd15"] == {
        "float16"
    }
    assert types("cuda", workloads=("resnet50",))["resnet50"] == {"float32"}, "what is named is what is measured"
    order = sorted(plan(XPU, ValidateOptions()), key=lambda job: job.place)
    assert [(job.workload.id, job.dtype) for job in order[:2]] == [("resnet18", "float32")] * 2
    assert [job.task for job in order if job.dtype == "bfloat16" and job.network][:2] == ["inference", "training"]


def test_full_holds_all_that_the_framework_does() -> None:
    done = {(job.workload.id, job.task) for job in plan(XPU, ValidateOptions(full=True))}
    alone = [each for each in workload_list.WORKLOADS if not each.together and each.id != "files" and not each.frameworks]
    assert done == {(each.id, task) for each in alone for task in each.tasks}
    assert {job.batch for job in plan(XPU, ValidateOptions(full=True)) if job.workload.id == "resnext101_32x4d"} == {2, 4, 6, 8, 10, 12}
    openvino = MeasurementTarget(framework="openvino", device="openvino:GPU.0", python="/p", backend="gpu")
    assert "training" not in {job.task for job in plan(openvino, ValidateOptions(full=True))}


def test_options_make_one_measurement_each() -> None:
    asked = ValidateOptions(
        workloads=("resnet50",), tasks=("inference",), batches=(2, 4, 6), dtypes=("float32", "bfloat16"), duration=7.0, compile="default"
    )
    jobs = plan(CPU, asked)
    assert [(job.batch, job.dtype) for job in jobs] == [(size, dtype) for size in (2, 4, 6) for dtype in ("float32", "bfloat16")]
    request = jobs[0].request()
    assert request["options"] == {"batch": 2, "height": 224, "width": 224}
    assert (request["duration"], request["compile"], request["device"], request["task"]) == (7.0, "default", "cpu", "inference")


def test_the_folder_goes_to_the_workload_that_reads_it() -> None:
    (job,) = plan(CPU, ValidateOptions(workloads=("files",), dataset="/data"))
    assert job.request()["options"] == {"folder": "/data"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (ValidateOptions(workloads=("resnet5",)), "did you mean 'resnet50'|did you mean 'resnet18'"),
        (ValidateOptions(tasks=("train",)), "did you mean 'training'"),
        (ValidateOptions(dtypes=("fp32",)), "one of float32"), (ValidateOptions(quick=True, full=True), "exclude each other"),
        (ValidateOptions(batches=(0,)), "at least one"),
        (ValidateOptions(duration=0.0), "from 0.1"), (ValidateOptions(workloads=("files",)), "--dataset"),
        (ValidateOptions(workloads=("unet_sd15",), tasks=("training",)), "unet_sd15 has inference"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused_with_what_can(asked: ValidateOptions, said: str) -> None:
    with pytest.raises(MeasurementRequestError, match=said):
        check(asked)


# --- the minute


def test_faster_devices_take_less_and_more_work_takes_longer() -> None:
    resnet18, resnet50 = (plan(CPU, ValidateOptions(workloads=(name,), tasks=("training",)))[0] for name in ("resnet18", "resnet50"))
    assert seconds(resnet50, 1e11) > seconds(resnet18, 1e11) > seconds(resnet18, 1e12)
    assert hang_limit(resnet18) > 2 * seconds(resnet18)


def test_a_data_sheet_says_how_long_a_run_may_take_until_something_was_measured() -> None:
    (network,) = plan(CPU, ValidateOptions(workloads=("resnet50",), tasks=("training",)))
    (matmul,) = plan(CPU, ValidateOptions(workloads=("matmul",), dtypes=("float32",)))
    budget = Budget()
    usual = budget.expected(network)
    budget.guess(CPU, 5e11)
    guessed = budget.expected(network)
    assert guessed < usual / 3
    budget.learn(matmul, seconds(matmul), 1e11)
    budget.guess(CPU, 5e11)
    assert guessed < budget.expected(network) < usual, "what was measured counts"


def test_a_matrix_product_sets_the_pace_and_a_slow_machine_is_learnt() -> None:
    matmul, network = (
        plan(CPU, ValidateOptions(workloads=("matmul",)))[0],
        plan(CPU, ValidateOptions(workloads=("resnet50",), tasks=("inference",)))[0],
    )
    budget = Budget()
    before = budget.expected(network)
    budget.learn(matmul, seconds(matmul), 1e12)
    assert budget.expected(network) < before
    for _ in range(5):
        budget.learn(network, 4 * seconds(network, 1e12))
    assert 3 * seconds(network, 1e12) < budget.expected(network) < 4.5 * seconds(network, 1e12)
    assert not budget.fits(network, 1.0) and budget.fits(network, None)
    assert budget.expected(matmul) == pytest.approx(seconds(matmul, 1e12))  # its time is given, whatever the machine does


def test_the_first_worker_tells_how_long_a_start_takes() -> None:
    matmul, network = (
        plan(CPU, ValidateOptions(workloads=("matmul",)))[0],
        plan(CPU, ValidateOptions(workloads=("resnet50",), tasks=("inference",)))[0],
    )
    budget = Budget()
    before = budget.expected(network)
    budget.learn(matmul, 20.0, begun=17.5)
    assert budget.expected(network) == pytest.approx(before + 15.0) and budget.expected(matmul) == pytest.approx(seconds(matmul) + 15.0)
    other = plan(XPU, ValidateOptions(workloads=("matmul",)))[0]
    assert budget.expected(other) == seconds(other)


def test_a_network_that_was_slow_once_is_no_reason_to_try_nothing_more() -> None:
    network = plan(CPU, ValidateOptions(workloads=("resnet50",), tasks=("inference",)))[0]
    budget = Budget()
    budget.learn(network, 1e9)
    assert budget.expected(network) < 21 * seconds(network)


def test_quick_is_within_a_minute_on_a_processor_of_two_cores() -> None:
    budget, taken = Budget({"torch cpu": 1.2e11}), 0.0
    done = []
    waiting = turns.in_order([(CPU, plan(CPU, ValidateOptions()))], True)
    for turn in waiting:
        jobs, _ = turns.fitting(turn, budget, 50 - taken)
        taken += budget.together(jobs)
        done += [(job.workload.id, job.task) for job in jobs]
    assert taken < 50 and ("resnet18", "training") in done and ("resnet50", "inference") in done


# --- turns


def test_small_measurements_share_a_process_and_the_others_do_not() -> None:
    found = turns.in_order([(XPU, plan(XPU, ValidateOptions(full=True)))], False)
    shared = [turn for turn in found if len(turn.jobs) > 1]
    assert len(shared) == 1 and {job.task for job in shared[0].jobs} == {"micro"}
    jobs = plan(XPU, ValidateOptions(full=True))
    assert sum(len(turn.jobs) for turn in found) == len(jobs)
    assert len(shared[0].jobs) == sum(not job.network for job in jobs) > 6


def test_jobs_that_share_a_process_start_once() -> None:
    small = [job for job in plan(CPU, ValidateOptions(full=True)) if not job.network]
    budget = Budget()
    assert budget.together(small) == pytest.approx(sum(map(budget.expected, small)) - (len(small) - 1) * startup(small[0]))
    assert budget.together([]) == 0.0


def test_of_small_measurements_those_are_done_that_fit() -> None:
    turn = next(turn for turn in turns.in_order([(CPU, plan(CPU, ValidateOptions()))], True) if len(turn.jobs) > 2)
    budget = Budget()
    kept, rest = turns.fitting(turn, budget, budget.together(turn.jobs[:2]) + 0.01)
    assert (kept, rest) == (turn.jobs[:2], turn.jobs[2:]) and turns.fitting(turn, budget, 0.0) == ((), turn.jobs)
    assert turns.fitting(turn, budget, None) == (turn.jobs, ())


def test_a_first_turn_leaves_the_others_what_they_need_and_no_less_than_its_share() -> None:
    other = MeasurementTarget(framework="openvino", device="openvino:CPU", python="/p", backend="cpu")
    waiting = turns.in_order([(each, plan(each, ValidateOptions())) for each in (CPU, other)], True)
    assert [(turn.first, turn.jobs[0].target.framework) for turn in waiting[:4]] == [
        (True, "torch"), (True, "openvino"), (True, "torch"), (False, "torch"),
    ]  # fmt: skip
    budget = Budget()
    needed = turns.seconds(waiting[1:3], budget)
    assert turns.limit(waiting, budget, needed + 40.0) == pytest.approx(40.0)
    assert turns.limit(waiting, budget, 30.0) == pytest.approx(max(30.0 - needed, 10.0))
    assert turns.limit(waiting[3:], budget, 12.0) == 12.0
