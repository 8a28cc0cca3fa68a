"""What the pages of the site say, before Sphinx makes HTML of them."""

from __future__ import annotations

import re
from pathlib import Path

import check_pages
import pytest
import recipe_pages
import reference_pages
from knowledge import Knowledge, outline
from ladder_pages import RUNGS, first_page, stack_page
from markup import address, label, prose, source_address
from msgspec.structs import replace

from gpudoctor.model.check import LAYERS, AdviceTemplate, Check, Rung, Source, Stack, Step, Variant
from gpudoctor.model.facts import FactSpec
from gpudoctor.model.recipe import KINDS, Gate, Include, Recipe, StepTemplate
from gpudoctor.model.signature import Signature
from gpudoctor.rules.conditions import parse

ITEMS = {"gpus": "gpu"}
OLD = parse({"fact": "kernel.release", "older_than": "6.2"}, "problem", ITEMS)
UBUNTU = parse({"fact": "os.id", "is": "ubuntu"}, "when", ITEMS)
CHECK = Check(
    id="kernel-old", topic="intel", title="The kernel {kernel.release|in use} is too old", severity="error", layer="kernel-driver",
    stacks=("torch-xpu", "opencl"), explanation="It knows no such card.", problem=OLD,
    advice=AdviceTemplate(
        do="Install a newer one.", needs_reboot=True, recipe="torch-xpu", otherwise=("Wait.",),
        steps=(Step(run="sudo apt install linux-{kernel.flavour|generic}"), Step(run="dnf", when=UBUNTU)),
    ),
    variants=(Variant(when=UBUNTU, replaces={"do": "Take HWE."}),),
    signatures=(
        Signature(text=(("no such device",),)),
        Signature(text=(("error 5",), ("xe", "i915")), none_of=("nvme",), within=3, pattern=r"error \d"),
    ),
    caused_by=("bios-old",), sources=(Source(ref="owner/repo#12", read="2026-11-20", says="so it was"),),
)  # fmt: skip
OTHER = replace(CHECK, id="no-node", caused_by=("kernel-old",), signatures=())
STACK = Stack(
    stack="torch-xpu", title="PyTorch on Intel", applicable=UBUNTU,
    rungs=(Rung(layer="kernel-driver", ok=UBUNTU, missing="no driver bound"),),
)  # fmt: skip
RECIPE = Recipe(
    id="torch-xpu-linux", name="torch-xpu", title="PyTorch {setup.torch}", applies=UBUNTU, stack="torch-xpu", disk_gb=8,
    archived="since 2025",
    steps=(Include(name="torch-xpu"),
           StepTemplate(do="pip", title="the wheel", why="It is small.", layer="framework", settings={"packages": ["torch"]})),
    gates=(Gate(holds=UBUNTU, level="refuse", title="not here", advice="elsewhere"),), sources=CHECK.sources,
)  # fmt: skip
FACTS = {
    "kernel.release": FactSpec("kernel.release", "dotted", "the kernel that runs"),
    "os.id": FactSpec("os.id", "text", "the distribution"),
    "gpus": FactSpec("gpus", "records", "cards", item="gpu", fields={"vendor": "text"}),
}
KNOWN = Knowledge((CHECK, OTHER), (STACK,), (RECIPE,), FACTS)
HOSTILE = "<script>alert(1)</script> [x](javascript:alert(1)) {raw}`html` ![p](https://evil.example/p.png) ::: `` \x1b[31m # * _"


def test_a_check_page_tells_all_that_its_file_says() -> None:
    page = check_pages.page(CHECK, KNOWN)
    assert page.startswith("---\norphan: true\n---\n\n(check-kernel-old)=\n# The kernel \\<kernel\\.release\\> is too old\n")
    for said in (
        "[kernel driver](#layer-kernel-driver)", "[`torch-xpu`](#stack-torch-xpu), `opencl`", "**Error:** it does not work.",
        "- `no such device`\n- `error 5`, together with (`xe` or `i915`), within 3 lines; "
        "not where `nvme` stands there; and it matches `/error \\d/`",
        "- [`kernel.release`](#fact-kernel-release) is older than 6\\.2", "And only where a text shows such a message.",
        "```text\nsudo apt install linux-<kernel.flavour>\n```", "Then reboot.", "[`torch-xpu-linux`](#recipe-torch-xpu-linux)",
        "### Where os\\.id is ubuntu\n\nTake HWE\\.", "It follows from `bios-old`", "It leads to [`no-node`](#check-no-node)",
        "Where os\\.id is ubuntu:\n\n```text\ndnf\n```", "Otherwise:\n\n- Wait\\.",
        "[owner\\/repo\\#12](<https://github.com/owner/repo/issues/12>) (read 2026\\-11\\-20): so it was",
    ):  # fmt: skip
        assert said in page


def test_a_check_that_only_reads_messages_names_no_condition() -> None:
    from gpudoctor.model.condition import ALWAYS

    page = check_pages.page(replace(CHECK, problem=ALWAYS), KNOWN)
    assert "wherever a text shows such a message" in page and "It is a problem where" not in page


