"""`maitred audit` as a command: dumps, records, forms of output, and one clear line for what is wrong."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner, Result

from maitred.cli import cli
from maitred.cli.audit.rights import audited
from maitred.cli.manifest import objects
from maitred.kube.discovery import WATCHED, Served
from maitred.kube.resources import resource_of
from maitred.model import recording
from maitred.model.manifest import Reader
from maitred.model.recording import Came, Gone, Look, Opening, encode
from tests.docs.console import ROOT

Json = dict[str, Any]
NOON = "2026-03-02T12:00:00Z"
EXAMPLE = str(ROOT / "examples/audit")
PRICES = str(ROOT / "examples/policies/prices.yaml")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["audit", *arguments])


def refusal(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    [line] = result.stderr.splitlines()
    return line


def as_data(*arguments: str) -> Json:
    return dict(json.loads(run(*arguments, "-o", "json").stdout))


def test_the_example_has_two_half_started_gangs() -> None:
    found = as_data("-f", EXAMPLE, "--now", NOON, "--policy", PRICES)
    assert [gang["group"] for gang in found["halfStarted"]] == ["research/pretrain", "search/finetune"]
    assert found["held"]["incompleteDeviceHours"] == pytest.approx(28 * (4 - 1 / 60))
    assert [one["group"] for one in found["never"]] == ["research/everything"]
    assert [(one["node"], one["devices"]) for one in found["stranded"]] == [("gpu-4", 4)]
    assert found["costs"][0]["moneyPerDay"] == 28 * 24 * 2.5
    assert found["warnings"] == []


def test_yaml_and_json_say_the_same() -> None:
    arguments = ("-f", EXAMPLE, "--now", NOON)
    assert yaml.safe_load(run(*arguments, "-o", "yaml").stdout) == as_data(*arguments)


def test_the_page_stands_on_its_own() -> None:
    result = run("-f", EXAMPLE, "--now", NOON, "-o", "html")
    assert result.stdout.startswith("<!DOCTYPE html>")
    assert "http" not in result.stdout.replace("http-equiv", "")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--for", "soon"), "--for: 'soon' is not a duration such as 90s, 10m or 1h30m"),
        (("--for", "0s"), "--for: '0s' is not a duration"),
        (
            ("-f", EXAMPLE, "--for", "1h"),
            "--for: cannot be used with -f or --record: only a cluster can be watched, not a file",
        ),
        (("--now", NOON), "--now: can only be used with -f: a cluster or a record has its own time"),
        (("-f", EXAMPLE, "--record", "x"), "--record: give either this or -f, not both"),
        (("-f", EXAMPLE, "--now", "noon"), "--now: 'noon' is not a time"),
        (("--record", "no-such"), "no-such: no such file or directory"),
        (("-f", "no-such"), "no-such: no such file or directory"),
        (("--kubeconfig", "no-such"), "no-such: "),
    ],
)
def test_bad_input_is_told_in_a_line(arguments: tuple[str, ...], line: str) -> None:
    assert refusal(*arguments).startswith(line)


def test_a_dump_that_is_cut_off_is_told_where(tmp_path: Path) -> None:
    dump = tmp_path / "cluster.json"
    whole = json.dumps({"kind": "List", "apiVersion": "v1", "items": [{"kind": "Pod"}]}, indent=1)
    dump.write_text(whole[:-10])
    assert refusal("-f", str(dump)).startswith(f"{dump}: the JSON ends in the middle, in line ")


def test_an_empty_dump_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text('{"kind": "List", "apiVersion": "v1", "items": []}')
    result = run("-f", str(tmp_path))
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "warning: the input has no objects",
        "warning: there are no nodes; kubectl get nodes,pods,jobs -A -o json writes what an audit reads",
        "warning: there are no pods",
    ]
    assert "There are no gangs." in result.stdout


def test_a_wrong_object_of_another_scheduler_is_named(tmp_path: Path) -> None:
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}}
    (tmp_path / "group.json").write_text(json.dumps({**group, "spec": {"minMember": "many"}}))
    found = run("-f", str(tmp_path))
    said = "group.json: PodGroup g: spec.minMember: expected a whole number, got a string (ignored)"
    assert (found.exit_code, said in found.stderr) == (0, True), found.output


# -- records -----------------------------------------------------------------------------------------------


def test_a_record_is_looked_at_from_beginning_to_end(tmp_path: Path) -> None:
    """The example, with the gangs gone an hour after the record began, and a second segment."""
    begin, gone = 1772452800.0, 1772456400.0  # 12:00 and 13:00 of that day
    reader = Reader()
    reader.read((ROOT / "examples/audit/cluster.yaml").read_bytes(), "example")
    lines = [encode(Opening(recording.VERSION, "test", None, begin))]
    for item in reader.objects:
        kind, bare = recording.recorded(item)
        lines.append(encode(Came(kind, encode_raw(bare), begin)))
    lines.append(encode(Look(NOON, ())))
    lines += [encode(Gone("Pod", f"research/pretrain-{number}", gone)) for number in range(3)]
    (tmp_path / "1.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    nodes = [line for line in lines if b'"kind":"Node"' in line]
    second = [
        encode(Opening(recording.VERSION, "test", None, gone)),
        *nodes,
        encode(Look("2026-03-02T14:00:00Z", ())),
    ]
    (tmp_path / "2.jsonl").write_bytes(b"\n".join(second) + b"\n")
    found = as_data("--record", str(tmp_path))
    assert found["watchedSeconds"] == 7200
    assert (found["nodes"], found["pods"], found["halfStarted"]) == (4, 0, [])
    assert found["held"]["incompleteDeviceHours"] == pytest.approx(16 + 12)
    assert found["held"]["worst"][0]["group"] == "research/pretrain"


def encode_raw(item: object) -> msgspec.Raw:
    return msgspec.Raw(encode(item))


def test_what_is_no_record_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text('{"line": "nothing"}\n')
    assert "is not a record that `maitred record`" in refusal("--record", str(tmp_path))


# -- rights ------------------------------------------------------------------------------------------------


def test_the_role_is_for_reading_what_an_audit_reads_and_nothing_else() -> None:
    served = Served("v1.37.1", {row.type: resource_of(row.type) for row in WATCHED})
    read = {(one.resource.group, one.resource.plural) for one in audited(served)}
    [role] = [item for item in objects("audit") if item["kind"] == "ClusterRole"]
    granted = {
        (group, resource)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert granted == read
    assert all(rule["verbs"] == ["get", "list", "watch"] for rule in role["rules"])


def test_the_role_is_printed_for_kubectl() -> None:
    kinds = [item["kind"] for item in yaml.safe_load_all(run("--role").stdout)]
    assert kinds == ["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding"]
