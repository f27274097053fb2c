"""`maitred manifest`: everything in one place, in the namespace and with the image that were asked for."""

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from maitred import __version__
from maitred.cli import cli, manifest
from tests.docs.console import ROOT

Obj = dict[str, Any]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["manifest", *arguments])


def printed(*arguments: str) -> list[Obj]:
    result = invoke(*arguments)
    assert result.exit_code == 0
    assert result.stderr == "" if "--image" in arguments else "no public image" in result.stderr
    return list(yaml.safe_load_all(result.stdout))


def images(items: list[Obj]) -> list[str]:
    pods = [item["spec"]["template"]["spec"] for item in items if item["kind"] == "Deployment"]
    return [container["image"] for pod in pods for container in pod["containers"]]


def test_the_namespace_comes_first_so_that_the_rest_can_be_created() -> None:
    first, *others = printed()
    assert (first["kind"], first["metadata"]["name"]) == ("Namespace", "maitred-system")
    assert {item["metadata"].get("namespace", "maitred-system") for item in others} == {"maitred-system"}


def test_another_namespace_leaves_nothing_in_the_usual_one() -> None:
    every = ("--admission", "--pod-deadlines")
    usual, other = invoke(*every).stdout, invoke(*every, "--namespace", "gangs").stdout
    assert "maitred-system" not in other
    assert other.replace("gangs", "maitred-system") == usual


def test_the_image() -> None:
    assert images(printed()) == [f"maitred:{__version__}"]
    reference = "registry.example.com:5000/team/maitred@sha256:0123"
    assert images(printed("--image", reference)) == [reference]


def test_admission_comes_only_when_asked_for() -> None:
    without, added = printed(), printed("--admission")
    assert added[: len(without)] == without
    kinds = [item["kind"] for item in added[len(without) :]]
    kinds_of_policies = ["MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"]
    assert kinds == 2 * [kind for policy in kinds_of_policies for kind in (policy, f"{policy}Binding")]


def test_the_right_to_end_pods_comes_only_when_asked_for_and_never_without_its_limits() -> None:
    without, added = printed("--admission"), printed("--admission", "--pod-deadlines")
    assert added[: len(without)] == without
    assert [(item["kind"], item["metadata"]["name"]) for item in added[len(without) :]] == [
        (kind, "maitred-pod-deadlines")
        for kind in (
            "ClusterRole",
            "ClusterRoleBinding",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
        )
    ]
    granted = [
        verb
        for item in without
        for rule in item.get("rules", ())
        if "pods" in rule["resources"]
        for verb in rule["verbs"]
    ]
    assert "patch" not in granted


def test_json_is_one_list_of_the_same_objects() -> None:
    shown = json.loads(invoke("-o", "json", "--admission").stdout)
    assert (shown["apiVersion"], shown["kind"]) == ("v1", "List")
    assert shown["items"] == printed("--admission")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--namespace", "Gangs"), "--namespace: 'Gangs' is not a valid name for a namespace"),
        (("--namespace", ""), "--namespace: '' is not a valid name for a namespace"),
        (("--namespace", "a" * 64), f"--namespace: '{'a' * 63}' is not a valid name for a namespace"),
        (("--image", ""), "--image: '' is not an image reference"),
        (("--image", "a b"), "--image: 'a b' is not an image reference"),
        (("--image", "a\nb"), "--image: 'a\\nb' is not an image reference"),
    ],
)
def test_bad_values_are_refused(arguments: tuple[str, ...], line: str) -> None:
    result = invoke(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"{line}\n")


def test_an_installed_package_has_the_files_in_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = ("--admission", "--pod-deadlines")
    expected = invoke(*every).stdout
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for source, target in included.items():
        shutil.copytree(ROOT / source, tmp_path / target)
    monkeypatch.setattr(manifest, "_PACKAGE", tmp_path / "maitred")
    assert manifest.manifests() == tmp_path / "maitred/deploy"
    assert invoke(*every).stdout == expected
