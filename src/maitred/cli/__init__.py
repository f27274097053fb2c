"""The command line: one module per verb, imported only when it is used, so that help comes at once."""

import errno
import os
import sys
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper

import click

from maitred import __version__
from maitred.cli.groups import CommandGroup

VERBS = {
    "up": "Start a sandbox with the scheduler on it: a cluster in one command.",
    "why": "Explain one group: why it waits and what would help, or how far it has started.",
    "plan": "Say before you submit a job whether it fits now, when it would start, and what it would "
    "preempt.",
    "capacity": "Say how large a gang could start, what blocks the waiting groups, and why devices are idle.",
    "queues": "Show what each queue may have, uses, has borrowed and lent, and what waits for it.",
    "health": "Say which nodes and devices are unwell, which groups that hurts, and whose fault it is.",
    "drain": "Empty nodes for maintenance: show who moves when, where to and at what cost, then ask.",
    "defrag": "Show which moves would let groups start that wait for scattered room, or ask for them.",
    "override": "Lift a group past its queue's turn and limits, for a time, with a reason.",
    "reserve": "Keep nodes for a queue, a namespace or a group, for a time, once or every week.",
    "audit": "Find gangs that run in part, and what they cost, on any cluster. Reads only.",
    "bill": "Say who used the devices in a month, for what, and at what cost.",
    "import": "Check which settings for other schedulers are honoured, approximated or ignored.",
    "decide": "Read manifests and decide: which group is placed where, and what the others wait for.",
    "verify": "Check a Plan, or the bindings of a cluster, against the rules of scheduling.",
    "topology": "Show topology levels and domains, what is free in each, and which node labels are wrong.",
    "record": "Record what a scheduler sees and decides, for a bug report or a replay.",
    "replay": "Decide a record again: check that the result is the same, or try another policy.",
    "simulate": "Run a scenario over days of virtual time, under several policies side by side.",
    "policy": "Check a policy file.",
    "scheduler": "Run the scheduler for the pods that name it, or only watch, as a shadow.",
    "sandbox": "Fail, heal, drain and add nodes of the sandbox, and play stories on it.",
    "manifest": "Print the Kubernetes objects that install the scheduler in a cluster.",
    "completion": "Print the shell script that completes commands and options.",
}
"""Verb -> its help in one line. The module of the same name has it as `command`."""
MODULES = {"import": "importing"}
"""Verbs that are words of Python, and what their modules are called."""

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
"""No defect of ours, wherever it comes up."""


class Verbs(CommandGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command = import_module(f"maitred.cli.{MODULES.get(cmd_name, cmd_name)}").command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """A gang scheduler for Kubernetes: it starts a whole group of pods, or says what the group waits for."""


def kubectl_plugin() -> None:
    """As `kubectl maitred`: kubectl runs whatever program has this name behind `kubectl-`."""
    main("kubectl maitred")


def main(program: str = "maitred") -> None:
    # Read when numpy is imported. A thread for each core would wait at full load between our small products.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if isinstance(sys.stdout, TextIOWrapper):
        # A label in a script that the terminal cannot show is no reason to fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        cli(prog_name=program)
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        with suppress(OSError):
            sys.stdout.close()  # Or what is left of the output would be written, and fail, once more.
        click.echo(f"{error.filename or 'the output'}: {error.strerror}", err=True)
        sys.exit(1)
