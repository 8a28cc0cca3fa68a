"""Opens a page in the person's browser where that has a window."""

from __future__ import annotations

import os
import sys

_IN_A_TERMINAL = ("lynx", "w3m", "links", "elinks", "www-browser")


def open_page(url: str) -> bool:
    """Opens the page. Returns False where there is no browser with a window, so that the address must be shown. `url` must come from
    gpudoctor itself."""
    if not url.startswith(("https://", "http://")) or not url.isascii() or not url.isprintable() or " " in url:
        return False
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("BROWSER")
    if sys.platform.startswith("linux") and not screen:
        return False
    import webbrowser

    try:
        browser = webbrowser.get()
        if getattr(browser, "basename", "") in _IN_A_TERMINAL:
            return False
        return browser.open(url)
    except (webbrowser.Error, OSError):
        return False
