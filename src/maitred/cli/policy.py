"""`maitred policy check`: is this policy valid, what does it put in force, and does it suit a cluster?"""

from collections.abc import Iterable
from typing import Any

import click
import msgspec

from maitred.cli import output
from maitred.cli.files import read_objects, read_policy_file
from maitred.cli.groups import CommandGroup
from maitred.model.objects import Object
from maitred.model.policy import Policy


@click.group(cls=CommandGroup)
def command() -> None:
    """Work with policy files."""


@command.command()
@click.argument("file")
@click.argument("more", nargs=-1, metavar="")
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE|DIR|-",
    help="Nodes and namespaces of the cluster that the policy is for. May be repeated.  [default: none]",
)
@output.output("yaml", "json")
@output.refuses_bad_input
def check(file: str, more: tuple[str, ...], files: tuple[str, ...], form: str) -> None:
    """Validate the policy in FILE (- is standard input) and print what is in force, defaults included.

    With the objects of a cluster, warnings say what of the policy does not suit it: guarantees that are more
    than the nodes have, caps that never bind, queues that nobody can use.

    \b
    Examples:
      maitred policy check examples/policies/datacenter.yaml
      maitred policy check examples/queues/policy.yaml -f examples/queues/cluster.yaml
    """
    policy, _ = read_policy_file(file)
    if more and not files:
        raise click.UsageError(f"Got unexpected extra argument ({more[0]})")
    if not files:
        output.write_data(policy, form)
        return
    reader = read_objects((*files, *more))
    warnings = (*reader.warnings(), *findings(policy, reader.objects))
    if form == "json":
        plain: dict[str, Any] = msgspec.to_builtins(policy)
        output.write_data({**plain, "warnings": warnings}, form)
    else:
        output.warn(warnings)
        output.write_data(policy, form)


def findings(policy: Policy, objects: Iterable[Object]) -> tuple[str, ...]:
    # The engine brings numpy along, which bad input need not wait for.
    from maitred.cluster.state import ClusterState, Put
    from maitred.explain.policy_findings import policy_findings

    state = ClusterState(workloads=policy.workloads)
    for item in objects:
        state.apply(Put(item))
    return policy_findings(policy, state.snapshot())
