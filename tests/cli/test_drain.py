"""`maitred drain` from end to end, on dumps."""

import json

import msgspec
from click.testing import CliRunner, Result

from maitred.cli import cli
from maitred.explain.maintenance.answer import DrainPlan
from tests.decide.draining import NOW, drain, gang, node
from tests.docs.console import ROOT
from tests.oracle import builders as b
from tests.oracle.builders import Obj

EXAMPLE = ["-f", str(ROOT / "examples/drain/rack.yaml"), "--now", "2026-03-01T12:00:00Z"]


def invoke(*arguments: str, objects: list[Obj] | None = None) -> Result:
    text = None if objects is None else json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    files = [] if objects is None else ["-f", "-", "--now", NOW]
    return CliRunner().invoke(cli, ["drain", *arguments, *files], input=text)


def plan_of(*arguments: str, objects: list[Obj]) -> DrainPlan:
    result = invoke(*arguments, "-o", "json", objects=objects)
    assert result.exit_code == 0, result.output
    return msgspec.json.decode(result.stdout, type=DrainPlan)


def test_the_example_shows_who_leaves_when_and_who_cannot() -> None:
    result = invoke("rack=r7", "--by", "3h", *EXAMPLE)
    assert (result.exit_code, result.stderr) == (0, "")
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line.startswith("default/")}
    assert "12:10:00Z" in rows["default/pretrain"]
    assert "r8-n1, r8-n2" in rows["default/pretrain"]
    assert "no place" in rows["default/eval-x7k2p"] or "default/eval-x7k2p" in result.stdout
    assert "stays" in rows["default/notebook"]
    assert "There is no place for default/eval-x7k2p" in result.stdout


def test_only_if_all_fit_refuses() -> None:
    result = invoke("rack=r7", "--by", "3h", "--only-if-all-fit", *EXAMPLE)
    assert result.exit_code == 3
    assert "nothing was recorded" in result.stderr


def test_who_ranks_lower_does_not_take_the_place_of_who_leaves_later() -> None:
    marks = {"maitred.dev/checkpoint-interval": "1h"}
    first = gang("n1", name="high", priority=10, annotations=marks, started="2026-01-31T11:30:00Z")
    plan = plan_of("n1", "n2", "--by", "2h", objects=[*map(node, ("n1", "n2", "n3")), *first, *gang("n2")])
    found = {one.unit: one for one in plan.moves}
    assert found["default/high"].to == {"n3": 1}
    assert found["default/high"].at == "2026-01-31T12:30:00Z"
    assert found["default/high"].work_lost_device_hours == 0
    assert not found["default/train"].fits
    assert found["default/train"].leaves == "deadline"
    assert found["default/train"].help == ("add 1 node like n2", "leave n2 out of the request")
    assert not plan.all_fit


def test_it_says_what_is_wrong_with_what_is_asked() -> None:
    nodes = [node("n1", rack="r1")]
    for arguments, words in (
        (["n1"], "name the nodes and the time"),
        (["n9", "--by", "2h"], "there is no node n9"),
        (["rack=r9", "--by", "2h"], "the values of"),
        (["row=r9", "--by", "2h"], "row is no topology level"),
        (["n1", "--by", "yesterday"], "neither a time nor"),
        (["n1", "--by", "2020-01-01T00:00:00Z"], "is not in the future"),
        (["n1", "rack=r1", "--by", "2h"], "not both"),
        (["n1", "--list"], "take no nodes"),
    ):
        result = invoke(*arguments, objects=nodes)
        assert (result.exit_code, words in result.stderr) == (2, True), result.output


def test_requests_are_listed_with_how_far_they_are() -> None:
    listed = invoke("--list", objects=[node("n1"), drain("n1")])
    assert "drain-1" in listed.stdout
    assert "not begun" in listed.stdout
    assert "No node is being drained" in invoke("--list", objects=[b.node("n1")]).stdout


def test_a_drained_request_twice_is_refused() -> None:
    again = drain("n1", name="n1-20260131-1400")
    result = invoke("n1", "--by", "2h", objects=[node("n1"), again])
    assert result.exit_code == 2
    assert "already" in result.stderr


def test_whoever_waits_while_a_gang_leaves_hears_why() -> None:
    """Room is kept for members that run and are to leave: for more than those of the group that wait."""
    waiting = b.pod("big", gpu=8)
    objects = [*map(node, ("n1", "n2")), drain("n1"), *gang("n1"), waiting]
    for command in (["decide"], ["why", "big"], ["capacity"]):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        result = CliRunner().invoke(cli, [*command, "-f", "-", "--now", NOW], input=text)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert command == ["capacity"] or "default/big" in result.stdout
