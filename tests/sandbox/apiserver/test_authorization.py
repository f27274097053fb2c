"""Who may do what, by roles and bindings."""

import asyncio
from typing import Any

import pytest

from maitred.kube.client import Client
from maitred.kube.errors import ApiError
from maitred.sandbox.apiserver.authorization import AUTHENTICATED, MOST_KNOWN, Authorizer
from maitred.sandbox.apiserver.kinds.simple import RBAC as GROUP
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.store import Key, Store
from maitred.sandbox.apiserver.users import ADMIN, User, service_account
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.users import KUBE_SCHEDULER

ANN = User("ann", ("team",))
BOT = service_account("ml", "bot")
READ: Body = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}


class World:
    def __init__(self) -> None:
        self.store = Store()
        self.authorizer = Authorizer(self.store)

    def put(self, plural: str, name: str, namespace: str = "", **fields: Any) -> None:
        meta = {"name": name, **({"namespace": namespace} if namespace else {})}
        shelf = self.store.shelf(f"{plural}.{GROUP}")
        self.store.put(shelf, Key(namespace, name), {"metadata": meta, **fields})

    def role(self, *rules: Body, name: str = "r") -> None:
        self.put("clusterroles", name, rules=list(rules))

    def bind(self, *subjects: Body, role: str = "r", name: str = "b") -> None:
        ref = {"kind": "ClusterRole", "name": role}
        self.put("clusterrolebindings", name, subjects=list(subjects), roleRef=ref)

    def bind_in(self, namespace: str, *subjects: Body, kind: str = "Role", role: str = "r") -> None:
        ref = {"kind": kind, "name": role}
        self.put("rolebindings", "b", namespace, subjects=list(subjects), roleRef=ref)

    def may(
        self, user: User, verb: str, resource: str, namespace: str = "", name: str = "", group: str = ""
    ) -> bool:
        return self.authorizer.refusal(user, verb, group, resource, namespace, name) is None


def subject(user: User) -> Body:
    return {"kind": "User", "name": user.name}


def test_administrators_may_all() -> None:
    world = World()
    assert world.may(ADMIN, "delete", "nodes")
    assert world.authorizer.path_refusal(ADMIN, "post", "/anything") is None


def test_others_may_what_their_roles_allow() -> None:
    world = World()
    world.role(READ)
    world.bind(subject(ANN))
    assert world.may(ANN, "list", "pods")
    assert world.may(ANN, "get", "pods", "ml", "p")
    assert not world.may(ANN, "delete", "pods")
    assert not world.may(ANN, "list", "pods", group="metrics.k8s.io")
    assert not world.may(ANN, "get", "pods/log")
    assert not world.may(BOT, "list", "pods")


@pytest.mark.parametrize(
    ("rule", "resource", "allowed"),
    [
        ({"resources": ["*"]}, "pods/log", True),
        ({"resources": ["*/log"]}, "pods/log", True),
        ({"resources": ["*/log"]}, "pods", False),
        ({"resources": ["pods/log"]}, "pods/log", True),
        ({"resources": ["pods"], "resourceNames": ["p"]}, "pods", True),
        ({"resources": ["pods"], "resourceNames": ["q"]}, "pods", False),
        ({"resources": ["pods"], "verbs": ["*"]}, "pods", True),
        ({"resources": ["pods"], "apiGroups": ["*"]}, "pods", True),
        ({"resources": ["pods"], "verbs": None}, "pods", False),
        ({"nonResourceURLs": ["*"], "resources": None}, "pods", False),
    ],
)
def test_rules(rule: Body, resource: str, allowed: bool) -> None:
    world = World()
    world.role({**READ, **rule})
    world.bind(subject(ANN))
    assert world.may(ANN, "get", resource, "ml", "p") is allowed


def test_bindings_in_a_namespace_hold_there_alone() -> None:
    world = World()
    world.put("roles", "r", "ml", rules=[READ])
    world.bind_in("ml", {"kind": "ServiceAccount", "name": "bot"})
    assert world.may(BOT, "list", "pods", "ml")
    assert not world.may(BOT, "list", "pods", "web")
    assert not world.may(BOT, "list", "pods")


