"""gpudoctor completion: the completion script that click generates for a shell."""

from __future__ import annotations

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a shell completion script. Save it where the shell looks for it:

    \b
    bash  ~/.local/share/bash-completion/completions/gpudoctor
    zsh   _gpudoctor in a folder of $fpath
    fish  ~/.config/fish/completions/gpudoctor.fish
    """
    from click.shell_completion import get_completion_class

    from gpudoctor.cli import group

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(group, {}, "gpudoctor", "_GPUDOCTOR_COMPLETE").source())
