"""`maitred health`: which nodes and devices are unwell, which groups that hurts, and whose fault it is."""

import sys
from typing import TYPE_CHECKING

import click

from maitred.cli import output
from maitred.cli.asking import ClusterOptions, Question, ask, cluster_options
from maitred.model.manifest import InputError

if TYPE_CHECKING:
    from maitred.explain.health.answer import FleetHealth
    from maitred.explain.situation import Situation

LONGEST_NAME = 400
UNWELL = 6
"""The exit status of `why` for what has failed or is broken."""


@click.command()
@click.argument("name", required=False, metavar="[NODE|GROUP]")
@cluster_options
@output.output("table", "json", "yaml")
@output.refuses_bad_input
def command(cluster: ClusterOptions, name: str | None, form: str) -> None:
    """Say which nodes and devices are unwell, since when and on what evidence; and which groups that hurts.

    Each fault is put into a family: infrastructure, device, own code (what runs in the container),
    degradation (one member is slow) or notice (the node will go). Nothing is changed.

    NODE is the name of a node; GROUP is the name of a group, a pod or a workload, as in team-a/train.

    \b
    Exit status:
      0 all nodes and groups were looked at, or the named one is well
      6 the named node is unwell or leaving, or the named group is hurt

    \b
    Examples:
      maitred health
      maitred health r3-n02
      maitred health team-a/train -f examples/health --now 2026-01-31T12:00:00Z
    """
    from maitred.explain.health.tables import health_lines  # Whoever needs help need not wait for these.

    if name is not None and not 0 < len(name) <= LONGEST_NAME:
        raise InputError("", "", "", f"{name[:60]!r} is not the name of a node or group")
    found = ask(question(name, cluster), cluster)
    output.show(found, form, health_lines)
    if is_unwell(found):
        sys.exit(UNWELL)


def is_unwell(found: "FleetHealth") -> bool:
    """Of the one that was asked about."""
    kind = found.about.partition(" ")[0]
    return bool(found.unwell) if kind == "node" else kind == "group" and bool(found.hurt)


def question(name: str | None, cluster: ClusterOptions) -> "Question[FleetHealth]":
    from maitred.cli.fleet_lookup import FleetLookup
    from maitred.explain.health.answer import FleetHealth

    lookup = FleetLookup()

    def here(situation: "Situation") -> FleetHealth:
        from maitred.explain.health.naming import about
        from maitred.explain.health.survey import health

        found = health(situation, lookup.seen)
        return found if name is None else about(found, situation, name, cluster.home)

    query = {} if name is None else {"name": name, "home": cluster.home}
    return Question("health", FleetHealth, here, query, lookup=lookup)
