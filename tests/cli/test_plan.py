"""`maitred plan` from end to end: manifests or options in, an answer and its status out."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner, Result

from maitred.cli import cli
from maitred.explain.proposal.answer import Proposals
from tests.cli.judged import ACCEPTED, REFUSED
from tests.oracle import builders as b
from tests.oracle.builders import Obj

NODES = [b.node(f"n{i}", gpu=8, cpu=64, rack=f"r{i // 4}") for i in range(8)]
LOW = [b.pod(f"low-{i}", gpu=8, node=f"n{i}", owner="Job/low") for i in range(2)]
OTHER = [b.pod("other", gpu=8, node="n4")]
CLASSES = [b.priority_class("high", 100)]
CLUSTER = [*NODES, *LOW, *OTHER, *CLASSES]


def job(members: int, gpus: int = 8, **pod: Any) -> Obj:
    marks = b.gang("train", members, b.RACK)
    made = {**b.pod("", gpu=gpus, **pod)["spec"], "restartPolicy": "Never"}
    template = {"metadata": {"annotations": marks}, "spec": made}
    spec = {"parallelism": members, "completions": members, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": spec}


@pytest.fixture
def on(tmp_path: Path) -> list[str]:
    (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": CLUSTER}))
    return ["--on", str(tmp_path / "cluster.json")]


def run(*arguments: str, manifest: Obj | None = None) -> Result:
    text = None if manifest is None else yaml.safe_dump(manifest)
    return CliRunner().invoke(cli, ["plan", *arguments], input=text)


@pytest.mark.parametrize(
    ("manifest", "status", "outcome"),
    [
        (job(3), 0, "fits"),
        (job(4, priority_class="high"), 3, "preempts"),
        (job(4), 4, "waits"),
        (job(5), 5, "never"),
        (job(4, gpus=9), 5, "never"),
    ],
)
def test_the_status_says_what_becomes_of_it(on: list[str], manifest: Obj, status: int, outcome: str) -> None:
    found = run("-f", "-", "-o", "json", *on, manifest=manifest)
    assert found.exit_code == status, found.output
    answer = msgspec.json.decode(found.stdout, type=Proposals)
    assert [proposal.outcome for proposal in answer.proposals] == [answer.outcome] == [outcome]
    assert run("-f", "-", *on, manifest=manifest).exit_code == status


def test_the_answer_comes_first_then_where_then_offers(on: list[str]) -> None:
    shown = run("-f", "-", *on, manifest=job(3)).stdout.splitlines()
    assert shown == [
        "Job default/train fits now: all 3 members on 3 nodes in rack r1.",
        "  Where  n5, n6, n7",
    ]
    waits = run("-f", "-", *on, manifest=job(4)).stdout.splitlines()
    assert waits[0].startswith("Job default/train waits: Topology: ")
    assert "  Offer   now with 3 of 4 members" in waits


def test_a_gang_by_options(on: list[str]) -> None:
    wishes = ["--gang", "3", "--gpus", "8", "--cpu", "4", "--memory", "8Gi", "--run-time", "2h"]
    found = run(*wishes, "--within", "rack", "--min-count", "2", "--priority", "high", *on)
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith("A gang of 3 members fits now: all 3 members on 3 nodes in rack r1.")


def followed(options: dict[str, str], change: str) -> list[str]:
    """The same command with the options that an offer names, and no others, in place of what they were."""
    changed = dict(options)
    if change.startswith("leave out "):
        del changed[change.removeprefix("leave out ")]
    else:
        words = change.split()
        changed |= dict(zip(words[::2], words[1::2], strict=True))
    return [word for pair in changed.items() for word in pair]


@pytest.mark.parametrize(
    ("options", "offers"),
    [
        ({"--gang": "6"}, ["--gang 5", "--gpus 4"]),
        ({"--gang": "6", "--min-count": "6"}, ["--gang 5 --min-count 5", "--gpus 4"]),
        ({"--gang": "8", "--min-count": "7"}, ["--min-count 5", "--gpus 4"]),
        ({"--gang": "7", "--min-count": "6", "--priority": "high"}, ["--min-count 5", "--gpus 4"]),
        (
            {"--gang": "4", "--min-count": "4", "--within": "rack"},
            ["--gang 3 --min-count 3", "leave out --within", "--gpus 4"],
        ),
    ],
)
def test_an_offer_that_is_followed_as_it_is_written_fits(
    on: list[str], options: dict[str, str], offers: list[str]
) -> None:
    asked = {"--gpus": "8", **options}
    found = json.loads(run(*followed(asked, ""), *on, "-o", "json").stdout)
    changes = [offer["change"] for offer in found["proposals"][0]["offers"] if offer["change"]]
    assert changes == offers
    for change in changes:
        taken = run(*followed(asked, change), *on)
        assert taken.exit_code == 0, (change, taken.output)


def test_never_is_told_in_the_numbers_of_its_proof(on: list[str]) -> None:
    """Five nodes are free, and eight are there."""
    told = run("--gang", "9", "--gpus", "8", *on).stdout.splitlines()[0]
    assert told == (
        "A gang of 9 members can never run as it is written, not even on an empty cluster: Capacity: "
        "needs 72 "
        "nvidia.com/gpu for 9 members, 64 free on 8 eligible nodes: 8 of 9 would fit."
    )


def test_yaml_says_the_same_as_json(on: list[str]) -> None:
    first, second = (run("--gpus", "8", *on, "-o", form).stdout for form in ("json", "yaml"))
    assert yaml.safe_load(second) == json.loads(first)


def test_what_to_know_of_the_manifest_is_a_warning(on: list[str]) -> None:
    lone = job(2)
    lone["spec"]["template"]["metadata"] = {}
    found = run("-f", "-", *on, "-n", "team-a", manifest=lone)
    assert found.stderr.startswith(
        "warning: Job team-a/train names no group and is no gang by itself (its spec.completionMode is "
    )
    assert json.loads(run("-f", "-", *on, "-o", "json", manifest=lone).stdout)["warnings"]


# -- what the API server would refuse -----------------------------------------------------------------------


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_api_server_refuses_is_not_planned(what: str, on: list[str]) -> None:
    manifest, field = REFUSED[what]
    found = run("-f", "-", *on, manifest=manifest)
    assert (found.exit_code, found.stdout) == (2, ""), found.output
    title = f"{manifest['kind']} {manifest['metadata'].get('name', '')}"
    assert found.stderr.startswith(f"standard input: {title}: {field}"), found.stderr
    assert len(found.stderr.splitlines()) == 1


@pytest.mark.parametrize("what", ACCEPTED)
def test_what_the_api_server_takes_is_planned(what: str, on: list[str]) -> None:
    assert run("-f", "-", *on, manifest=ACCEPTED[what]).exit_code in (0, 3, 4, 5)


def test_a_field_that_does_not_exist_is_a_warning(on: list[str]) -> None:
    found = run("-f", "-", *on, manifest=ACCEPTED["a field that does not exist"])
    assert (
        'warning: standard input: Job train: unknown field "spec.template.spec.nodeSelectors"'
        in found.stderr.splitlines()
    )


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ([], "-f: is required: give manifests, or describe a gang, such as --gang 64 --gpus 8"),
        (
            ["-f", "-", "--gpus", "8"],
            "-f: cannot be used with --gpus: the manifests say that; leave those options out",
        ),
        (["-f", "missing.yaml"], "missing.yaml: no such file or directory"),
        (["--gang", "2", "--min-count", "3"], "--min-count: 3 is more than the 2 members of --gang"),
        (["--gpus", "1", "--cpu", "4x"], "--cpu: '4x' is not a quantity"),
        (["--gpus", "1", "--run-time", "soon"], "--run-time: 'soon' is not a duration"),
        (
            ["--gpus", "1", "--priority", "hihg"],
            "--priority: no PriorityClass is called 'hihg'; did you mean",
        ),
        (
            ["--gpus", "1", "-n", "UPPER CASE"],
            "--namespace: 'UPPER CASE' is not a valid name for a namespace",
        ),
        (["-f", "-", "-n", "team_a"], "--namespace: 'team_a' is not a valid name for a namespace"),
        (["--gpus", "1", "--priority", "a b"], "--priority: 'a b' is not a name"),
        (
            ["--gpus", "1", "--within", "rakc"],
            "no node label has the name 'rakc'; did you mean rack?",
        ),
        (["--gpus", "1", "--model", "h100"], "--model: no node with devices has 'h100' in a label"),
        (["--gang", "2", "--model", "h100"], "--model: needs --gpus or --device-class: the devices of each"),
        (["--gang", "2", "--count", "2"], "--count: needs --device-class: the DeviceClass of the devices"),
        (["--device-class", "g p u"], "--device-class: 'g p u' is not a name"),
        (["--device-class", "gpu"], "--device-class: no DeviceClass is called 'gpu'; there is none"),
        (["--gpus", "1", "--now", "noon"], "--now: 'noon' is not a time"),
    ],
)
def test_bad_input(on: list[str], arguments: list[str], refusal: str) -> None:
    found = run(*arguments, *on, manifest=job(1))
    assert (found.exit_code, found.stdout) == (2, "")
    assert refusal in found.stderr
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("kind: [", "standard input: line 2, column 1: not valid YAML"),
        ("{}", "standard input: document 1: apiVersion: is required"),
        ("apiVersion: v1\nkind: Service\nmetadata: {name: a}", "-: no object in it creates pods"),
        (yaml.safe_dump(job(0)), "-: Job default/train asks for no pods"),
        (
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}",
            "standard input: Job a: spec.template.spec.containers: is required",
        ),
        (
            yaml.safe_dump(job(1, priority_class="hgih")),
            "-: Job default/train: priorityClassName: no PriorityClass is called 'hgih'; did you mean high?",
        ),
    ],
)
def test_files_without_pods(on: list[str], text: str, refusal: str) -> None:
    found = CliRunner().invoke(cli, ["plan", "-f", "-", *on], input=text)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith(refusal)


def test_an_empty_cluster(tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text("")
    found = run("--gang", "2", "--gpus", "8", "--on", str(tmp_path / "none.yaml"))
    assert found.exit_code == 5
    assert found.stdout.startswith(
        "A gang of 2 members can never run as it is written, not even on an empty cluster: "
    )
