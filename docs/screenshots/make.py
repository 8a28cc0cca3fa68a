"""Makes the pictures beside this file from what `gpudoctor report --format html` writes.

    python docs/screenshots/make.py [ENVIRONMENT]

ENVIRONMENT is a Python with a framework, best one that `gpudoctor validate --python ENVIRONMENT` has measured. Needs the `dev` extra
and, from Debian, chromium, poppler-utils and webp.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
BROKEN = ROOT / "tests" / "machines" / "arc-a750-old-kernel"
WIDE, PHONE = (1280, 1000), (390, 844)


def main(environment: str | None) -> None:
    sys.path.insert(0, str(ROOT / "tests" / "real"))
    from browser import chromium

    with tempfile.TemporaryDirectory() as place, chromium() as browser:
        folder = Path(place)
        broken = report(folder / "broken.html", "--capture", str(BROKEN))
        healthy = report(folder / "healthy.html", *(["--python", environment] if environment else []))
        for name, page, scheme, size, start in (
            ("broken-light", broken, "light", WIDE, ""), ("broken-dark", broken, "dark", WIDE, ""),
            ("broken-phone", broken, "light", PHONE, ""), ("stacks-phone", broken, "dark", PHONE, "#stacks"),
            ("healthy-light", healthy, "light", WIDE, ""),
            ("measurements-dark", healthy, "dark", WIDE, "#measurements"),
        ):  # fmt: skip
            shot(browser, page, folder / f"{name}.png", scheme, size, start)
        paper(browser, broken, folder / "broken-print")
        for picture in sorted(folder.glob("*.png")):
            argv = ["cwebp", "-quiet", "-near_lossless", "40", str(picture), "-o", str(HERE / f"{picture.stem}.webp")]
            subprocess.run(argv, check=True, timeout=60)


def report(target: Path, *options: str) -> Path:
    argv = [sys.executable, "-m", "gpudoctor", "report", "--format", "html", "-q", "-o", str(target), *options]
    subprocess.run(argv, check=True, timeout=300)
    return target


def shot(browser: Any, page: Path, target: Path, scheme: str, size: tuple[int, int], start: str) -> None:
    """What a screen shows, from the heading `start` on."""
    scale = 2 if size == PHONE else 1
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, device_scale_factor=scale, reduced_motion="reduce"
    )
    tab = context.new_page()
    tab.goto(page.as_uri() + start)
    tab.wait_for_timeout(300)
    tab.screenshot(path=str(target))
    context.close()


def paper(browser: Any, page: Path, target: Path) -> None:
    tab = browser.new_page()
    tab.goto(page.as_uri())
    tab.pdf(path=str(target.with_suffix(".pdf")), format="A4")
    tab.close()
    argv = ["pdftoppm", "-r", "80", "-png", "-f", "1", "-l", "1", "-singlefile", str(target.with_suffix(".pdf")), str(target)]
    subprocess.run(argv, check=True, timeout=60)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
