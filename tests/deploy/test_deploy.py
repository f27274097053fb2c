"""The objects in deploy/: they are what the pages and the code say, and a real API server takes them."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from maitred import __version__
from maitred.cli import cli
from maitred.cli.scheduler import NAME, command
from maitred.controllers.keeping import BOOKED, HEALTH, LIFTED, RESERVED, SPENDING, USE, WAITING
from maitred.controllers.provisioning import POD_TEMPLATES
from maitred.kube.answers import ServiceAddress
from maitred.kube.resources import GROUPS, resource_of
from maitred.model.kinds import KINDS, row_of
from maitred.model.overrides import VERB as OVERRIDE
from maitred.model.provisioning import ProvisioningRequest
from maitred.model.reserving import VERB as RESERVE
from maitred.model.suspending import SUSPENDABLE
from maitred.sandbox.controlplane.run import ControlPlane
from tests.control_plane.waiting import eventually
from tests.deploy.walkthrough import Shell
from tests.docs.console import ROOT

Obj = dict[str, Any]
Grant = tuple[str, str, str]
DEPLOY = ROOT / "deploy"

_CODE = re.compile(r"`([^`]+)`")


def base(kind: str, name: str = "") -> Obj:
    files = (DEPLOY / "base").glob("*.yaml")
    items = [item for file in files for item in yaml.safe_load_all(file.read_text())]
    [found] = [item for item in items if item.get("kind") == kind and name in ("", item["metadata"]["name"])]
    return dict(found)


def test_the_install_page_lists_what_is_granted_and_nothing_else() -> None:
    granted = [grant for kind in ("ClusterRole", "Role") for grant in grants(base(kind, NAME))]
    assert sorted(granted) == sorted(documented_grants())


def grants(role: Obj) -> Iterator[Grant]:
    for rule in role["rules"]:
        [group] = rule["apiGroups"]
        for resource in rule["resources"]:
            yield from ((group, resource, verb) for verb in rule["verbs"])


def documented_grants() -> Iterator[Grant]:
    table = (ROOT / "docs/install.md").read_text().partition("## What it may do\n")[2].partition("\n## ")[0]
    for row in re.findall(r"^\| .* \|$", table, re.MULTILINE):
        group, resources, verbs, _ = row.strip("| ").split(" | ")
        for resource in _CODE.findall(resources):
            yield from (
                (group.strip("`").replace("core", ""), resource, verb) for verb in _CODE.findall(verbs)
            )


def test_the_role_lets_the_scheduler_watch_every_kind_of_the_table_and_no_other() -> None:
    watched = {(row.group, row.plural) for row in KINDS if row.watched}
    granted = {
        (group, resource) for group, resource, verb in grants(base("ClusterRole", NAME)) if verb == "watch"
    }
    assert granted == watched


def test_the_right_to_ask_for_nodes_is_apart_and_is_no_more_than_that() -> None:
    [role, binding] = yaml.safe_load_all((DEPLOY / "provisioning/rbac.yaml").read_text())
    kinds = (resource_of(ProvisioningRequest), POD_TEMPLATES)
    asked = {(one.group, one.plural, "create") for one in kinds}
    assert set(grants(role)) == asked
    assert asked.isdisjoint(grants(base("ClusterRole", NAME)))
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == base("ClusterRoleBinding", NAME)["subjects"]


def test_every_kind_of_owner_that_is_suspended_may_be_patched_and_the_limits_know_it() -> None:
    """And of those nothing else may be written: the limits are on every kind that has them."""
    suspended = {(row_of(row.type).group, row_of(row.type).plural) for row in SUSPENDABLE}
    verbs = dict[tuple[str, str], set[str]]()
    for group, resource, verb in grants(base("ClusterRole", NAME)):
        verbs.setdefault((group, resource), set()).add(verb)
    assert all(verbs[one] == {"list", "watch", "get", "patch"} for one in suspended)
    [limits, _] = yaml.safe_load_all((DEPLOY / "admission/limits.yaml").read_text())
    limited = {
        (rule["apiGroups"][0], resource)
        for rule in limits["spec"]["matchConstraints"]["resourceRules"]
        for resource in rule["resources"]
    }
    assert limited == {
        one for group, plural in suspended for one in ((group, plural), (group, f"{plural}/status"))
    }


def test_the_limits_let_through_the_field_of_each_kind() -> None:
    [limits, _] = yaml.safe_load_all((DEPLOY / "admission/limits.yaml").read_text())
    [changeable] = [one["expression"] for one in limits["spec"]["variables"] if one["name"] == "changeable"]
    words = " ".join(changeable.split())
    groups = {row_of(row.type).group: row.path[1] for row in SUSPENDABLE if row.path[1] != "suspend"}
    assert words == (
        'request.resource.group == "kubeflow.org" ? ["runPolicy"] : '
        '(request.resource.group == "kueue.x-k8s.io" ? ["active"] : '
        '(request.resource.group == "batch" ? ["suspend", "activeDeadlineSeconds"] : ["suspend"]))'
    )
    assert groups == {"kubeflow.org": "runPolicy", "kueue.x-k8s.io": "active"}


def test_what_is_granted_by_name_is_what_the_scheduler_asks_for() -> None:
    [container] = base("Deployment")["spec"]["template"]["spec"]["containers"]
    verb, *arguments = container["args"]
    options = command.make_context(verb, arguments, cli.make_context("maitred", [verb])).params
    named = {
        rule["resources"][0]: rule["resourceNames"]
        for rule in base("Role")["rules"]
        if "resourceNames" in rule
    }
    policy = base("ConfigMap")["metadata"]["name"]
    assert options["policy_config_map"] == f"$(NAMESPACE)/{policy}"
    records = [f"maitred-{one.kind}" for one in (HEALTH, USE, SPENDING, LIFTED, WAITING, RESERVED, BOOKED)]
    assert named == {"leases": [NAME], "configmaps": records}


def test_there_is_a_role_with_the_right_that_the_scheduler_asks_about() -> None:
    for verb in (OVERRIDE, RESERVE):
        [rule] = base("ClusterRole", f"maitred-{verb}")["rules"]
        assert rule == {"apiGroups": [GROUPS.group], "resources": [GROUPS.plural], "verbs": [verb]}


def test_users_are_granted_the_one_service_that_the_command_line_asks() -> None:
    [port] = base("Service", NAME)["spec"]["ports"]
    [container] = base("Deployment")["spec"]["template"]["spec"]["containers"]
    assert {"name": port["targetPort"], "containerPort": 10352} in container["ports"]
    assert "--answers=:10352" in container["args"]
    [rule] = base("ClusterRole", "maitred-user")["rules"]
    path = ServiceAddress("maitred-system").path("why/team/train")
    assert rule == {
        "apiGroups": [""],
        "resources": ["services/proxy"],
        "resourceNames": [path.split("/")[6]],
        "verbs": ["get", "create"],
    }
    assert path.split("/")[6] == f"https:{NAME}:{port['name']}"


def test_every_port_is_open_to_some_and_closed_to_others() -> None:
    [container] = base("Deployment")["spec"]["template"]["spec"]["containers"]
    rules = base("NetworkPolicy")["spec"]["ingress"]
    assert [port["port"] for rule in rules for port in rule["ports"]] == [
        p["name"] for p in container["ports"]
    ]
    assert all(rule["from"] for rule in rules)


def test_the_default_policy_is_valid(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(base("ConfigMap")["data"]["policy.yaml"])
    result = CliRunner().invoke(cli, ["policy", "check", str(tmp_path / "policy.yaml")])
    assert result.exit_code == 0, result.output


def test_the_image_is_that_of_this_version_and_runs_as_the_user_that_it_has() -> None:
    pod = base("Deployment")["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == f"maitred:{__version__}"
    containerfile = (DEPLOY / "Containerfile").read_text()
    context = pod["securityContext"]
    assert f"\nUSER {context['runAsUser']}:{context['runAsGroup']}\n" in containerfile
    assert f"maitred:{__version__}" in containerfile


def test_the_image_is_built_from_what_the_build_may_read() -> None:
    copies = re.findall(r"^COPY (?!--from)(.*) \S+$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    allowed = re.findall(r"^!(.*)$", (ROOT / ".containerignore").read_text(), re.MULTILINE)
    assert allowed == " ".join(copies).split()


@pytest.mark.parametrize(
    "arguments", ["", "--admission --pod-deadlines", "--namespace gangs --image registry.example.com/m:2"]
)
def test_kustomize_builds_what_the_command_prints(
    fresh_plane: ControlPlane, tmp_path: Path, arguments: str
) -> None:
    words = arguments.split()
    parts = ["base", "admission", "pods"] if "--admission" in words else ["base"]
    changes = {} if len(parts) > 1 else dict(zip(words[::2], words[1::2], strict=True))
    overlay: Obj = {"resources": [os.path.relpath(DEPLOY / part, tmp_path) for part in parts]}
    if changes:
        name, _, tag = changes["--image"].rpartition(":")
        overlay |= {
            "namespace": changes["--namespace"],
            "images": [{"name": "maitred", "newName": name, "newTag": tag}],
        }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    shell = Shell(fresh_plane, tmp_path)
    built = yaml.safe_load_all(shell.must("kubectl kustomize ."))
    printed = yaml.safe_load_all(shell.must(f"maitred manifest {arguments}"))
    assert by_name(built) == by_name(printed)


def test_the_overlay_of_the_install_page_builds_what_the_command_prints(
    fresh_plane: ControlPlane, tmp_path: Path
) -> None:
    (tmp_path / "deploy").symlink_to(DEPLOY)
    (tmp_path / "overlay").mkdir()
    shell = Shell(fresh_plane, tmp_path / "overlay")
    shell.save_files_of("install.md")
    overlay = yaml.safe_load((shell.folder / "kustomization.yaml").read_text())
    [image] = overlay["images"]
    arguments = f"--namespace {overlay['namespace']} --image {image['newName']}:{image['newTag']}"
    built = yaml.safe_load_all(shell.must("kubectl kustomize ."))
    printed = yaml.safe_load_all(shell.must(f"maitred manifest {arguments}"))
    assert by_name(built) == by_name(printed)


def by_name(items: Iterator[Obj]) -> dict[tuple[str, str], Obj]:
    return {(item["kind"], item["metadata"]["name"]): item for item in items}


def test_pods_of_labelled_namespaces_name_maitred_unless_they_name_another(
    fresh_plane: ControlPlane, tmp_path: Path
) -> None:
    shell = Shell(fresh_plane, tmp_path)
    shell.must(f"kubectl apply -k {DEPLOY}/admission")
    shell.must("kubectl create namespace managed && kubectl label namespace managed maitred.dev/managed=true")
    shell.must(
        "kubectl create namespace declined && kubectl label namespace declined maitred.dev/managed=false"
    )
    try:
        eventually(lambda: scheduler_of(shell, "managed") == "maitred")
        assert scheduler_of(shell, "managed", "default-scheduler") == "maitred"
        assert scheduler_of(shell, "managed", "another") == "another"
        assert scheduler_of(shell, "declined") == "default-scheduler"
        assert scheduler_of(shell, "default") == "default-scheduler"
    finally:
        shell.must(f"kubectl delete -k {DEPLOY}/admission")
        shell.must("kubectl delete namespace managed declined")


def scheduler_of(shell: Shell, namespace: str, named: str | None = None) -> str:
    """The scheduler of a pod that is created there."""
    spec = "" if named is None else f'--overrides=\'{{"spec": {{"schedulerName": "{named}"}}}}\''
    create = f"kubectl -n {namespace} run probe --image=none --dry-run=server {spec}"
    return shell.must(f"{create} -o jsonpath='{{.spec.schedulerName}}'")
