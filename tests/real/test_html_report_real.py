"""The HTML report in a real browser: it asks for nothing, runs nothing of a report, and is there for every reader."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Site, axe, checked_by_nu, chromium, site
from environments import build
from fleet_views import full as full_fleet
from fleet_views import raided as raided_fleet
from msgspec.structs import replace
from pages import COMPARISON, DIFF, MEASURED, SWEEP, poisoned
from playwright.sync_api import expect

from gpudoctor.model.report import Report
from gpudoctor.reporters.fleet import fleet_html
from gpudoctor.reporters.report.html_report import comparison_page, html
from gpudoctor.services import checking

MACHINES = Path(__file__).resolve().parents[1] / "machines"
BROKEN, HEALTHY, FULL, HOSTILE, BESIDE, FLEET, RAIDED = "broken", "healthy", "full", "hostile", "beside", "fleet", "raided"
PAGES = (BROKEN, HEALTHY, FULL, HOSTILE, BESIDE, FLEET, RAIDED)
CANARY = "window.canary = (window.canary || 0) + 1"
ATTACKS = (
    f"</script><script>{CANARY}</script>", f"<img src=x onerror='{CANARY}'>", f'"><svg onload="{CANARY}">',
    f"' autofocus onfocus='{CANARY}", f"</style></title></svg><iframe srcdoc='<script>parent.{CANARY}</script>'>", f"javascript:{CANARY}",
    f"--><script>{CANARY}</script><!--",
    "<base href='https://example.org/'><meta http-equiv='refresh' content='0;url=https://example.org/'>", "<form><input name=body>",
)  # fmt: skip
"""Each would run or lead somewhere if it became markup."""
EVERYTHING_OPEN = "for (const fold of document.querySelectorAll('details')) fold.open = true"


def recorded(name: str) -> Report:
    return checking.check(checking.CheckRequest(capture=str(MACHINES / name)))


def written(folder: Path, *words: str) -> str:
    """The page that the program itself writes, keeping what it keeps in `folder`."""
    made = folder / f"{words[0]}.html"
    argv = [sys.executable, "-m", "gpudoctor", *words, "-q", "--format", "html", "-o", str(made)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=400, env={**os.environ, "XDG_STATE_HOME": str(folder)})
    assert done.returncode in (0, 1), done.stderr
    return made.read_text("utf-8")


def attacked() -> str:
    """A page all of whose words attack, each place with each of them in turn."""
    report = replace(recorded("two-vendors"), measurements=MEASURED)
    made = [poisoned(replace(report, facts={}), attack) for attack in ATTACKS]
    findings = tuple(replace(finding, key=f"{number}-{place}", severity="error") for number, each in enumerate(made)
                     for place, finding in enumerate(each.findings[:2]))  # fmt: skip
    stacks = tuple(replace(stack, stack=f"{number}") for number, each in enumerate(made) for stack in each.stacks[:1])
    facts = {f"{number} {attack}": {attack: attack, "list": [{attack: attack}]} for number, attack in enumerate(ATTACKS)}
    whole = replace(made[0], findings=findings, stacks=stacks, facts=facts, measurements=tuple(each.measurements[0] for each in made))
    return html(whole, beside=ATTACKS[0], ignored=dict.fromkeys(ATTACKS, ATTACKS[1]), sweeps=(poisoned(SWEEP, ATTACKS[1]),),
                compared=poisoned(COMPARISON, ATTACKS[2]), diff=poisoned(DIFF, ATTACKS[0]))  # fmt: skip


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    measured = written(folder, "validate", "--workload", "matmul", "--duration", "1", "--python", str(build("torch-cpu")))
    assert ">matmul<" in measured and "compute bound" in measured
    return {
        BROKEN: written(folder, "report", "--capture", str(MACHINES / "arc-a750-old-kernel")), HEALTHY: measured, HOSTILE: attacked(),
        FULL: html(replace(recorded("two-vendors"), measurements=MEASURED), sweeps=(SWEEP,), compared=COMPARISON, diff=DIFF),
        BESIDE: comparison_page("0.1.0", "2026-11-20T10:00:00Z", compared=COMPARISON, diff=DIFF, sweeps=(SWEEP,)),
        FLEET: fleet_html.render(full_fleet()), RAIDED: fleet_html.render(raided_fleet(*ATTACKS)),
    }  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture
def served() -> Iterator[Site]:
    with site() as running:
        yield running


class Tab:
    """One page in a context of its own; what the browser complained of is in `said`."""

    def __init__(self, browser: Any, address: str, width: int = 1280, **options: Any) -> None:
        options.setdefault("color_scheme", "light")
        self.context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.goto(address)

    def __enter__(self) -> Any:
        return self.page

    def __exit__(self, *_: object) -> None:
        self.context.close()


@pytest.mark.rotates("a page asks for nothing")
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_asked_for_and_nothing_complains(browser: Any, served: Site, texts: dict[str, str], name: str) -> None:
    tab = Tab(browser, served.put(name, texts[name]))
    with tab as page:
        page.evaluate(EVERYTHING_OPEN)
        page.wait_for_timeout(300)
        assert (served.asked, tab.said) == ([f"/{name}"], [])
        assert page.evaluate("performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize("name", [HOSTILE, RAIDED])
def test_words_of_a_report_never_run(browser: Any, served: Site, texts: dict[str, str], name: str) -> None:
    """With the content policy, and with it taken out: the escaping holds alone."""
    whole = texts[name]
    start = whole.index('<meta http-equiv="Content-Security-Policy"')
    bare = whole[:start] + whole[whole.index(">", start) + 1 :]
    assert "Content-Security-Policy" in whole and "Content-Security-Policy" not in bare
    for place, text in (("guarded", whole), ("bare", bare)):
        with Tab(browser, served.put(place, text)) as page:
            page.evaluate(EVERYTHING_OPEN)
            page.wait_for_timeout(500)
            assert page.url.endswith(place)
            assert page.evaluate("window.canary") is None
            assert page.evaluate("[...document.links].filter(link => !['https:', location.protocol].includes(link.protocol)).length") == 0
            assert page.evaluate("document.querySelectorAll('img, iframe, base, object, embed').length") == 0
            assert page.evaluate("document.scripts.length") == 1
            for attack in ATTACKS[:6]:
                assert attack in page.inner_text("body") or attack in page.text_content("body")
    assert set(served.asked) <= {"/guarded", "/bare", "/favicon.ico"}


def test_the_policy_stops_what_gets_in_all_the_same(browser: Any, served: Site, texts: dict[str, str]) -> None:
    smuggled = (
        f"<script>{CANARY}</script><img src='{served.address}/image' onerror='{CANARY}'><iframe src='{served.address}/frame'></iframe>"
        f"<a id='click' href='javascript:{CANARY}'>x</a><form action='{served.address}/form'><button id='send'>x</button></form>"
        f"<link rel='stylesheet' href='{served.address}/style'>"
    )
    text = texts[BROKEN].replace("</main>", smuggled + "</main>")
    with Tab(browser, served.put("page", text)) as page:
        for selector in ("#click", "#send"):
            page.eval_on_selector(selector, "each => each.click()")
        page.wait_for_timeout(500)
        assert page.evaluate("window.canary") is None
    assert served.asked == ["/page"]


BACKGROUND = "getComputedStyle(document.documentElement).backgroundColor"


@pytest.mark.rotates("colours")
@pytest.mark.parametrize("script", [True, False])
def test_colours_follow_the_system_until_somebody_chooses(browser: Any, served: Site, texts: dict[str, str], script: bool) -> None:
    address = served.put("page", texts[BROKEN])
    seen = {}
    for scheme in ("light", "dark"):
        with Tab(browser, address, color_scheme=scheme, java_script_enabled=script) as page:
            seen[scheme] = page.evaluate(BACKGROUND)
    assert seen["light"] != seen["dark"]
    with Tab(browser, address, color_scheme="light", java_script_enabled=script) as page:
        page.focus("#theme-auto")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert page.evaluate(BACKGROUND) == seen["dark"]
        page.click("label[for=theme-light]")
        assert page.evaluate(BACKGROUND) == seen["light"]
        assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]


def shown_facts(page: Any) -> list[str]:
    rows = "[...document.querySelectorAll('#tree dl > div')].filter(row => row.checkVisibility())"
    return list(page.evaluate(f"{rows}.map(row => row.textContent)"))


def test_facts_are_searched_by_name_and_value(browser: Any, served: Site, texts: dict[str, str]) -> None:
    with Tab(browser, served.put("page", texts[BROKEN])) as page:
        page.click("#tree > details:has(> summary .name:text-is('memory')) > summary")
        before = shown_facts(page)
        assert len([row for row in before if row.startswith("memory.")]) == 3
        page.fill("#search", "kernel.RELEASE")
        expect(page.locator("#matches")).to_have_text("1 fact matches")
        assert shown_facts(page) == ["kernel.release5.15.0-105-generic"]
        page.fill("#search", "arc a750 name")
        expect(page.locator("#matches")).to_have_text(re.compile("^[0-9]+ facts match$"))
        assert shown_facts(page) and all("arc a750" in row.lower() for row in shown_facts(page))
        page.fill("#search", "no such fact")
        expect(page.locator("#matches")).to_have_text("0 facts match")
        assert shown_facts(page) == []
        page.fill("#search", "")
        expect(page.locator("#matches")).to_have_text("")
        assert shown_facts(page) == before
        page.focus("#search")
        page.keyboard.press("Enter")
        assert page.url.endswith("/page")


@pytest.mark.rotates("copied commands")
@pytest.mark.parametrize("clipboard", [True, False])
def test_commands_are_copied(browser: Any, served: Site, texts: dict[str, str], clipboard: bool) -> None:
    """By the clipboard's interface, and by the old way where a browser refuses it."""
    with Tab(browser, served.put("page", texts[BROKEN]), permissions=["clipboard-read", "clipboard-write"]) as page:
        if not clipboard:
            page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); }")
        button = page.get_by_role("button", name="Copy: sudo apt install linux-generic-hwe-22.04 linux-firmware")
        button.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#said")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == "sudo apt install linux-generic-hwe-22.04 linux-firmware"
        assert page.evaluate("document.activeElement.textContent") == "Copied"


