"""`maitred policy check`: is this policy valid, and what does it put in force?"""

import click

from maitred.cli import output
from maitred.cli.files import read_policy_file
from maitred.cli.groups import CommandGroup


@click.group(cls=CommandGroup)
def command() -> None:
    """Work with policy files."""


@command.command()
@click.argument("file")
@output.output("yaml", "json")
@output.refuses_bad_input
def check(file: str, form: str) -> None:
    """Validate the policy in FILE (- is standard input) and print what is in force, defaults included.

    \b
    Example:
      maitred policy check examples/policies/datacenter.yaml
    """
    policy, _ = read_policy_file(file)
    output.write_data(policy, form)
