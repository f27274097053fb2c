"""deploy/admission/users.yaml: the API server says who made something, whatever a tenant writes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from maitred.model.owners import OWNER_KINDS
from maitred.model.queues import USER
from maitred.sandbox.controlplane.run import ControlPlane
from tests.control_plane.waiting import eventually
from tests.deploy.test_deploy import DEPLOY
from tests.deploy.walkthrough import Shell
from tests.support import snapshot_of

Obj = dict[str, Any]
ALICE, MALLORY = "alice", "mallory"
CONTROLLERS = "system:serviceaccount:kube-system:"
POD = {"restartPolicy": "Never", "schedulerName": "maitred", "containers": [{"name": "c", "image": "none"}]}
FORGED = {"metadata": {"annotations": {USER: ALICE}}}
KEPT, CONTROLLED = "it cannot be changed", "only the controller of a workload"


# ---- the kinds


def rules(policy: Obj) -> set[tuple[str, str]]:
    found = policy["spec"]["matchConstraints"]["resourceRules"]
    return {(rule["apiGroups"][0], resource) for rule in found for resource in rule["resources"]}


def test_the_policies_are_about_pods_and_every_kind_that_makes_them() -> None:
    setting, _, keeping, _ = yaml.safe_load_all((DEPLOY / "admission/users.yaml").read_text())
    kinds = {("", "pods")} | {(one.group, one.plural) for one in OWNER_KINDS}
    assert rules(setting) == kinds
    written = {(group, f"{plural}/status") for group, plural in kinds}
    assert rules(keeping) == kinds | written | {("", "pods/binding"), ("", "bindings")}
    [guarded] = [one["expression"] for one in keeping["spec"]["variables"] if one["name"] == "workloads"]
    assert set(json.loads(guarded)) == {f"{o.group}/{o.kind}" for o in OWNER_KINDS if o.kind != "CronJob"}
    assert all(one.plural == f"{one.kind.lower()}s" for one in OWNER_KINDS), "as the policies spell it"


# ---- on a server


@pytest.fixture(scope="module")
def shell(fresh_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A namespace that two users share, with a pod from before the policies."""
    shell = Shell(fresh_plane, tmp_path_factory.mktemp("users"))
    shell.must("kubectl create namespace shared")
    for user in (ALICE, MALLORY):
        shell.must(f"kubectl -n shared create rolebinding {user} --clusterrole=admin --user={user}")
    made(shell, ALICE, pod("old"))
    shell.must(f"kubectl apply -k {DEPLOY}/admission")
    eventually(lambda: user_of(made(shell, ALICE, pod(), "--dry-run=server")) == ALICE)
    eventually(lambda: KEPT in refused(shell, ALICE, f"annotate pod old {USER}={MALLORY} --dry-run=server"))
    yield shell
    shell.must(f"kubectl delete -k {DEPLOY}/admission")
    shell.must("kubectl delete namespace shared")


def made(shell: Shell, user: str, body: Obj, options: str = "") -> Obj:
    """What the server makes of it."""
    done = shell.run(create(user, body, options))
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def create(user: str, body: Obj, options: str = "") -> str:
    return f"kubectl -n shared --as={user} create -o json {options} -f - <<'END'\n{json.dumps(body)}\nEND"


def refused(shell: Shell, user: str, command: str) -> str:
    """What the server says to that; empty if it does it."""
    done = shell.run(command if command.startswith("kubectl") else f"kubectl -n shared --as={user} {command}")
    return done.stderr if done.returncode else ""


def objects(shell: Shell, names: str) -> list[Obj]:
    return list(json.loads(shell.must(f"kubectl -n shared get {names} -o json"))["items"])


def user_of(found: Obj) -> str | None:
    said: str | None = found["metadata"].get("annotations", {}).get(USER)
    return said


def pod(name: str = "", **metadata: Any) -> Obj:
    called = {"name": name} if name else {"generateName": "p-"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**called, **metadata}, "spec": POD}


def job(name: str, template: Obj | None = None, **metadata: Any) -> Obj:
    spec = {"template": {**(template or {}), "spec": POD}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, **metadata}, "spec": spec}


def cron_job(name: str, **metadata: Any) -> Obj:
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": {**FORGED, "spec": job(name)["spec"]}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name, **metadata}, "spec": spec}