def test_a_page_without_its_script_lacks_only_comfort(browser: Any, served: Site, texts: dict[str, str]) -> None:
    with Tab(browser, served.put("page", texts[BROKEN]), java_script_enabled=False) as page:
        assert page.locator("button").count() == 0 and not page.is_visible("#searching")
        assert page.is_visible("text=sudo apt install linux-generic-hwe-22.04 linux-firmware")
        row = page.locator("#tree dl > div", has_text="kernel.release")
        assert not row.is_visible()
        page.click("#tree > details:has(> summary .name:text-is('kernel')) > summary")
        assert row.is_visible()


FOCUSABLE = """[...document.querySelectorAll('a[href], button, input, summary, [tabindex="0"]')].filter(each => each.checkVisibility()
  && (each.type != 'radio' || each.checked))"""
FOCUSED = f"""(() => {{ const each = document.activeElement, shown = each.type == 'radio' ? each.nextElementSibling : each;
  const style = getComputedStyle(shown);
  return [{FOCUSABLE}.indexOf(each), style.outlineStyle != 'none' && parseFloat(style.outlineWidth) >= 2]; }})()"""


@pytest.mark.rotates("the keyboard")
@pytest.mark.parametrize(("name", "width"), [(BROKEN, 1280), (FULL, 1280), (FULL, 360), (FLEET, 1280)])
def test_the_keyboard_reaches_everything_and_shows_where_it_is(
    browser: Any, served: Site, texts: dict[str, str], name: str, width: int
) -> None:
    with Tab(browser, served.put("page", texts[name]), width) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        expect(page.locator("#content")).to_be_focused()
        page.goto(page.url.partition("#")[0])  # a reload would begin at the place that was jumped to
        wanted = page.evaluate(f"{FOCUSABLE}.length")
        reached = []
        for _ in range(wanted):
            page.keyboard.press("Tab")
            place, outlined = page.evaluate(FOCUSED)
            assert outlined, page.evaluate("document.activeElement.outerHTML")
            reached.append(place)
        assert reached == list(range(wanted))