def test_a_role_of_all_namespaces_may_be_bound_in_one() -> None:
    world = World()
    world.role(READ)
    world.bind_in("ml", {"kind": "Group", "name": "team"}, kind="ClusterRole")
    assert world.may(ANN, "list", "pods", "ml")
    assert not world.may(ANN, "list", "pods")


def test_whoever_has_a_name_is_authenticated() -> None:
    world = World()
    world.role(READ)
    world.bind({"kind": "Group", "name": AUTHENTICATED})
    assert world.may(BOT, "list", "pods")


def test_changes_are_seen_at_once() -> None:
    world = World()
    world.bind(subject(ANN))
    assert not world.may(ANN, "list", "pods")
    world.role(READ)
    assert world.may(ANN, "list", "pods")
    shelf = world.store.shelf(f"clusterrolebindings.{GROUP}")
    world.store.remove(shelf, *shelf)
    assert not world.may(ANN, "list", "pods")


def test_any_number_of_users_can_be_asked_about() -> None:
    world = World()
    for index in range(MOST_KNOWN + 2):
        assert not world.may(User(f"u{index}"), "list", "pods")


def test_everyone_may_see_what_there_is_and_ask_about_themselves() -> None:
    world = World()
    for path in ("/api", "/apis/batch/v1", "/openapi/v3", "/version", "/readyz"):
        assert world.authorizer.path_refusal(ANN, "get", path) is None
    assert world.may(ANN, "create", "selfsubjectaccessreviews", group="authorization.k8s.io")
    assert world.may(ANN, "create", "selfsubjectreviews", group="authentication.k8s.io")
    assert world.authorizer.path_refusal(ANN, "get", "/metrics") is not None
    assert world.authorizer.path_refusal(ANN, "post", "/version") is not None


def test_how_a_refusal_reads() -> None:
    world = World()
    odd = User("<ann>")
    refusal = world.authorizer.refusal(odd, "get", "batch", "jobs/status", "ml", "j")
    assert refusal is not None
    assert refusal.body() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'jobs.batch "j" is forbidden: User "&lt;ann&gt;" cannot get resource "jobs/status" in API '
        'group "batch" in the namespace "ml"',
        "reason": "Forbidden",
        "details": {"name": "j", "group": "batch", "kind": "jobs"},
        "code": 403,
    }


def test_roles_that_are_missing_are_told() -> None:
    world = World()
    world.bind(subject(ANN), name="b1")
    world.bind(subject(ANN), name="b2", role="s")
    refusal = world.authorizer.refusal(ANN, "list", "", "pods")
    assert refusal is not None
    assert refusal.message.endswith(
        'at the cluster scope: RBAC: [clusterrole.rbac.authorization.k8s.io "r" not found, '
        'clusterrole.rbac.authorization.k8s.io "s" not found]'
    )


ASKED = [
    ("get", "/api/v1/secrets", "list", "", "secrets", "", ""),
    ("get", "/api/v1/namespaces/default/secrets/s", "get", "", "secrets", "default", "s"),
    ("delete", "/apis/batch/v1/namespaces/default/jobs/j", "delete", "batch", "jobs", "default", "j"),
    ("get", "/apis/batch/v1/namespaces/default/jobs/j/status", "get", "batch", "jobs/status", "default", "j"),
]


def test_a_real_server_refuses_in_the_same_words(bare_control_plane: ControlPlane) -> None:
    authorizer = Authorizer(Store())

    async def message(verb: str, path: str) -> tuple[int, str]:
        async with Client(bare_control_plane.connection(KUBE_SCHEDULER)) as client:
            with pytest.raises(ApiError) as caught:
                await client.request(verb.upper(), path)
        return caught.value.status, caught.value.message

    for method, path, verb, group, resource, namespace, name in ASKED:
        refusal = authorizer.refusal(KUBE_SCHEDULER, verb, group, resource, namespace, name)
        assert refusal is not None
        assert asyncio.run(message(method, path)) == (refusal.code, refusal.message)
    refusal = authorizer.path_refusal(KUBE_SCHEDULER, "get", "/metrics")
    assert refusal is not None
    assert asyncio.run(message("get", "/metrics")) == (refusal.code, refusal.message)
