"""`maitred capacity`: whether the next gang can be placed, what is in the way, and why devices are idle."""

from typing import TYPE_CHECKING

import click

from maitred.cli import output
from maitred.cli.asking import ClusterOptions, Question, ask, cluster_options

if TYPE_CHECKING:
    from maitred.explain.capacity.document import Capacity
    from maitred.explain.situation import Situation

LARGEST_GANG = 1_000_000


@click.command()
@cluster_options
@click.option(
    "--gang",
    type=click.IntRange(1, LARGEST_GANG),
    metavar="N",
    help="Say for each shape whether a gang of N members could be placed.",
)
@click.option("--queue", metavar="NAME", help="Of all queues, show only this one.")
@output.output("table", "json", "yaml")
@output.refuses_bad_input
def command(cluster: ClusterOptions, gang: int | None, queue: str | None, form: str) -> None:
    """Answer seven questions about the capacity of a cluster. Nothing is changed.

    Can the next gang be placed, and how large may it be? Which groups does fragmentation block, and what
    would one move free? How much do incomplete groups hold? Should small groups go first while a large
    one waits? When is preemption worth it? Which topology constraints cause waiting? Why are devices idle?
    With queues also: what may each queue still start?

    \b
    Examples:
      maitred capacity
      maitred capacity -f examples/capacity --policy examples/policies/datacenter.yaml
      maitred capacity -f examples/capacity --gang 4
    """
    # The engine brings numpy along, which bad input need not wait for.
    from maitred.explain.capacity.asked import asked_about, of_queue
    from maitred.explain.capacity.document import Capacity
    from maitred.explain.capacity.tables import capacity_lines

    found = ask(Question("capacity", Capacity, _capacity), cluster)
    if gang is not None:
        found = asked_about(found, gang)
    if queue is not None:
        found = of_queue(found, queue)
    output.show(found, form, capacity_lines)


def _capacity(situation: "Situation") -> "Capacity":
    from maitred.explain.capacity.capacity import capacity

    return capacity(situation)
