"""`maitred plan`: the answer before submission. Nothing is created."""

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click
import msgspec

from maitred.cli import output
from maitred.cli.asking import C, ClusterOptions, Question, ask, cluster_options_with_dump
from maitred.cli.decide import moment
from maitred.cli.files import sources
from maitred.cli.judging import judge_manifests
from maitred.cli.operators import look, not_installed
from maitred.explain.proposal.answer import Outcome, Proposals
from maitred.explain.proposal.expansion import members_of, runtimes_of
from maitred.explain.proposal.supposition import DEVICES, Supposition, WantedDevices, gang_objects
from maitred.explain.proposal.workloads import MOST_PODS
from maitred.model.devices.claims import MOST_DEVICES
from maitred.model.duration import FORM, milliseconds
from maitred.model.manifest import Document, InputError, documents
from maitred.model.manifest.checks import name_problem, quantity_problem
from maitred.model.owners import OwnerKind, owner_kind
from maitred.model.pod import Resources
from maitred.model.quantity import CPU, MEMORY

if TYPE_CHECKING:
    from maitred.explain.situation import Situation

STATUS: dict[Outcome, int] = {"fits": 0, "preempts": 3, "waits": 4, "never": 5}
GANG_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--gang",
        type=click.IntRange(1, MOST_PODS),
        metavar="N",
        help="Describe a gang of N members instead of giving -f.",
    ),
    click.option("--gpus", type=click.IntRange(1), metavar="N", help="Devices for each member."),
    click.option(
        "--device-class",
        metavar="NAME",
        help="Give each member a resource claim for devices of this DeviceClass.",
    ),
    click.option(
        "--count",
        type=click.IntRange(1, MOST_DEVICES),
        metavar="N",
        help="Devices of the --device-class for each member.  [default: 1]",
    ),
    click.option("--cpu", metavar="QUANTITY", help="CPU for each member."),
    click.option("--memory", metavar="QUANTITY", help="Memory for each member."),
    click.option("--model", metavar="TEXT", help="Use only devices with this in the name of their model."),
    click.option(
        "--within",
        metavar="LEVEL",
        help="Place all members in one domain of this topology level or node label.",
    ),
    click.option("--priority", metavar="CLASS", help="PriorityClass of the gang."),
    click.option(
        "--min-count", type=click.IntRange(1), metavar="N", help="Let the gang start with N of its members."
    ),
    click.option("--run-time", metavar="DURATION", help="How long the gang would run."),
)


@dataclass(frozen=True)
class Gang:
    """A gang as it is described by options."""

    gang: int | None = None
    gpus: int | None = None
    device_class: str | None = None
    count: int | None = None
    cpu: str | None = None
    memory: str | None = None
    model: str | None = None
    within: str | None = None
    priority: str | None = None
    min_count: int | None = None
    run_time: str | None = None

    @property
    def given(self) -> list[str]:
        said = [one.name for one in fields(Gang) if getattr(self, one.name) is not None]
        return [f"--{name.replace('_', '-')}" for name in said]

    def supposition(self, namespace: str) -> Supposition:
        members, quorum = self.gang or 1, self.min_count or self.gang or 1
        if quorum > members:
            raise InputError("--min-count", "", "", f"{quorum} is more than the {members} members of --gang")
        if self.run_time is not None and not milliseconds(self.run_time):
            raise InputError("--run-time", "", "", f"{self.run_time!r} is not {FORM}, and longer than 0")
        if self.priority is not None and (problem := name_problem(self.priority)):
            raise InputError("--priority", "", "", problem)
        objects = gang_objects(
            "gang",
            namespace,
            members,
            quorum,
            self._requests(),
            self.priority or "",
            self.run_time,
            self._devices(),
        )
        return Supposition(objects, self.model or "", self.within or "", tuple(self.given))

    def _devices(self) -> WantedDevices | None:
        if self.device_class is None:
            if self.count is not None:
                raise InputError("--count", "", "", "needs --device-class: the DeviceClass of the devices")
            return None
        if problem := name_problem(self.device_class):
            raise InputError("--device-class", "", "", problem)
        return WantedDevices(self.device_class, self.count or 1)

    def _requests(self) -> Resources:
        asked = {DEVICES: self.gpus, CPU: self.cpu, MEMORY: self.memory}
        requests: Resources = {name: quantity for name, quantity in asked.items() if quantity is not None}
        for name, quantity in requests.items():
            if problem := quantity_problem(name, quantity):
                option = f"--{name}" if name != DEVICES else "--gpus"
                raise InputError(option, "", "", problem)
        return requests


