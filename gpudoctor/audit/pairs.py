"""Versions that exclude each other, packages that overwrite each other, Pythons without wheels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from gpudoctor.audit.judging import AuditTarget, admits, pinned
from gpudoctor.audit.packages import fate, row_of
from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import numbers
from gpudoctor.facts.derive.python_mix import FAMILIES, PARTNERS, fits, flavour, torch_row
from gpudoctor.model.audit import BACKENDS, AskedPackage, Judged

_SOURCE = "https://github.com/pytorch/vision#installation"
_RIGHT: dict[str, dict[str, tuple[str, ...]]] = {
    "onnxruntime_family": {
        "cuda": ("onnxruntime-gpu",), "rocm": ("onnxruntime-migraphx",), "xpu": ("onnxruntime-openvino",),
        "openvino": ("onnxruntime-openvino",), "directml": ("onnxruntime-directml",),
    },
    "triton_family": {"cuda": ("triton",), "xpu": ("triton-xpu", "pytorch-triton-xpu"), "rocm": ("triton-rocm", "pytorch-triton-rocm")},
}  # fmt: skip
_SAME_FILES = ("onnxruntime_family", "tensorflow_family", "triton_family", "torch_family", "bitsandbytes_family")


def conflicts(wanted: Sequence[AskedPackage], python: str, target: AuditTarget) -> Iterator[Judged]:
    """Conflicts among requirements that are installed together. `wanted`: those whose markers hold; `python`: a specifier, or ''."""
    by_name: dict[str, list[AskedPackage]] = {}
    for each in wanted:
        by_name.setdefault(each.name, []).append(each)
    chosen = {name: min(group, key=lambda each: not pinned(each.specifier)) for name, group in by_name.items()}
    if "torch" not in chosen and "pytorch" in chosen:
        chosen["torch"] = chosen["pytorch"]  # conda's name of the package
    yield from _same_files(chosen, target)
    yield from _twice(by_name)
    torch = chosen.get("torch")
    if torch is not None:
        demands = [*_demanded(torch, chosen, target), *_built_for(torch, chosen, target)]
        yield from demands
        torch = chosen["torch"] = _as_demanded(torch, demands)
        by_name["torch"] = [_as_demanded(each, demands) for each in by_name.get("torch", ())]
        yield from _partners(by_name, chosen)
        yield from _triton(torch, chosen)
        yield from _python(torch, python, target)
    yield from _numpy(chosen)
    yield from _cuda_majors(chosen)


def _as_demanded(torch: AskedPackage, demands: Sequence[Judged]) -> AskedPackage:
    """torch in the release that is proposed to replace it, since its partners must fit that release."""
    for row in demands:
        for line in row.use:
            if (row.package, row.line) == (torch.name, torch.line) and re.fullmatch(r"torch==[\d.]+(\+\w+)?", line):
                return replace(torch, specifier=line.removeprefix("torch"))
    return torch


def _row_on(wanted: AskedPackage, says: str, kind: str, source: str, use: Sequence[str] = (), verdict: str = "error") -> Judged:
    return Judged(
        package=wanted.name, file=wanted.file, line=wanted.line, text=wanted.text, verdict=verdict, says=says, use=tuple(use),
        sources=(source,), id=kind,
    )  # fmt: skip


def _place(wanted: AskedPackage) -> str:
    """' (file:line)' of the requirement, to append to a name; empty for an installed package."""
    return f" ({wanted.file}:{wanted.line})" if wanted.line else ""


def _twice(by_name: dict[str, list[AskedPackage]]) -> Iterator[Judged]:
    """Two releases of torch or a partner in files that are installed together: the one installed last replaces the other."""
    for name in ("torch", *PARTNERS):
        held = [each for each in by_name.get(name, ()) if pinned(each.specifier)]
        first = next((each for each in held if not _by_hand(each)), held[0] if held else None)
        for each in held:
            if first is not None and str(pinned(each.specifier)).partition("+")[0] != str(pinned(first.specifier)).partition("+")[0]:
                right = f"{name}=={pinned(first.specifier)}"
                says = f"{name} {pinned(each.specifier)} here and {pinned(first.specifier)} at {first.file}:{first.line}: name one release"
                yield _row_on(each, says, "conflict", "https://pip.pypa.io/en/stable/topics/dependency-resolution/", [right])


def _by_hand(wanted: AskedPackage) -> bool:
    """Whether the requirement stands in a command of a Dockerfile. A requirements file has precedence over such a command."""
    return "dockerfile" in wanted.file.rpartition("/")[2].lower()


def _serves(name: str, target: AuditTarget) -> bool:
    """Whether a package is known to run on the backend. The demands of one that must be removed anyway do not count."""
    row = row_of(name)
    known = fate(row, target.backend, target.platform) if row else None
    return known is not None and known["status"] not in ("none", "replace", "unverified")


def _demanded(torch: AskedPackage, chosen: dict[str, AskedPackage], target: AuditTarget) -> Iterator[Judged]:
    """Programs whose releases each demand exactly one torch (Requires-Dist)."""
    for name, rows in table("audit-packages")["demands_torch"].items():
        program, version = chosen.get(name) if _serves(name, target) else None, pinned(torch.specifier)
        release = pinned(program.specifier) if program else None
        wants = rows.get(release.public) if release else None
        if program is not None and wants and not admits(torch.specifier, wants):
            says = f"{name} {release}{_place(program)} demands torch {wants}"
            local = f"+{version.local}" if version is not None and version.local else ""
            yield _row_on(torch, says, "conflict", f"https://pypi.org/project/{name}/", [f"torch=={wants}{local}"])


def _partners(by_name: dict[str, list[AskedPackage]], chosen: dict[str, AskedPackage]) -> Iterator[Judged]:
    rows = table("python-partners")["torch"]
    for name in PARTNERS:
        partner = chosen.get(name)
        if partner is None:
            continue
        # Where several torches are pinned, the one of the same file counts.
        torch = next((each for each in by_name.get("torch", ()) if each.file == partner.file and pinned(each.specifier)), chosen["torch"])
        version = pinned(torch.specifier)
        theirs = pinned(partner.specifier)
        row = torch_row(version.public) if version else None
        if version is not None and theirs is not None:
            if row is not None and fits(name, theirs.public, row) is False and not version.is_prerelease:
                right = list(row.get(PARTNERS[name], []))
                use = [f"{name}=={right[-1]}{f'+{version.local}' if version.local and name != 'xformers' else ''}"] if right else []
                yield _row_on(partner, f"belongs to another torch than {version}{_place(torch)}", "conflict", _SOURCE, use)
            elif name != "xformers" and flavour(str(version)) and flavour(str(theirs)) and version.local != theirs.local:
                yield _row_on(
                    partner,
                    f"+{theirs.local} beside torch +{version.local}{_place(torch)}",
                    "conflict",
                    _SOURCE,
                    [f"{name}=={theirs.public}+{version.local}"],
                )
            continue
        if not torch.specifier or not partner.specifier or name == "xformers":
            continue
        possible = [each for each in rows if admits(torch.specifier, each["version"])]
        fitting = [each for each in rows if any(admits(partner.specifier, text) for text in each.get(PARTNERS[name], ()))]
        newer = version is not None and numbers(version.public) > numbers(rows[-1]["version"])
        open_end = admits(partner.specifier, "9999") or newer
        if possible and fitting and not open_end and not any(each in fitting for each in possible):
            newest = possible[-1]
            right = newest.get(PARTNERS[name], [])
            span = f"it belongs to torch {fitting[0]['version']} to {fitting[-1]['version']}"
            says = f"no release of it goes with torch{torch.specifier}{_place(torch)}: {span}"
            yield _row_on(partner, says, "conflict", _SOURCE, [f"{name}=={right[-1]}"] if right else [])


def _triton(torch: AskedPackage, chosen: dict[str, AskedPackage]) -> Iterator[Judged]:
    version, triton = pinned(torch.specifier), chosen.get("triton")
    right = table("audit-packages")["triton"].get(version.base_version) if version else None
    if triton is None or right is None or not triton.specifier or (version and (version.local or "").startswith(("rocm", "xpu", "cpu"))):
        return
    if not admits(triton.specifier, right):
        yield _row_on(
            triton,
            f"torch {version}{_place(torch)} demands triton {right}",
            "conflict",
            "https://pypi.org/project/torch/",
            [f"triton=={right}"],
        )


def _built_for(torch: AskedPackage, chosen: dict[str, AskedPackage], target: AuditTarget) -> Iterator[Judged]:
    """Extensions that demand exactly one torch: IPEX, torch-directml, PopTorch. On other backends the last two must be removed."""
    for name, data, key, backends in (
        ("intel-extension-for-pytorch", "ipex-torch", "ipex", BACKENDS),
        ("torch-directml", "directml", "prefix", ("directml",)),
        ("poptorch", "poplar-poptorch", "sdk", ("ipu",)),
    ):
        if target.backend not in backends:
            continue
        extension = chosen.get(name)
        version = pinned(extension.specifier) if extension else None
        tables = table(data)
        if extension is not None and not extension.specifier and name == "torch-directml" and pinned(torch.specifier):
            yield from _any_of(extension, torch, tables["release"])
        if extension is None or version is None:
            continue
        row = _row_for(version, tables.get("release") or tables["row"], key)
        wants = _wanted_torch(name, version, row)
        if not wants or any(_same_release(torch.specifier, each) for each in wants):
            continue
        source = str((row or {}).get("source") or tables.get("source") or "https://github.com/intel/intel-extension-for-pytorch")
        use = [f"torch=={wants[0]}{'.*' if wants[0].count('.') == 1 else ''}"]
        if name != "intel-extension-for-pytorch":
            says = f"{name} {version}{_place(extension)} demands torch {' or '.join(wants)}"
            yield _row_on(torch, says, "conflict", source, use)
            continue
        if row and row.get("packages"):
            use = [f"pip install {row['packages']} {row['index']}"]
        wrong = f"not torch{torch.specifier or ' (any)'}{_place(torch)}"
        yield _row_on(extension, f"is {version}, built for torch {' or '.join(wants)}, {wrong}", "conflict", source, use)


def _any_of(extension: AskedPackage, torch: AskedPackage, rows: Sequence[dict[str, Any]]) -> Iterator[Judged]:
    """Conflicts of an unpinned extension, each of whose releases demands exactly one torch, with a pinned torch that none demands."""
    wants = [each for row in rows for each in (row["torch"] if isinstance(row["torch"], list) else [row["torch"]])]
    if wants and not any(_same_release(torch.specifier, each) for each in wants):
        says = f"no release of {extension.name}{_place(extension)} demands this torch; the newest demands torch {wants[-1]}"
        yield _row_on(torch, says, "conflict", f"https://pypi.org/project/{extension.name}/", [f"torch=={wants[-1]}"])


def _row_for(version: Version, rows: Sequence[dict[str, Any]], key: str) -> dict[str, Any] | None:
    text = str(version.public)
    matching = [row for row in rows if text == row[key] or text.startswith((f"{row[key]}.", f"{row[key]}dev"))]
    if not matching and key == "prefix":
        matching = [row for row in rows if text.startswith(row[key])]
    return matching[-1] if matching else None


def _wanted_torch(name: str, version: Version, row: dict[str, Any] | None) -> list[str]:
    if row is None:
        # The CPU build of IPEX, on PyPI, has the version number of its torch.
        return [f"{version.major}.{version.minor}"] if name == "intel-extension-for-pytorch" and version.major >= 2 else []
    torch = row["torch"]
    return list(torch) if isinstance(torch, list) else [torch]


def _same_release(specifier: str, wants: str) -> bool:
    """Whether a demand on torch admits this release; '2.8' stands for any 2.8.x."""
    if not specifier:
        return True
    version = pinned(specifier)
    if version is not None:
        right = Version(wants)
        return version.release[: len(right.release)] == right.release if wants.count(".") == 1 else version.release == right.release
    return any(
        admits(specifier, each)
        for each in ((wants, f"{wants}.0", f"{wants}.1") if wants.count(".") == 1 else (wants, Version(wants).base_version))
    )


def _python(torch: AskedPackage, python: str, target: AuditTarget) -> Iterator[Judged]:
    """A pinned torch without wheels for any Python that the project admits."""
    version = pinned(torch.specifier)
    row = torch_row(version.public) if version else None
    if row is None or version is None or version.is_prerelease:
        return
    first, last = (numbers(text) for text in row["python"])
    candidates = [(3, minor) for minor in range(6, 20)]
    if target.python:
        candidates = [candidate for candidate in candidates if candidate == numbers(target.python)[:2]]
    elif python:
        try:
            demanded = SpecifierSet(python)
        except InvalidSpecifier:
            return
        candidates = [
            each for each in candidates if demanded.contains(f"{each[0]}.{each[1]}.0") or demanded.contains(f"{each[0]}.{each[1]}.99")
        ]
    else:
        return
    if candidates and not any(first <= candidate <= last for candidate in candidates):
        wanted_python = target.python or python
        yield _row_on(
            torch,
            f"torch {version} has wheels for Python {row['python'][0]} to {row['python'][1]}, not for {wanted_python}",
            "python",
            "https://pypi.org/project/torch/",
        )


def _numpy(chosen: dict[str, AskedPackage]) -> Iterator[Judged]:
    numpy = chosen.get("numpy")
    for row in table("audit-packages")["numpy2"]:
        dependent = chosen.get(row["package"])
        version = pinned(dependent.specifier) if dependent else None
        if dependent is None or version is None or version >= Version(row["version"]):
            continue
        says = f"{row['package']} {version}{_place(dependent)} was built for NumPy 1"
        careful = "demands" in row and version >= Version(row["demands"])
        if numpy is None:
            if not dependent.locked and not careful:
                yield _row_on(
                    dependent,
                    f"{row['package']} {version} was built for NumPy 1, and nothing here keeps NumPy 2 away",
                    "conflict",
                    row["source"],
                    ["numpy<2"],
                    "warning",
                )
        elif not any(
            admits(numpy.specifier, each) for each in ("1.21.6", "1.22.4", "1.23.5", "1.24.4", "1.25.2", "1.26.4", "1.19.5", "1.18.5")
        ):
            yield _row_on(numpy, says, "conflict", row["source"], ["numpy<2"])
        elif pinned(numpy.specifier) is None and admits(numpy.specifier, "2.0.0") and not careful:
            yield _row_on(numpy, f"{says}; this line admits NumPy 2", "conflict", row["source"], ["numpy<2"], "warning")


def _same_files(chosen: dict[str, AskedPackage], target: AuditTarget) -> Iterator[Judged]:
    for family in _SAME_FILES:
        found = [name for name in FAMILIES[family] if name in chosen]
        if family == "tensorflow_family":
            found = [name for name in found if name not in ("tensorflow-macos", "tf-nightly")]
        if len(found) < 2:
            continue
        right = _RIGHT.get(family, {}).get(target.backend, ())
        if right and not set(right) & set(found):
            continue  # The verdict on each says already to remove it, and what replaces it.
        keep = next((name for name in found if name in right), "")
        keep = keep or (found[-1] if family == "tensorflow_family" else next((name for name in found if name != "onnxruntime"), found[0]))
        for name in found:
            if name != keep:
                here = chosen[name].line is None
                says = f"overwrites the files of {keep}{_place(chosen[keep])}: " + (
                    "keep one, and install that again" if here else "remove it"
                )
                use = [f"pip uninstall -y {' '.join(found)}", f"pip install {keep}"] if here else []
                source = "https://onnxruntime.ai/docs/install/" if "onnx" in family else f"https://pypi.org/project/{keep}/"
                yield _row_on(chosen[name], says, "same-files", source, use)


def _cuda_majors(chosen: dict[str, AskedPackage]) -> Iterator[Judged]:
    majors: dict[str, list[AskedPackage]] = {}
    for name, wanted in chosen.items():
        stem, _, major = name.rpartition("-cu")
        if stem in ("nvidia-cublas", "nvidia-cuda-runtime", "nvidia-cudnn", "nvidia-cufft") and major.isdigit():
            majors.setdefault(major, []).append(wanted)
    if len(majors) > 1:
        first, *later = sorted(majors)
        for each in majors[first]:
            yield _row_on(
                each,
                f"libraries of CUDA {first} beside those of CUDA {', '.join(later)}{_place(majors[later[0]][0])}",
                "conflict",
                "https://pypi.org/project/nvidia-cublas-cu12/",
                [f"pip uninstall -y {each.name}"],
                "warning",
            )
