"""`maitred why` from files: what it prints, how names are given, and how it refuses."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from maitred.cli import cli
from tests.oracle import builders as b
from tests.support import NOON, Obj

CREW = [
    *(b.node(f"n{i}", gpu=8, rack=f"r{i // 2}") for i in range(4)),
    b.pod_group("crew", 2, "rack", created=0),
    *b.pods("crew", 2, gpu=8, group="crew", created=0, owner="Job/crew-job"),
    b.pod("alone", gpu=1, node="n0", namespace="team-a"),
    b.pod("other", gpu=3, node="n2", namespace="team-a"),
    {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "crew-job", "namespace": "default"}},
]


def run(*arguments: str, objects: list[Obj] | None = None) -> Result:
    dump = json.dumps({"apiVersion": "v1", "kind": "List", "items": CREW if objects is None else objects})
    return CliRunner().invoke(cli, ["why", *arguments, "-f", "-", "--now", NOON], input=dump)


def answer(*arguments: str, objects: list[Obj] | None = None) -> Any:
    result = run(*arguments, "-o", "json", objects=objects)
    assert result.stdout, result.stderr
    return json.loads(result.stdout)


def test_the_first_line_says_it() -> None:
    result = run("crew")
    assert result.exit_code == 4
    first = result.stdout.splitlines()[0]
    assert first == (
        "default/crew waits: it needs room for 1 more member in one rack; the best is r0 "
        "with room for 1 of 2, where n0 lacks 1 nvidia.com/gpu."
    )
    assert "\x1b" not in result.stdout


def phased(phase: str) -> Obj:
    pod = b.pod("p", gpu=1, node="n0")
    pod["status"] = {"phase": phase}
    return pod


BROKEN_GROUP = [b.pod_group("g", 2), b.pod("p", gpu=1, node="n0", group="g")]
INVALID_GROUP = [b.pod_group("g", 2), *(b.pod(name, group="g", priority=n) for n, name in enumerate("pq"))]
SUSPENDED_JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "p", "namespace": "default", "uid": "1"},
    "spec": {"suspend": True},
}


@pytest.mark.parametrize(
    ("objects", "status"),
    [
        pytest.param([b.pod("p", gpu=1)], 0, id="fits now"),
        pytest.param([b.pod("p", gpu=1, node="n0")], 0, id="runs"),
        pytest.param([phased("Succeeded")], 0, id="finished"),
        pytest.param(
            [b.pod("low", gpu=8, node="n0", priority=0), b.pod("p", gpu=8, priority=1)], 3, id="preempts"
        ),
        pytest.param([b.pod("all", gpu=8, node="n0"), b.pod("p", gpu=1)], 4, id="waits"),
        pytest.param([SUSPENDED_JOB], 4, id="suspended"),
        pytest.param([b.pod_group("p", 2)], 4, id="no pods yet"),
        pytest.param([b.pod("p", gpu=9)], 5, id="impossible"),
        pytest.param(INVALID_GROUP, 5, id="invalid"),
        pytest.param([phased("Failed")], 6, id="failed"),
        pytest.param(BROKEN_GROUP, 6, id="broken"),
    ],
)
def test_the_exit_status_says_how_it_stands(objects: list[Obj], status: int) -> None:
    result = run("p", objects=[b.node("n0", gpu=8), *objects])
    assert result.exit_code == status, result.output


def test_what_another_scheduler_decides_waits_as_far_as_the_exit_status_says() -> None:
    assert run("crew", "--scheduler", "maitred").exit_code == 4
    assert answer("crew", "--scheduler", "maitred")["state"] == "Elsewhere"


def test_a_comparison_or_a_receipt_that_could_be_given_exits_with_0() -> None:
    assert run("crew", "--rather-than", "team-a/alone").exit_code == 0
    assert run("--evicted", "team-a/alone").exit_code == 0


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("crew", "default/crew"),
        ("default/crew", "default/crew"),
        ("podgroup/crew", "default/crew"),
        ("crew-1", "default/crew"),
        ("pod/default/crew-1", "default/crew"),
        ("job/crew-job", "default/crew"),
        ("team-a/alone", "team-a/alone"),
    ],
)
def test_names(name: str, group: str) -> None:
    assert answer(name)["group"] == group


def test_the_namespace_of_names_without_one() -> None:
    assert answer("alone", "-n", "team-a")["group"] == "team-a/alone"


def test_events_and_statuses_of_the_dump_are_read() -> None:
    pod = b.pod("alone", gpu=1, node="n0")
    pod["status"] = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}
    pull = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "alone"},
        "reason": "Pulling",
        "message": 'Pulling image "big:1"',
        "lastTimestamp": "2026-01-31T11:58:00Z",
        "source": None,
    }
    result = run("alone", objects=[b.node("n0", gpu=8), pod, pull])
    assert result.stdout.startswith(
        "default/alone is starting on n0: 0 of 1 Ready; n0 pulling big:1 for 2 min."
    )
    assert result.stderr == ""


def test_one_rather_than_another() -> None:
    shown = run("crew", "--rather-than", "team-a/alone").stdout
    assert shown.startswith("team-a/alone comes before default/crew: it runs already; ")
    compared = answer("crew", "--rather-than", "team-a/alone")
    assert (compared["kind"], compared["points"][0]["rule"]) == ("Comparison", "runs already")


def test_why_a_pod_has_to_leave() -> None:
    low = b.pod("low", gpu=8, node="n0", priority=0)
    high = b.pod("high", gpu=8, priority=10)
    objects = [b.node("n0", gpu=8), low, high]
    shown = run("--evicted", "low", objects=objects).stdout
    assert shown.startswith("default/low is to be evicted for default/high (priority 10 > 0)")
    assert (
        answer("--evicted", "pod/low", objects=objects)["evictions"][0]["eviction"]["for"] == "default/high"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name a group, a pod, a Job or another object that creates pods"),
        (("crow",), "there is no group, pod or workload default/crow; did you mean default/crew"),
        (("job/crow-job",), "there is no Job default/crow-job; did you mean default/crew-job?"),
        (("a/b/c/d",), "'a/b/c/d' is not of the form NAME, NAMESPACE/NAME or KIND/NAME"),
        (("svc/team-a/web",), "'svc' is not a known kind; known kinds are: group, pod, job, "),
        (
            ("svc/web",),
            "nothing here is in namespace svc; write a namespace before the slash, or one of these",
        ),
        (("deploy/web",), "there is no pod of a Deployment default/web"),
        (("crew/",), "is not of the form"),
        (("x" * 500,), "is not of the form"),
        (("crew", "--rather-than", "nobody"), "there is no group, pod or workload default/nobody"),
        (("crew", "--rather-than", "pod/crew-0"), "default/crew cannot be compared with itself"),
        (("crew", "--evicted", "crew-0"), "--evicted: takes exactly one name, that of a pod"),
        (("--evicted", "job/crew-job"), "is not the name of a pod"),
        (("--evicted", "crew-9"), "there is no pod default/crew-9"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], words: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


def test_an_empty_cluster() -> None:
    result = run("crew", objects=[])
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "there is no group, pod or workload default/crew"


def test_a_dump_that_was_cut_off() -> None:
    result = CliRunner().invoke(cli, ["why", "crew", "-f", "-"], input='{"kind": "List", "items": [')
    assert result.exit_code == 2
    assert "cut off" in result.stderr


def test_the_verb_is_listed() -> None:
    assert "\n  why " in CliRunner().invoke(cli, ["--help"]).stdout