def gang_options(function: C) -> C:
    """Options that describe a gang; the command gets all of them as `gang`."""

    @functools.wraps(function)
    def command(**values: Any) -> None:
        gang = Gang(**{one.name: values.pop(one.name) for one in fields(Gang)})
        function(gang=gang, **values)

    for option in reversed(GANG_OPTIONS):
        command = option(command)
    return command  # type: ignore[return-value]  # click hands it all of the options, by name


@click.command()
@click.option(
    "-f",
    "--filename",
    "manifests",
    multiple=True,
    metavar="FILE|DIR|-",
    help="Manifests of what you would submit. May be repeated.",
)
@click.argument("more", nargs=-1, metavar="")
@gang_options
@cluster_options_with_dump("--on")
@output.output("table", "json", "yaml")
@output.refuses_bad_input
def command(
    gang: Gang, manifests: tuple[str, ...], more: tuple[str, ...], form: str, cluster: ClusterOptions
) -> None:
    """Say what would happen to a job if you submitted it now. Nothing is created.

    The files hold what you would apply: Jobs, JobSets, TrainJobs, RayClusters, LeaderWorkerSets, training
    jobs, Deployments, PodGroups, pods. Or describe a gang by options. The cluster is the one that kubectl
    talks to, or the dump that --on names.

    \b
    Exit status:
      0 it fits now   3 it fits after other pods leave   4 it waits   5 it can never run

    \b
    Examples:
      maitred plan -f examples/planning/finetune.yaml --on examples/planning/cluster.yaml
      maitred plan --gang 3 --gpus 8 --model H100 --within rack --on examples/planning/cluster.yaml
      maitred plan --gang 2 --device-class gpu --count 2 --on examples/devices/cluster.yaml
    """
    notes: list[str] = []
    if manifests:
        supposition, notes = from_files((*manifests, *more), gang, cluster)
    elif gang.given:
        supposition = gang.supposition(cluster.home)
    else:
        raise InputError(
            "-f", "", "", "is required: give manifests, or describe a gang, such as --gang 64 --gpus 8"
        )
    answer = asked(supposition, cluster, ", ".join((*manifests, *more)))
    answer = msgspec.structs.replace(answer, warnings=(*notes, *answer.warnings))
    show(answer, form)
    sys.exit(STATUS[answer.outcome])


def from_files(paths: tuple[str, ...], gang: Gang, cluster: ClusterOptions) -> tuple[Supposition, list[str]]:
    if gang.given:
        raise InputError(
            "-f",
            "",
            "",
            f"cannot be used with {', '.join(gang.given)}: the manifests say that; leave those options out",
        )
    namespace = cluster.home
    given = [one for source, data in sources(paths) for one in documents(data, source)]
    looked = look(cluster, kinds_of(given), runtimes_of(given, namespace))
    found = members_of(given, namespace, looked.runtimes)
    found.notes[:0] = judge_manifests(given, namespace)
    found.notes += [
        f"{not_installed(kind)}; this answer is for a cluster that has it" for kind in looked.unserved
    ]
    supposition = Supposition(tuple(found.objects))
    if not supposition.pods:
        raise InputError(", ".join(paths), "", "", "; ".join(found.notes) or "no object in it creates pods")
    return supposition, found.notes


def kinds_of(given: Iterable[Document]) -> Iterator[OwnerKind]:
    for document in given:
        if (kind := owner_kind(document.api_version, document.kind)) is not None:
            yield kind


def asked(supposition: Supposition, cluster: ClusterOptions, files: str) -> Proposals:
    def here(situation: "Situation") -> Proposals:
        # The engine brings numpy along, which bad input need not wait for.
        from maitred.explain.proposal.propose import proposals

        return proposals(situation, supposition)

    stand_ins = supposition.stand_ins(moment(cluster.now), cluster.scheduler)
    query = {"namespaces": ",".join(supposition.namespaces)}
    question = Question("plan", Proposals, here, query, supposition.body(), stand_ins)
    try:
        return ask(question, cluster)
    except InputError as error:  # what is asked travels without the names of its files
        raise InputError(error.source or files, error.object, error.field, error.what) from None


def show(answer: Proposals, form: str) -> None:
    if form != "table":
        output.write_data(answer, form)
        return
    from maitred.explain.proposal.tables import proposal_lines

    output.warn(answer.warnings)
    output.write_lines(lambda width: proposal_lines(answer, width))