@pytest.mark.parametrize(
    "page",
    [
        check_pages.page(
            replace(
                CHECK, title=HOSTILE, explanation=HOSTILE,
                advice=AdviceTemplate(do=HOSTILE, steps=(Step(run="```\n" + HOSTILE),), otherwise=(HOSTILE,)),
                signatures=(Signature(text=((HOSTILE,),)), Signature(text=((HOSTILE,), (HOSTILE,)), pattern="`" + HOSTILE)),
                problem=parse({"fact": "os.id", "is": HOSTILE}, "problem", ITEMS),
                sources=(Source(ref=HOSTILE, read=HOSTILE, says=HOSTILE), Source(ref="https://a.example/>)<b>", read="x")),
            ),
            KNOWN,
        ),
        recipe_pages.page(
            replace(
                RECIPE, title=HOSTILE, archived=HOSTILE, gates=(Gate(holds=UBUNTU, level="warn", title=HOSTILE, advice=HOSTILE),),
            ),
            KNOWN,
        ),
        stack_page(replace(STACK, title=HOSTILE, rungs=(Rung(layer="device", ok=UBUNTU, missing=HOSTILE),)), KNOWN),
        reference_pages.facts_page({"a.b": FactSpec("a.b", "text", HOSTILE)}),
    ],
    ids=["check", "recipe", "stack", "facts"],
)  # fmt: skip
def test_hostile_texts_stay_texts(page: str) -> None:
    from markdown_it import MarkdownIt

    assert "\x1b" not in page
    tokens = MarkdownIt("commonmark").parse(page.removeprefix("---\norphan: true\n---\n"))
    inline = [child for token in tokens for child in token.children or ()]
    assert not [token for token in (*tokens, *inline) if token.type in ("html_block", "html_inline", "image")]
    for token in inline:
        if token.type == "link_open":
            assert str(token.attrs["href"]).startswith(("#", "https://")), token
        if token.type == "text":
            assert "{raw}" not in token.content or "{raw}`" in "".join(one.content for one in inline if one.type == "text")


def test_no_role_of_the_text_survives() -> None:
    assert prose("{raw}`x` <b> a_b") == "\\{raw\\}\\`x\\` \\<b\\> a\\_b"


@pytest.mark.parametrize(
    ("ref", "target"),
    [
        ("intel/compute-runtime#610", "https://github.com/intel/compute-runtime/issues/610"),
        ("https://docs.example/a?b=c", "https://docs.example/a?b=c"),
        ("javascript:alert(1)", ""),
        ("https://docs.example/ a", ""),
        ("the manual, page 3", ""),
    ],
)
def test_only_addresses_become_links(ref: str, target: str) -> None:
    assert source_address(ref) == target
    assert bool(re.match(r"\[.*\]\(<", address(ref))) == bool(target)


def test_conditions_are_nested_bullets_that_lead_to_their_facts() -> None:
    intel = {"some": {"of": "gpus", "where": {"fact": "gpu.vendor", "is": "intel"}}}
    condition = parse({"any": [{"not": {"fact": "os.id", "is": "debian"}}, intel]}, "x", ITEMS)
    assert outline(condition, KNOWN) == [
        "- one of these holds:",
        "  - not: [`os.id`](#fact-os-id) is debian",
        "  - for one at least of [`gpus`](#fact-gpus):",
        "    - [`gpu.vendor`](#fact-gpus) is intel",
    ]


def test_the_first_page_is_the_ladder_from_the_top_down() -> None:
    page = first_page(KNOWN, [("Install and run", "install-and-run")])
    places = [page.index(f"(#{label('layer', layer)})") for layer in reversed(LAYERS)]
    assert page.startswith("# The ladder\n") and places == sorted(places)
    assert set(RUNGS) == set(LAYERS) and "(#layer-kernel-driver)** · 2 checks" in page
    assert "layers/device\n" in page and "\ninstall-and-run\n" in page


def test_a_stack_names_its_rungs_what_breaks_them_and_what_installs_it() -> None:
    page = stack_page(STACK, KNOWN)
    assert "## Kernel driver" in page and "Else it says: no driver bound." in page
    assert "(#check-kernel-old)" in page and "(#recipe-torch-xpu-linux)" in page


def test_a_recipe_shows_gates_and_steps_in_words() -> None:
    page = recipe_pages.page(RECIPE, KNOWN)
    assert "**Refuses:** not here: elsewhere" in page and "**Archived:** since 2025" in page and "8 GB" in page
    assert "### 1\\. The steps of `torch-xpu`" in page
    assert "- Installs Python packages (`pip`), at the framework rung\n- packages: `torch`" in page
    assert set(recipe_pages.KINDS) == set(KINDS)


def test_each_page_of_the_guide_keeps_links_that_lead_somewhere_on_the_site() -> None:
    texts = {
        "more": "# More\n\n![p](../screenshots/a.webp) [w](https://x.example)\n",
        "check": "# Check a machine\n\nSee [more](more.md), [how](../../checks/README.md), [code](../../gpudoctor/services/x.py).\n\n"
        "```bash\n# no heading\n[a](more.md#x)\n```\n",
    }
    pages = reference_pages.guide_pages(texts)
    assert [(title, name) for title, name, _ in pages] == [("Check a machine", "guide/check"), ("More", "guide/more")]
    assert "See [more](more.md), [how](../writing-checks.md), code." in pages[0][2] and "[a](more.md#x)" in pages[0][2]
    assert "![p](../screenshots/a.webp) [w](https://x.example)" in pages[1][2]


def test_only_pictures_that_are_there_are_copied(tmp_path: Path) -> None:
    (tmp_path / "docs" / "screenshots").mkdir(parents=True)
    (tmp_path / "docs" / "screenshots" / "a.webp").write_bytes(b"")
    text = "![a](../screenshots/a.webp) ![b](../screenshots/b.webp) ![c](../screenshots/../../../etc/passwd)"
    assert reference_pages.pictures([text], tmp_path) == [Path("docs/screenshots/a.webp")]
