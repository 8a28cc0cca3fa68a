"""The first page, the ladder, and the pages of its rungs and of stacks."""

from __future__ import annotations

from check_pages import checks_list, layer_words, recipe_links
from knowledge import Knowledge, by_topic, outline
from markup import block, bullets, code, container, heading, label, link, prose, template

from gpudoctor.model.check import LAYERS, RECIPES, Stack

RUNGS = {
    "device": "The card, processor or accelerator itself: does the bus list it, is it whole, is it one that deep learning still supports?",
    "firmware": "What runs on the device and below the system: its microcode, the settings of the BIOS, power and bus addresses.",
    "kernel-driver": "The module of the kernel that knows this device: is there one, is it new enough, is it bound to the device?",
    "device-node": "The files or doors through which a program reaches the driver: are they there, may you open them, also in a container?",
    "user-driver": "The vendor's libraries beside the kernel's part: CUDA's driver, ROCm, Level Zero, OpenCL. Do the two halves fit?",
    "runtime": "What frameworks build on: toolkits, runtimes and math libraries. Which copy wins, and is it of the right version?",
    "framework": "PyTorch, TensorFlow, JAX and others: is it the build for this device, for this Python, and do its partners fit?",
    "visible": "Does the framework, in your environment, really list the device?",
    "compute": "Does it compute, and are the results right?",
    "performance": "Is it as fast as this device should be?",
}


def first_page(known: Knowledge, guide: list[tuple[str, str]]) -> str:
    """`guide`: (title, page) of each page of docs/guide."""
    rungs = []
    for layer in reversed(LAYERS):
        number = len(known.breaking(layer))
        named = f"**{link(prose(layer_words(layer)), label('layer', layer))}** · {number} check{'' if number == 1 else 's'}"
        rungs.append(container("rung", f"{named}\n\n{prose(RUNGS[layer])}"))
    return "\n\n".join([
        heading(1, "The ladder"),
        "Find out why deep learning doesn't work on your GPU, and how to fix it.",
        "A framework reaches its device through layers. Each is a rung that stands on those below it, so the **lowest broken rung** is the "
        "one to fix. What lies above it is 'not reached', not one more error; what could not be examined is 'unknown', never 'ok'. "
        "Read it from the bottom up.",
        *rungs,
        f"{len(known.checks)} checks for {len(known.stacks)} {link('stacks', 'all-stacks')} are known, with "
        f"{len(known.recipes)} {link('recipes', 'all-recipes')} that install or repair them. Search for a message, an id or a word: "
        "the search works without a network.",
        block("gpudoctor check            # which rung of which stack is the lowest broken one, here\n"
              "gpudoctor explain FILE     # the same of what a program said", "bash"),
        _tree("Rungs", [f"layers/{layer}" for layer in LAYERS]),
        _tree("Use", [page for _, page in guide]),
        _tree("Known", ["stacks", "recipes", "checks", "facts", "writing-checks"]),
    ]) + "\n"  # fmt: skip


def _tree(caption: str, pages: list[str]) -> str:
    listed = "\n".join(pages)
    return f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```"


def rung_page(layer: str, known: Knowledge) -> str:
    place = LAYERS.index(layer)
    beside = [("Above", LAYERS[place + 1 : place + 2]), ("Below", LAYERS[max(place - 1, 0) : place])]
    steps = [f"{words}: {link(prose(layer_words(name)), label('layer', name))}" for words, names in beside for name in names]
    parts = [heading(1, prose(layer_words(layer).capitalize()), label("layer", layer)), prose(RUNGS[layer]), " · ".join(steps)]
    for topic, checks in by_topic(known.breaking(layer)).items():
        parts += [heading(2, prose(topic)), checks_list(checks)]
    return "\n\n".join(parts) + "\n"


def stacks_page(known: Knowledge) -> str:
    stacks = sorted(known.stacks, key=lambda stack: stack.title.lower())
    tree = _tree("", [f"stacks/{stack.stack}" for stack in stacks]).replace(":caption: \n", "")
    lines = [f"{link(prose(stack.title), label('stack', stack.stack))} · {code(stack.stack)}" for stack in stacks]
    return (
        "\n\n".join(
            [heading(1, "Stacks", "all-stacks"), "A framework on a kind of device, with a ladder of its own.", bullets(lines), tree]
        )
        + "\n"
    )


def stack_page(stack: Stack, known: Knowledge) -> str:
    parts = [
        heading(1, prose(stack.title), label("stack", stack.stack)),
        container("about", code(stack.stack)),
        "It is looked at where",
        "\n".join(outline(stack.applicable, known)),
    ]
    if stack.used:
        parts += ["It is counted as in use where", "\n".join(outline(stack.used, known))]
    if stack.stack in RECIPES or known.recipes_of(stack.stack):
        parts += [f"{code(f'gpudoctor setup {stack.stack}')} installs it: {recipe_links(stack.stack, known)}."]
    else:
        serving = [recipe for recipe in known.recipes if recipe.stack == stack.stack]
        links = ", ".join(link(code(recipe.id), label("recipe", recipe.id)) for recipe in serving)
        parts += [f"Recipes that install it: {links}."] if links else []
    shown = [rung.layer for rung in stack.rungs]
    for rung in stack.rungs:
        parts += [heading(2, prose(layer_words(rung.layer).capitalize())), "Ok where", "\n".join(outline(rung.ok, known))]
        parts += [f"Else it says: {template(rung.missing)}."] if rung.missing else []
        parts += _what_breaks(known, rung.layer, stack.stack)
    for layer in LAYERS:
        if layer not in shown and (more := _what_breaks(known, layer, stack.stack)):
            parts += [heading(2, prose(layer_words(layer).capitalize())), "No rung of its own; these checks look at it.", *more[1:]]
    return "\n\n".join(parts) + "\n"


def _what_breaks(known: Knowledge, layer: str, stack: str) -> list[str]:
    checks = known.breaking(layer, stack)
    return ["What breaks it:", checks_list(checks)] if checks else []