CONTRAST = Path(__file__).with_name("contrast.js").read_text("utf-8").partition("\n")[2]


@pytest.mark.rotates("contrast")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [BROKEN, HEALTHY, FULL, FLEET])
def test_everything_can_be_told_from_its_ground(browser: Any, served: Site, texts: dict[str, str], name: str, scheme: str) -> None:
    with Tab(browser, served.put("page", texts[name]), color_scheme=scheme) as page:
        page.evaluate(EVERYTHING_OPEN)
        seen, poor = page.evaluate(CONTRAST)
        assert seen > 100 and poor == []


def test_the_contrast_test_sees_what_is_pale(browser: Any, served: Site, texts: dict[str, str]) -> None:
    with Tab(browser, served.put("page", texts[FULL])) as page:
        page.evaluate("document.querySelector('.lead, .intro').style.setProperty('color', '#8f8f8f')")
        assert page.evaluate(CONTRAST)[1] != []


@pytest.mark.rotates("a width")
@pytest.mark.parametrize("width", [320, 360, 390, 700, 961])
@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_its_screen(browser: Any, served: Site, texts: dict[str, str], name: str, width: int) -> None:
    with Tab(browser, served.put("page", texts[name]), width) as page:
        page.evaluate(EVERYTHING_OPEN)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        outside = page.evaluate("""[...document.querySelectorAll('main *')].filter(each => each.checkVisibility()
          && !each.closest('.scroll, svg') && each.getBoundingClientRect().right > innerWidth + 1)
          .map(each => each.outerHTML.slice(0, 120))""")
        assert outside == []


