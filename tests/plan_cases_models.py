"""Golden plans of what runs language models, and of Vulkan."""

from __future__ import annotations

from plan_cases import A770_WSL, B580, M3, card, linux, on, windows
from plan_cases_makers import BARE, RX6800, RX7900, WINDOWS_4090, container, mac, with_amd

WITH_CUDA = linux("rtx4090-with-cuda-12", "ubuntu 24.04", "6.8.0-51-generic").nvidia("580.95.05")
WITH_CUDA.run(
    "ldconfig", "-p",
    out="2 libs found\n\tlibcudart.so.12 (libc6,x86-64) => /usr/local/cuda/lib64/libcudart.so.12\n"
    "\tlibcublas.so.12 (libc6,x86-64) => /usr/local/cuda/lib64/libcublas.so.12\n",
)  # fmt: skip
WITHOUT_CUDA = linux("rtx4090-without-cuda", "ubuntu 24.04", "6.8.0-51-generic").nvidia("580.95.05")
WITH_ROCM = with_amd(linux("rx7900-with-rocm-7", "ubuntu 24.04", "6.14.0-29-generic"), RX7900)
WITH_ROCM.run("ldconfig", "-p", out="1 libs found\n\tlibamdhip64.so.7 (libc6,x86-64) => /opt/rocm/lib/libamdhip64.so.7\n")
RX6800_ARCH = with_amd(linux("rx6800-arch", "arch", "6.17.4-arch1-1"), RX6800)
RX7900_FEDORA = with_amd(linux("rx7900-fedora-43", "fedora 43", "6.17.4-200.fc43.x86_64"), RX7900)
B580_UBUNTU = card(linux("b580-ubuntu-26.04", "ubuntu 26.04", "7.0.0-14-generic"), B580, "xe")
ARM = linux("arm-ubuntu-24.04", "ubuntu 24.04", "6.8.0-51-generic").run(
    "uname", "-a", out="Linux host 6.8.0-51-generic #1 SMP aarch64 aarch64 aarch64 GNU/Linux\n"
)

CASES = [
    *on(WITH_CUDA, "llama-cpp", "vulkan", "ollama"),
    *on(WITHOUT_CUDA, "llama-cpp"),
    *on(WITH_ROCM, "llama-cpp", "ollama"),
    *on(RX6800_ARCH, "llama-cpp", "vulkan", "ollama"),
    *on(RX7900_FEDORA, "llama-cpp", "vulkan", "ollama"),
    *on(B580_UBUNTU, "llama-cpp", "vulkan", "ollama"),
    *on(ARM, "llama-cpp"),
    *on(BARE, "llama-cpp", "vulkan", "ollama"),
    *on(container("rtx4090-container", "ubuntu 22.04").nvidia("535.183.01"), "vulkan"),
    *on(A770_WSL, "llama-cpp", "vulkan"),
    *on(mac("m3-macos-14"), "llama-cpp", "ollama"),
    *on(M3, "llama-cpp"),
    *on(windows("windows-b580", ("Intel(R) Arc(TM) B580 Graphics", "32.0.101.6734", "8086:e20b")), "llama-cpp", "vulkan"),
    *on(WINDOWS_4090, "llama-cpp", "ollama"),
]
