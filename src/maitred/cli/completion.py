"""`maitred completion`: the script by which a shell completes verbs, options and files."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_MAITRED_COMPLETE"
"""In the environment of the command when the shell asks it what could come next."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the shell script that completes commands and options.

    \b
    Add the line for your shell to its start-up file, and open a new terminal:
      bash, in ~/.bashrc:                   eval "$(maitred completion bash)"
      zsh, in ~/.zshrc, after compinit:     eval "$(maitred completion zsh)"
      fish, in ~/.config/fish/config.fish:  maitred completion fish | source
    """
    from maitred.cli import cli

    made = get_completion_class(shell)
    assert made is not None, "click knows these shells"
    script = made(cli, {}, "maitred", VARIABLE)
    click.echo(script.source_template % script.source_vars())