@pytest.mark.rotates("axe")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("name", "width"), [(BROKEN, 1280), (BROKEN, 360), (HEALTHY, 1280), (FULL, 1280), (FULL, 360),
                                             (BESIDE, 1280), (FLEET, 1280), (FLEET, 360)])  # fmt: skip
def test_axe_finds_no_barrier(browser: Any, served: Site, texts: dict[str, str], name: str, width: int, scheme: str) -> None:
    """What axe cannot decide is the ground of words in drawings and under a scrolled table; the test of contrast computes it."""
    with Tab(browser, served.put("page", texts[name]), width, color_scheme=scheme, bypass_csp=True) as page:
        page.evaluate(EVERYTHING_OPEN)
        violations, undecided = axe(page)
        assert [(each["id"], each["nodes"][0]["html"]) for each in violations] == []
        assert {each["id"] for each in undecided} <= {"color-contrast"}


def test_the_checker_of_html_has_nothing_to_say(tmp_path: Path, texts: dict[str, str]) -> None:
    files = []
    for name, text in texts.items():
        files.append(tmp_path / f"{name}.html")
        files[-1].write_text(text, encoding="utf-8")
    assert [(each["message"], each.get("extract", "")[:200]) for each in checked_by_nu(files)] == []


@pytest.mark.rotates("paper")
@pytest.mark.parametrize("script", [True, False])
def test_paper_gets_everything_and_no_dark(browser: Any, served: Site, texts: dict[str, str], script: bool) -> None:
    with Tab(browser, served.put("page", texts[FULL]), color_scheme="dark", java_script_enabled=script) as page:
        page.click("label[for=theme-dark]")
        assert len(page.pdf(format="A4")) > 20_000
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate(BACKGROUND) == "rgb(255, 255, 255)"
        inside = "[...document.querySelectorAll('details > :not(summary)')]"
        folded = page.evaluate(f"{inside}.map(each => each.getBoundingClientRect().height)")
        assert len(folded) > 20 and min(folded) > 5
        tools = "[...document.querySelectorAll('.copy, .themes, nav, #searching')]"
        assert page.evaluate(f"{tools}.filter(each => each.checkVisibility()).length") == 0


def test_nothing_moves_for_those_who_asked_for_rest(browser: Any, served: Site, texts: dict[str, str]) -> None:
    moving = "[...document.querySelectorAll('*')].filter(each => ['', '::before'].some(part => "
    moving += "parseFloat(getComputedStyle(each, part || null).transitionDuration) > 0)).length"
    with Tab(browser, served.put("page", texts[FULL]), reduced_motion="reduce") as page:
        assert page.evaluate(moving) == 0
        assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