def service(name: str, **metadata: Any) -> Obj:
    labels = {"app": name}
    spec = {
        "replicas": 0,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {**POD, "restartPolicy": "Always"}},
    }
    about = {"name": name, **metadata}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": about, "spec": spec}


def controlled_by(owner: Obj) -> Obj:
    about = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    return {
        "ownerReferences": [{**about, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}]
    }


def read_user(shell: Shell, pod: Obj) -> str:
    """The user of a pod, as a decision reads it."""
    [view] = snapshot_of([pod, *objects(shell, "jobs,cronjobs")]).groups
    return view.payer.user


@pytest.mark.parametrize("make", [pod, job, cron_job, service])
def test_who_creates_something_is_its_user_whatever_is_written(shell: Shell, make: Any) -> None:
    name = f"forged-{make.__name__.replace('_', '-')}"
    assert user_of(made(shell, MALLORY, make(name, **FORGED["metadata"]))) == MALLORY
    assert user_of(made(shell, ALICE, make(f"{name}-2"))) == ALICE


def test_nobody_changes_or_removes_it(shell: Shell) -> None:
    made(shell, MALLORY, job("kept"))
    forged = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "kept", **FORGED["metadata"]}}
    text = f"<<'END'\n{json.dumps(forged)}\nEND"
    for user in (MALLORY, "system:admin --as-group=system:masters"):
        for change in (
            f"annotate --overwrite job kept {USER}={ALICE}",
            f"patch job kept --type=merge -p '{json.dumps(FORGED)}'",
            f"apply --server-side --force-conflicts -f - {text}",
            f"patch job kept --subresource=status --type=merge -p '{json.dumps(FORGED)}'",
        ):
            if user == MALLORY and "--subresource" in change:
                continue  # tenants may not write it
            assert KEPT in refused(shell, user, change), change
    shell.must(f"kubectl -n shared --as={MALLORY} annotate job kept {USER}-")
    [found] = [one for one in objects(shell, "jobs") if one["metadata"]["name"] == "kept"]
    assert user_of(found) == MALLORY


def test_what_was_there_before_has_no_user_and_gets_none(shell: Shell) -> None:
    assert KEPT in refused(shell, ALICE, f"annotate pod old {USER}={ALICE}")
    shell.must(f"kubectl -n shared --as={ALICE} label pod old example.com/a=b")
    [old] = [one for one in objects(shell, "pods") if one["metadata"]["name"] == "old"]
    assert user_of(old) is None


def test_pods_of_a_job_are_of_who_made_the_job_whatever_its_template_says(shell: Shell) -> None:
    made(shell, MALLORY, job("templated", FORGED))

    def pods() -> list[Obj]:
        return objects(shell, "pods -l batch.kubernetes.io/job-name=templated")

    eventually(lambda: bool(pods()))
    assert [(user_of(one), read_user(shell, one)) for one in pods()] == [("", MALLORY)]
    shell.must(f"kubectl -n shared --as={MALLORY} delete job templated --cascade=orphan")
    eventually(lambda: all("ownerReferences" not in one["metadata"] for one in pods()))
    assert [read_user(shell, one) for one in pods()] == [""]


def test_jobs_of_a_cron_job_are_of_who_made_that_or_who_made_them_by_hand(shell: Shell) -> None:
    series = made(shell, MALLORY, cron_job("nightly"))
    owned = controlled_by(series)
    by_time = made(shell, f"{CONTROLLERS}cronjob-controller", job("by-time", **FORGED["metadata"], **owned))
    by_hand = json.loads(
        shell.must(f"kubectl -n shared --as={ALICE} create job by-hand --from=cronjob/nightly -o json")
    )
    assert [user_of(by_time), user_of(by_hand)] == ["", ALICE]
    for one, user in ((by_time, MALLORY), (by_hand, ALICE)):
        assert read_user(shell, pod("p", namespace="shared", **controlled_by(one))) == user


def test_nobody_makes_something_that_runs_under_the_name_of_another_owner(shell: Shell) -> None:
    owned = controlled_by(made(shell, ALICE, job("hers")))
    assert CONTROLLED in refused(shell, MALLORY, create(MALLORY, pod("below", **owned)))
    made(shell, MALLORY, pod("own"))
    change = json.dumps({"metadata": owned})
    assert CONTROLLED in refused(shell, MALLORY, f"patch pod own --type=merge -p '{change}'")
    assert user_of(made(shell, f"{CONTROLLERS}job-controller", pod("below", **owned))) is None
