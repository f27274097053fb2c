"""What every verb shares: its options, how it prints, and how it refuses bad input."""

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click
import msgspec
import yaml

from maitred.model.manifest import InputError
from maitred.model.words import printable

if TYPE_CHECKING:
    from rich.text import Text

FAILED = 1
BAD_INPUT = 2

P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def inputs(function: F) -> F:
    """`-f a -f b`, and also `-f *.yaml`, which the shell turns into one option and many arguments."""
    more = click.argument("more", nargs=-1, metavar="")
    files = click.option(
        "-f",
        "--filename",
        "files",
        multiple=True,
        required=True,
        metavar="FILE|DIR|-",
        help="File or directory of manifests in YAML or JSON; - is standard input. May be repeated.",
    )
    return files(more(function))


def output(*forms: str) -> Callable[[F], F]:
    """The form of the output; the first is the default."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help="Output format.",
    )


policy_file = click.option("--policy", metavar="FILE", help="Policy file.  [default: the built-in defaults]")
kubeconfig = click.option(
    "--kubeconfig", metavar="FILE", help="Kubeconfig file.  [default: the one that kubectl uses]"
)
context = click.option(
    "--context", metavar="NAME", help="Context in the kubeconfig.  [default: the current context]"
)
scheduler_name = click.option(
    "--scheduler",
    metavar="NAME",
    help="Consider only groups whose pods name this scheduler.  [default: all groups]",
)


def refuses_bad_input(function: Callable[P, None]) -> Callable[P, None]:
    """Bad input ends the command with a line that says where it is, and status 2."""

    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except InputError as error:
            click.echo(printable(str(error)), err=True)
            sys.exit(BAD_INPUT)

    return guarded


def end_in_words(error: BaseException, *helpless: type[BaseException]) -> None:
    """One line for what a person can help; anything else is a defect, and its trace is shown."""
    from maitred.kube.errors import ConfigError, KubeError, first_of

    error = first_of(error)
    if isinstance(error, (InputError, KubeError, OSError, *helpless)):
        click.echo(printable(str(error)), err=True)
        sys.exit(BAD_INPUT if isinstance(error, InputError | ConfigError) else FAILED)


def warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        click.echo(printable(f"warning: {warning}"), err=True)


class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Values that are equal are written out each time, not as references to the first."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def write_data(value: Any, form: str) -> None:
    """A struct, or plain values, as JSON or YAML."""
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))
    else:
        plain = msgspec.to_builtins(value)
        click.echo(yaml.dump(plain, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100), nl=False)


def write_lines(lines: Callable[[int | None], Iterator["Text"]]) -> None:
    """Lines for people: within the width of a terminal; in a pipe as long as they are, without colours.

    Whatever names are in them, nothing that would move the cursor is written.
    """
    if not sys.stdout.isatty():
        click.echo("\n".join(printable(line.plain) for line in lines(None)))
        return
    from rich.console import Console

    console = Console(highlight=False)
    for line in lines(console.width):
        console.print(line, soft_wrap=True)


def show(value: T, form: str, lines: Callable[[T, int | None], Iterator["Text"]]) -> None:
    """Lines for people, or the value as JSON or YAML."""
    if form == "table":
        write_lines(lambda width: lines(value, width))
    else:
        write_data(value, form)
