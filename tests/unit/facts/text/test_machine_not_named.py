"""Words that look like a machine's system or ROCm and name neither."""

from gpudoctor.services import explaining


def _shown(text: str) -> set[str]:
    report = explaining.explain(explaining.ExplainRequest(text=[text.encode()])).report
    return {finding.id for finding in report.findings}


def test_engine_of_lm_studio_is_no_rocm() -> None:
    machine = "RX 9060 XT, Windows 11\n{}\nThe model stays at 0 percent.\n"
    assert "rocm-too-old-for-gfx" not in _shown(machine.format("LM Studio with its engine ROCm 2.11"))
    assert "rocm-too-old-for-gfx" in _shown(machine.format("ROCm 5.4 is installed"))


def test_comment_about_wsl_is_no_wsl() -> None:
    text = "Intel N100\nWARNING  No GPU device found in OpenVINO. Falling back to CPU\n{}\n"

    def advice(line: str) -> str:
        report = explaining.explain(explaining.ExplainRequest(text=[text.format(line).encode()])).report
        return next(str(f) for f in report.findings if f.id == "openvino-app-container-without-gpu")

    assert "/dev/dxg" not in advice("service: openvino # the `-wsl` version is for WSL2 where applicable")
    assert "/dev/dxg" in advice("It runs in Docker in WSL2 on Windows 11")
