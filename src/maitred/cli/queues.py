"""`maitred queues`: what each queue may have, has, has borrowed and has lent, and what waits for it."""

from typing import TYPE_CHECKING

import click
import msgspec

from maitred.cli import output
from maitred.cli.asking import ClusterOptions, Question, ask, cluster_options
from maitred.cli.watching import watch
from maitred.model.manifest import InputError

if TYPE_CHECKING:
    from maitred.explain.queues.answer import Queues
    from maitred.explain.situation import Situation


@click.command()
@cluster_options
@click.option(
    "-w", "--watch", "watched", is_flag=True, help="Ask again every five seconds, until you press Ctrl-C."
)
@output.output("table", "json", "yaml")
@output.refuses_bad_input
def command(cluster: ClusterOptions, watched: bool, form: str) -> None:
    """Show the queues of the policy as a tree: guarantee, cap, use, what is borrowed and lent, what waits.

    Users who may not list all pods see the queues that their namespaces may use, and those above them.
    Nothing is changed.

    \b
    Examples:
      maitred queues
      maitred queues --watch
      maitred queues -f examples/queues/cluster.yaml --policy examples/queues/policy.yaml
    """
    # The engine brings numpy along, which bad input need not wait for.
    from maitred.explain.queues.answer import Queues
    from maitred.explain.queues.tables import queue_lines

    question = Question("queues", Queues, _queues)

    def show(found: Queues) -> None:
        output.show(found, form, queue_lines)

    if not watched:
        show(ask(question, cluster))
        return
    if cluster.files:
        raise InputError(
            "--watch", "", "", "cannot be used with -f: only a cluster can be watched, not a file"
        )
    lines = queue_lines if form == "table" else None
    watch(lambda: ask(question, cluster), lines, show, lambda found: msgspec.structs.replace(found, at=""))


def _queues(situation: "Situation") -> "Queues":
    from maitred.explain.queues.survey import queues

    return queues(situation)
