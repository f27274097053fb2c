"""`maitred why`: why a group waits or how far it has got, who comes first, why a pod had to leave."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from maitred.cli import output
from maitred.cli.asking import ClusterOptions, Question, ask, cluster_options
from maitred.model.manifest import InputError

if TYPE_CHECKING:
    from rich.text import Text

    from maitred.explain.situation import Situation
    from maitred.explain.why.answer import Comparison, EvictionAnswer, Kind, Why

LONGEST_NAME = 400
SEATED, PREEMPTS, WAITS, NEVER, BROKEN, UNATTENDED = 0, 3, 4, 5, 6, 7
"""Exit statuses. Those that `plan` has too mean the same there."""


@click.command()
@click.argument("name", required=False, metavar="[KIND/]NAME")
@click.option(
    "--rather-than",
    "other",
    metavar="[KIND/]NAME",
    help="Compare with this other group, rule by rule: which goes first, and why.",
)
@click.option("--evicted", "pod", metavar="POD", help="Explain instead why this pod was or will be evicted.")
@cluster_options
@output.output("table", "json", "yaml")
@output.refuses_bad_input
def command(cluster: ClusterOptions, name: str | None, other: str | None, pod: str | None, form: str) -> None:
    """Explain one group: why it waits and what would help, or how far it has started.

    NAME is the name of a group, of a pod, or of an object that creates pods. Add a namespace, as in
    team-a/train; or a kind, as kubectl writes it: job/train, deploy/web, pytorchjobs.kubeflow.org/train; or
    both: job/team-a/train.

    \b
    Exit status:
      0 the group is placed, or has finished   3 other pods must leave first
      4 the group waits or is suspended        5 it can never start as it is written
      6 it has failed or is broken             7 it fits, but its scheduler does not run

    \b
    Examples:
      maitred why team-a/train
      maitred why job/train -n team-a
      maitred why pretrain -f examples/rack-bound
      maitred why pretrain --rather-than vision -f examples/rack-bound
      maitred why --evicted batch-0 -f examples/preemption/one-node.yaml
    """
    from maitred.explain.why import tables  # Whoever needs help need not wait for these.

    if pod is not None:
        if name is not None or other is not None:
            raise InputError("--evicted", "", "", "takes exactly one name, that of a pod")
        evictions = ask(about_eviction(pod, cluster.home), cluster)
        show(evictions, form, lambda width: tables.eviction_lines(evictions, width))
        return
    if name is None:
        what = "name a group, a pod, a Job or another object that creates pods"
        raise InputError("", "", "", f"{what}; `maitred decide -f FILE` lists the groups of a dump")
    if other is not None:
        compared = ask(about_two(name, other, cluster.home), cluster)
        show(compared, form, lambda width: tables.comparison_lines(compared, width))
        return
    answer = ask_about(name, cluster)
    show(answer, form, lambda width: tables.why_lines(answer, width))
    sys.exit(status_of(answer))


def ask_about(name: str, cluster: ClusterOptions) -> "Why":
    """An object of a kind that the cluster does not have is not only unknown: nothing can come of it."""
    from maitred.cli.operators import look, not_installed
    from maitred.model.owners import BY_NAME

    try:
        return ask(about_one(name, cluster.home), cluster)
    except InputError:
        kind = BY_NAME.get(named(name, cluster.home).kind or "")
        if kind is None or not look(cluster, [kind], ()).unserved:
            raise
    raise InputError("", "", "", not_installed(kind))


def status_of(answer: "Why") -> int:
    """What `plan` would exit with, of a group that is decided; of the others, how they ended."""
    match answer.state, answer.verdict:
        case "Finished", _:
            return SEATED
        case ("Failed", _) | ("Starting" | "Running", None):
            return BROKEN
        case "Unattended", _:
            return UNATTENDED
        case _, "Scheduled":
            return SEATED
        case _, "Preempting":
            return PREEMPTS
        case _, "Impossible" | "Invalid":
            return NEVER
    return WAITS


def show(answer: object, form: str, lines: "Callable[[int | None], Iterator[Text]]") -> None:
    if form == "table":
        output.write_lines(lines)
    else:
        output.write_data(answer, form)


@dataclass(frozen=True)
class NamedSubject:
    """What somebody asks about."""

    namespace: str
    name: str
    kind: "Kind | None"

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def query(self) -> dict[str, str]:
        return {"kind": self.kind} if self.kind else {}


def named(text: str, home: str) -> NamedSubject:
    """`train`, `team-a/train`, `job/train` or `job/team-a/train`."""
    from maitred.explain.why.answer import KINDS, kind_called

    first, _, rest = text.partition("/")
    kind = kind_called(first) if rest else None
    space, _, name = (rest if kind else text).rpartition("/")
    if len(text) > LONGEST_NAME or not name or text.startswith("/") or text.count("/") > 2:
        shown = text[:60]
        raise InputError("", "", "", f"{shown!r} is not of the form NAME, NAMESPACE/NAME or KIND/NAME")
    if "/" in space:
        what = f"{first[:60]!r} is not a known kind; known kinds are: {', '.join(KINDS)}"
        raise InputError("", "", "", what)
    return NamedSubject(space or home, name, kind)


def about_one(text: str, home: str) -> "Question[Why]":
    from maitred.cli.pod_lookup import PodLookup
    from maitred.explain.why.answer import Why

    asked = named(text, home)
    lookup = PodLookup(asked.namespace)

    def here(situation: "Situation") -> Why:
        from maitred.explain.why.why import why_named

        return why_named(situation, asked.key, home, asked.kind, lookup.seen)

    return Question(f"why/{asked.key}", Why, here, asked.query, lookup=lookup)


def about_two(text: str, other: str, home: str) -> "Question[Comparison]":
    from maitred.cli.pod_lookup import PodLookup
    from maitred.explain.why.answer import Comparison

    one, two = named(text, home), named(other, home)
    lookup = PodLookup(one.namespace, two.namespace)

    def here(situation: "Situation") -> Comparison:
        from maitred.explain.why.comparing import compare
        from maitred.explain.why.names import find

        first, second = (find(situation, asked.key, home, asked.kind, lookup.seen) for asked in (one, two))
        return compare(situation, first, second, lookup.seen)

    query = {**one.query, "ratherThan": two.key, **({"ratherThanKind": two.kind} if two.kind else {})}
    return Question(f"why/{one.key}", Comparison, here, query, lookup=lookup)


def about_eviction(text: str, home: str) -> "Question[EvictionAnswer]":
    from maitred.explain.why.answer import EvictionAnswer

    pod = named(text, home)
    if pod.kind not in (None, "pod"):
        raise InputError("--evicted", "", "", f"{text[:60]!r} is not the name of a pod")

    def here(situation: "Situation") -> EvictionAnswer:
        from maitred.explain.why.evicted import receipt

        return receipt(situation, pod.key, home)

    return Question(f"evictions/{pod.key}", EvictionAnswer, here)
