"""Rules of single housekeepers that need no server: taints, tolerations, volumes, budgets, names."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from maitred.kube.resources import LEASES, NODES
from maitred.model.node import Taint
from maitred.sandbox.housekeeping.cache import ObjectCache
from maitred.sandbox.housekeeping.disruptions import covers, scaled, status_of
from maitred.sandbox.housekeeping.evictions import seconds_borne
from maitred.sandbox.housekeeping.jobs.groups import group_name, hashed
from maitred.sandbox.housekeeping.jobs.pods import indexed_prefix
from maitred.sandbox.housekeeping.nodes import GRACE_SECONDS, NodeController, wanted_taints
from maitred.sandbox.housekeeping.objects import BudgetStatus, DisruptionBudget, Lease, Node, Pod, Toleration
from maitred.sandbox.housekeeping.storage import BindableVolume, Claim, best_volume
from tests.sandbox.housekeeping.world import NOW, World, make_job, make_pod, with_meta

PREFIX = "node.kubernetes.io"


def node(ready: str = "", taints: tuple[tuple[str, str], ...] = (), **spec: Any) -> Node:
    told = [{"type": "Ready", "status": ready}] if ready else []
    marked = [{"key": key, "effect": effect} for key, effect in taints]
    body = {
        "metadata": {"name": "n"},
        "spec": {"taints": marked, **spec},
        "status": {"conditions": told},
    }
    return msgspec.convert(body, Node)


def marks(of: Node, evicts: bool = True) -> set[tuple[str, str]]:
    return {(taint.key, taint.effect) for taint in wanted_taints(of, evicts)}


def test_taints_follow_what_a_node_says_and_spare_those_of_others() -> None:
    other = ("maintenance", "NoExecute")
    unready, lost = (f"{PREFIX}/not-ready", "NoSchedule"), (f"{PREFIX}/unreachable", "NoSchedule")
    assert marks(node("True", (unready, other))) == {other}
    assert marks(node("False", (other,))) == {other, unready, (f"{PREFIX}/not-ready", "NoExecute")}
    assert marks(node("Unknown", (unready,))) == {lost, (f"{PREFIX}/unreachable", "NoExecute")}
    assert marks(node("Unknown", (unready,)), evicts=False) == {lost}
    assert marks(node("", (unready,))) == {unready}
    assert marks(node("True", unschedulable=True)) == {(f"{PREFIX}/unschedulable", "NoSchedule")}


def test_a_node_is_given_up_when_neither_it_nor_its_lease_has_changed_for_long() -> None:
    stock = ObjectCache(None, ())  # type: ignore[arg-type]
    world = World(make_job())
    nodes = NodeController(stock, world, None)  # type: ignore[arg-type]
    stock.shelf(NODES, Node).put(node("True"))
    late = GRACE_SECONDS + 1
    assert nodes.silent(0.0) == []
    lease = {"metadata": {"name": "n", "namespace": "kube-node-lease"}, "spec": {}}
    lease["spec"] = {"renewTime": "2026-11-15T12:00:00.000000Z"}
    stock.shelf(LEASES, Lease).put(msgspec.convert(lease, Lease))
    assert nodes.silent(late) == []  # The lease has just been renewed.
    assert nodes.silent(late + GRACE_SECONDS) == []
    assert nodes.silent(late + GRACE_SECONDS + 1) == ["n"]


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([], 0.0),
        ([Toleration(key="a", operator="Exists")], None),
        ([Toleration(key="a", operator="Exists", toleration_seconds=30)], 30.0),
        ([Toleration(operator="Exists", toleration_seconds=-1)], 0.0),
        ([Toleration(key="a", value="other")], 0.0),
        ([Toleration(key="a", operator="Exists", effect="NoSchedule")], 0.0),
        ([Toleration(operator="Exists"), Toleration(key="a", operator="Exists", toleration_seconds=5)], 5.0),
    ],
)
def test_how_long_a_pod_stays(tolerations: list[Toleration], seconds: float | None) -> None:
    assert seconds_borne([Taint("a", "NoExecute")], tolerations) == seconds


def test_a_pod_stays_where_nothing_drives_it_out() -> None:
    assert seconds_borne([], []) is None


# -- volumes -----------------------------------------------------------------------------------------------


def volume(name: str, size: str, **spec: Any) -> BindableVolume:
    body = {
        "metadata": {"name": name, "labels": {"name": name}},
        "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], **spec},
        "status": {"phase": "Available"},
    }
    return msgspec.convert(body, BindableVolume)


def claim(size: str, **spec: Any) -> Claim:
    wanted = {"resources": {"requests": {"storage": size}}, "accessModes": ["ReadWriteOnce"], **spec}
    return msgspec.convert({"metadata": {"name": "c", "namespace": "n", "uid": "u"}, "spec": wanted}, Claim)


def test_a_claim_gets_the_smallest_volume_that_will_do() -> None:
    volumes = [volume("large", "10Gi"), volume("small", "1Gi"), volume("middle", "5Gi")]
    assert chosen(claim("2Gi"), volumes) == "middle"
    assert chosen(claim("1024Mi"), volumes) == "small"
    assert chosen(claim("11Gi"), volumes) is None
    assert chosen(claim("1Gi", accessModes=["ReadWriteMany"]), volumes) is None
    assert chosen(claim("1Gi", volumeMode="Block"), volumes) is None
    assert chosen(claim("1Gi", storageClassName="fast"), volumes) is None
    assert chosen(claim("1Gi", selector={"matchLabels": {"name": "large"}}), volumes) == "large"


def test_what_is_kept_for_a_claim_comes_first_and_for_others_never() -> None:
    ours = {"namespace": "n", "name": "c"}
    volumes = [volume("small", "1Gi"), volume("kept", "9Gi", claimRef=ours)]
    assert chosen(claim("1Gi"), volumes) == "kept"
    assert chosen(claim("1Gi"), volumes, waits=True) == "kept"
    assert chosen(claim("1Gi"), volumes[:1], waits=True) is None
    taken = [volume("taken", "1Gi", claimRef={**ours, "uid": "another"})]
    assert chosen(claim("1Gi"), taken) is None


def chosen(for_claim: Claim, volumes: list[BindableVolume], waits: bool = False) -> str | None:
    found = best_volume(for_claim, volumes, waits)
    return None if found is None else found.metadata.name


# -- budgets -----------------------------------------------------------------------------------------------


def budget(disrupted: dict[str, str] | None = None, **spec: Any) -> DisruptionBudget:
    body = {
        "metadata": {"name": "b", "namespace": "default", "generation": 2},
        "spec": {"selector": {"matchLabels": {"job": "a"}}, **spec},
        "status": {"disruptedPods": disrupted or {}},
    }
    return msgspec.convert(body, DisruptionBudget)


def ready(number: int) -> Pod:
    pod = make_pod(number, "Running")
    told = msgspec.convert(
        {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}, type(pod.status)
    )
    return msgspec.structs.replace(pod, status=told)


def allowed(status: BudgetStatus) -> tuple[int, int, int]:
    return status.current_healthy, status.desired_healthy, status.disruptions_allowed


def test_a_budget_counts_the_healthy_and_forgives_nobody() -> None:
    pods = [ready(0), ready(1), make_pod(2, "Running")]
    assert allowed(status_of(budget(minAvailable=1), pods, 3, NOW)) == (2, 1, 1)
    assert allowed(status_of(budget(minAvailable="50%"), pods, 3, NOW)) == (2, 2, 0)
    assert allowed(status_of(budget(maxUnavailable=2), pods, 3, NOW)) == (2, 1, 1)
    assert allowed(status_of(budget(maxUnavailable=1), pods, 0, NOW)) == (2, 0, 0)
    going = with_meta(ready(0), deletion_timestamp=NOW)
    assert allowed(status_of(budget(minAvailable=1), [going, ready(1)], 2, NOW)) == (1, 1, 0)


def test_a_pod_whose_eviction_was_granted_counts_as_gone_for_two_minutes() -> None:
    granted = budget({"a-0": "2026-11-15T12:00:00Z", "a-9": "2026-11-15T12:00:00Z"}, minAvailable=1)
    pods = [ready(0), ready(1)]
    soon = status_of(granted, pods, 2, NOW + timedelta(seconds=119))
    assert (allowed(soon), list(soon.disrupted_pods)) == ((1, 1, 0), ["a-0"])
    later = status_of(granted, pods, 2, NOW + timedelta(seconds=121))
    assert (allowed(later), list(later.disrupted_pods)) == ((2, 1, 1), [])


def test_a_pod_that_has_ended_is_expected_all_the_same() -> None:
    assert covers(budget(minAvailable=1), make_pod(0, "Failed"))


def test_percentages_are_rounded_up() -> None:
    assert [scaled("34%", 3), scaled("0%", 3), scaled(2, 3)] == [2, 0, 2]


# -- names -------------------------------------------------------------------------------------------------


def test_names_are_those_that_kubernetes_gives() -> None:
    """Seen on 1.37.1; a hash of our own would make a second set of objects after a change of hands."""
    assert group_name("elastic-677b957c55", "elastic-pgt-0") == "elastic-677b957c55-elastic-pgt-0-fd69996fc"
    assert len(group_name("w" * 200, "t" * 200)) == 253
    assert set(hashed("anything")) <= set("bcdfghjklmnpqrstvwxz2456789")
    assert indexed_prefix("j" * 63, 12) == "j" * 54 + "-12-"
