"""What pods want of their neighbours: affinity, anti-affinity and spread. One line bites, the next does not.

The pod is always ``p`` and the node that is asked about always ``n``, in rack r1 of zone z1.
"""

from typing import Any

import pytest

from tests.decide.fitting import fits
from tests.decide.reading import first, nodes_used, seated, seats, verdict
from tests.oracle.builders import (
    Obj,
    expr,
    gang,
    namespace,
    near,
    node,
    pod,
    pod_group,
    pods,
    selector,
    spread,
)
from tests.support import decide

HERE = node("n", rack="r1", zone="z1")
NEXT = node("closed", rack="r1", zone="z1", taints=["closed:NoSchedule"])
FAR = node("far", rack="r2", zone="z1", taints=["closed:NoSchedule"])
BARE = node("bare", taints=["closed:NoSchedule"])
NODES = [HERE, NEXT, FAR, BARE]

Case = tuple[list[Obj], Obj, bool]
"""Who is there, the pod, and whether it fits beside them."""


def there(on: str = "closed", app: str = "db", space: str = "default", **more: Any) -> Obj:
    return pod("a", labels={"app": app}, node=on, namespace=space, **more)


DB = near("rack", {"app": "db"})


def seeking(*terms: Obj, **labels: str) -> Obj:
    return pod("p", affinity=terms, labels=labels)


def avoiding(*terms: Obj, **labels: str) -> Obj:
    return pod("p", anti_affinity=terms, labels=labels)


OTHERS: Obj = {"namespace_selector": selector({"team": "ml"})}
ML, WEB = namespace("ml", {"team": "ml"}), namespace("web", {"team": "web"})


AFFINITY: dict[str, Case] = {
    "company in the domain": ([there()], seeking(DB), True),
    "company in another domain": ([there("far")], seeking(DB), False),
    "no company": ([], seeking(DB), False),
    "company of the wrong kind": ([there(app="web")], seeking(DB), False),
    "company that is finished": ([there(phase="Succeeded")], seeking(DB), False),
    "company that is terminating": ([there(deleted=True)], seeking(DB), True),
    "company on a node without the label": ([there("bare")], seeking(DB), False),
    "a key that the node lacks": ([there()], seeking(near("row", {"app": "db"})), False),
    "the first of a series": ([], seeking(DB, app="db"), True),
    "the second of a series": ([there()], seeking(DB, app="db"), True),
    "the second of a series, elsewhere": ([there("far")], seeking(DB, app="db"), False),
    "the first of a series where it is too far to see the others": (
        [there("bare")],
        seeking(DB, app="db"),
        True,
    ),
    "the first of a series in another namespace": (
        [there("far", space="other")],
        seeking(DB, app="db"),
        True,
    ),
    "no selector means nobody": ([there()], seeking(near("rack", None)), False),
    "the empty selector means everybody": ([there()], seeking(near("rack", {})), True),
    "In": ([there()], seeking(near("rack", selector(None, expr("app", "In", "db", "x")))), True),
    "NotIn": ([there()], seeking(near("rack", selector(None, expr("app", "NotIn", "db"))), app="db"), False),
    "Exists": ([there()], seeking(near("rack", selector(None, expr("app", "Exists")))), True),
    "DoesNotExist": (
        [there()],
        seeking(near("rack", selector(None, expr("app", "DoesNotExist"))), app="x"),
        False,
    ),
    "one pod that all terms mean": (
        [there(app="db")],
        seeking(DB, near("zone", selector(None, expr("app", "Exists")))),
        True,
    ),
    "a pod for each term is not enough": (
        [there(app="db"), pod("b", labels={"app": "web"}, node="closed")],
        seeking(DB, near("zone", {"app": "web"})),
        False,
    ),
    "two keys, the pod affinity by domain only": (
        [there("far")],
        seeking(near("zone", {"app": "db"}), near("rack", {"app": "db"})),
        False,
    ),
    "company in another namespace": ([there(space="other")], seeking(DB), False),
    "a namespace that is named": (
        [there(space="other")],
        seeking(near("rack", {"app": "db"}, namespaces=["other"])),
        True,
    ),
    "the pod's own namespace when others are named": (
        [there()],
        seeking(near("rack", {"app": "db"}, namespaces=["other"])),
        False,
    ),
    "a namespace that is selected": (
        [ML, there(space="ml")],
        seeking(near("rack", {"app": "db"}, **OTHERS)),
        True,
    ),
    "the pod's own namespace when others are selected": (
        [ML, there()],
        seeking(near("rack", {"app": "db"}, **OTHERS)),
        False,
    ),
    "a namespace that is not selected": (
        [WEB, there(space="web")],
        seeking(near("rack", {"app": "db"}, **OTHERS)),
        False,
    ),
    "the empty namespace selector means all": (
        [there(space="anywhere")],
        seeking(near("rack", {"app": "db"}, namespace_selector={})),
        True,
    ),
    "namespaces that are named and selected add up": (
        [ML, there(space="other")],
        seeking(near("rack", {"app": "db"}, namespaces=["other"], **OTHERS)),
        True,
    ),
    "every namespace has its name as a label": (
        [there(space="other")],
        seeking(
            near("rack", {"app": "db"}, namespace_selector=selector({"kubernetes.io/metadata.name": "other"}))
        ),
        True,
    ),
}


@pytest.mark.parametrize(("others", "asking", "right"), AFFINITY.values(), ids=AFFINITY.keys())
def test_affinity(others: list[Obj], asking: Obj, right: bool) -> None:
    assert fits(*NODES, *others, asking) is right


def hostile(*terms: Obj, **more: Any) -> Obj:
    """Somebody in the domain who does not want certain pods there."""
    return there(anti_affinity=terms, **more)


ANTI: dict[str, Case] = {
    "an enemy in the domain": ([there()], avoiding(DB), False),
    "an enemy in another domain": ([there("far")], avoiding(DB), True),
    "an enemy on the next node": ([there()], avoiding(near("hostname", {"app": "db"})), True),
    "an enemy that is terminating": ([there(deleted=True)], avoiding(DB), False),
    "an enemy that is finished": ([there(phase="Failed")], avoiding(DB), True),
    "an enemy on a node without the label": ([there("bare")], avoiding(DB), True),
    "a key that the node lacks": ([there()], avoiding(near("row", {"app": "db"})), True),
    "itself": ([], avoiding(near("rack", {"app": "web"}), app="web"), True),
    "any of the terms": ([there("far")], avoiding(DB, near("zone", {"app": "db"})), False),
    "no selector means nobody": ([there()], avoiding(near("rack", None)), True),
    "the empty selector means everybody": ([there()], avoiding(near("rack", {})), False),
    "an enemy in another namespace": ([there(space="other")], avoiding(DB), True),
    "an enemy in a namespace that is named": (
        [there(space="other")],
        avoiding(near("rack", {"app": "db"}, namespaces=["other"])),
        False,
    ),
    "an enemy in a namespace that is selected": (
        [ML, there(space="ml")],
        avoiding(near("rack", {"app": "db"}, **OTHERS)),
        False,
    ),
    "an enemy in a namespace that is not selected": (
        [WEB, there(space="web")],
        avoiding(near("rack", {"app": "db"}, **OTHERS)),
        True,
    ),
    "somebody who does not want the pod": ([hostile(near("rack", {"app": "p"}))], avoiding(app="p"), False),
    "somebody who does not want others": ([hostile(near("rack", {"app": "x"}))], avoiding(app="p"), True),
    "somebody terminating who does not want the pod": (
        [hostile(near("rack", {"app": "p"}), deleted=True)],
        avoiding(app="p"),
        False,
    ),
    "somebody elsewhere who does not want the pod": (
        [hostile(near("rack", {"app": "p"}), on="far")],
        avoiding(app="p"),
        True,
    ),
    "somebody on a node without the label who does not want the pod": (
        [hostile(near("rack", {"app": "p"}), on="bare")],
        avoiding(app="p"),
        True,
    ),
    "somebody of another namespace who does not want its own": (
        [hostile(near("rack", {"app": "p"}), space="other")],
        avoiding(app="p"),
        True,
    ),
    "somebody of another namespace who does not want anybody's": (
        [hostile(near("rack", {"app": "p"}, namespace_selector={}), space="other")],
        avoiding(app="p"),
        False,
    ),
}


@pytest.mark.parametrize(("others", "asking", "right"), ANTI.values(), ids=ANTI.keys())
def test_anti_affinity(others: list[Obj], asking: Obj, right: bool) -> None:
    assert fits(*NODES, *others, asking) is right


def versioned(version: str, **more: Any) -> Obj:
    return pod("a", labels={"app": "db", "version": version}, node="closed", **more)


SAME = near("rack", {"app": "db"}, match_label_keys=["version"])
OTHER = near("rack", {"app": "db"}, mismatch_label_keys=["version"])
KEYS: dict[str, Case] = {
    "affinity to the same version": ([versioned("1")], seeking(SAME, version="1"), True),
    "affinity to the same version, another there": ([versioned("2")], seeking(SAME, version="1"), False),
    "affinity to the same version, without one": ([versioned("2")], seeking(SAME), True),
    "affinity to other versions": ([versioned("2")], seeking(OTHER, version="1"), True),
    "affinity to other versions, the same there": ([versioned("1")], seeking(OTHER, version="1"), False),
    "anti-affinity to the same version": ([versioned("1")], avoiding(SAME, version="1"), False),
    "anti-affinity to the same version, another there": ([versioned("2")], avoiding(SAME, version="1"), True),
    "anti-affinity to other versions": ([versioned("2")], avoiding(OTHER, version="1"), False),
    "anti-affinity to other versions, the same there": ([versioned("1")], avoiding(OTHER, version="1"), True),
    "anti-affinity of others reads their own version": (
        [versioned("1", anti_affinity=[SAME])],
        pod("p", labels={"app": "db", "version": "1"}),
        False,
    ),
    "anti-affinity of others does not read the pod's": (
        [versioned("1", anti_affinity=[SAME])],
        pod("p", labels={"app": "db", "version": "2"}),
        True,
    ),
}


@pytest.mark.parametrize(("others", "asking", "right"), KEYS.values(), ids=KEYS.keys())
def test_label_keys(others: list[Obj], asking: Obj, right: bool) -> None:
    assert fits(*NODES, *others, asking) is right


# ---- members among themselves


RACKS = [node("n1", cpu=2, rack="r1"), node("n2", cpu=2, rack="r2"), node("n3", cpu=2, rack="r2")]


def members(count: int, **fields: Any) -> list[Obj]:
    return [
        pod_group("g", count),
        *pods("g", count, 1, group="g", labels={"app": "g"}, **fields),
    ]


def test_members_that_seek_each_other_found_one_domain() -> None:
    plan = decide([*RACKS, *members(4, affinity=[near("rack", {"app": "g"})])])
    assert nodes_used(plan) == {"n2", "n3"}
    plan = decide([*RACKS, *members(5, affinity=[near("rack", {"app": "g"})])])
    assert (verdict(plan), seated(plan), first(plan)) == ("Impossible", [], "Affinity")


def test_members_that_avoid_each_other_take_a_domain_each() -> None:
    plan = decide([*RACKS, *members(2, anti_affinity=[near("rack", {"app": "g"})])])
    assert len({where == "n1" for where in seats(plan).values()}) == 2
    plan = decide([*RACKS, *members(3, anti_affinity=[near("rack", {"app": "g"})])])
    assert (verdict(plan), seated(plan), first(plan)) == ("Impossible", [], "Affinity")


def test_members_that_avoid_each_other_in_two_ways_leave_each_other_a_place() -> None:
    """Whoever takes the node of the shared rack and the shared zone leaves none to the other."""
    nodes = [node(f"n{r}{z}", rack=f"r{r}", zone=f"z{z}") for r, z in ((0, 0), (0, 1), (1, 0))]
    apart = [near(level, {"app": "g"}) for level in ("rack", "zone")]
    assert nodes_used(decide([*nodes, *members(2, anti_affinity=apart)])) == {"n01", "n10"}


def test_workers_follow_their_leader_whatever_the_order() -> None:
    """Workers come first by name and by age; the company they seek is a member that comes after them."""
    leader = pod("z-lead", 1, group="g", labels={"role": "lead"}, created=9)
    workers = [
        pod(f"a-{i}", 1, group="g", affinity=[near("rack", {"role": "lead"})], created=1) for i in range(3)
    ]
    plan = decide([*RACKS, pod_group("g", 4), *workers, leader])
    assert (len(seated(plan)), nodes_used(plan)) == (4, {"n2", "n3"})


def test_a_group_that_seeks_others_waits_for_them() -> None:
    plan = decide([*RACKS, *members(2, affinity=[near("rack", {"app": "db"})])])
    assert (verdict(plan), first(plan)) == ("Waiting", "Affinity")


def test_groups_avoid_the_members_of_groups_seated_before_them() -> None:
    one = pod("one", 1, labels={"app": "x"}, created=1)
    two = pod("two", 1, labels={"app": "y"}, created=2, anti_affinity=[near("rack", {"app": "x"})])
    plan = decide([*RACKS, one, two])
    racks = {"n1": "r1", "n2": "r2", "n3": "r2"}
    assert len({racks[where] for where in seats(plan).values()}) == 2


def test_groups_are_avoided_by_groups_seated_before_them() -> None:
    one = pod("one", 1, labels={"app": "x"}, created=1, anti_affinity=[near("rack", {"app": "y"})])
    two = pod("two", 1, labels={"app": "y"}, created=2)
    plan = decide([node("n1", rack="r1"), one, two])
    assert seated(plan) == ["one"]
    assert (verdict(plan, "two"), first(plan, "two")) == ("Waiting", "Priority")


# ---- spread


ZONES = [node("n", cpu=4, zone="z1"), node("m", cpu=4, zone="z2")]
APP = {"app": "web"}


def crowd(*on: str, **more: Any) -> list[Obj]:
    return [pod(f"c{i}", labels=APP, node=where, **more) for i, where in enumerate(on)]


def spreading(*constraints: Obj, **more: Any) -> Obj:
    return pod("p", labels=APP, spread=constraints, where={"zone": "here"}, **more)


def zones(n: str = "z1", m: str | None = "z2", **more: Any) -> list[Obj]:
    """The node that is asked about, marked ``zone: here``, and another one."""
    here = node("n", zone=n, labels={"zone": "here"}, **more)
    return [here, node("m", zone=m)]


BY_ZONE = spread("zone", APP, affinity_policy="Ignore")
SPREAD: dict[str, Case] = {
    "level": ([*zones(), *crowd("n", "m")], spreading(BY_ZONE), True),
    "one more than elsewhere": ([*zones(), *crowd("n")], spreading(BY_ZONE), False),
    "one fewer than elsewhere": ([*zones(), *crowd("m")], spreading(BY_ZONE), True),
    "a larger skew": (
        [*zones(), *crowd("n")],
        spreading(spread("zone", APP, skew=2, affinity_policy="Ignore")),
        True,
    ),
    "a larger skew is used up": (
        [*zones(), *crowd("n", "n")],
        spreading(spread("zone", APP, skew=2, affinity_policy="Ignore")),
        False,
    ),
    "ScheduleAnyway keeps nobody out": (
        [*zones(), *crowd("n", "n")],
        spreading(spread("zone", APP, soft=True, affinity_policy="Ignore")),
        True,
    ),
    "pods of another kind do not count": (
        [*zones(), pod("c", labels={"app": "x"}, node="n")],
        spreading(BY_ZONE),
        True,
    ),
    "pods of another namespace do not count": (
        [*zones(), *crowd("n", namespace="other")],
        spreading(BY_ZONE),
        True,
    ),
    "terminating pods do not count": ([*zones(), *crowd("n", deleted=True)], spreading(BY_ZONE), True),
    "finished pods do not count": ([*zones(), *crowd("n", phase="Succeeded")], spreading(BY_ZONE), True),
    "a pod that is not counted itself": (
        [*zones(), *crowd("n")],
        pod("p", spread=[BY_ZONE], where={"zone": "here"}),
        True,
    ),
    "a node without the key": ([*zones(), *crowd()], spreading(spread("rack", APP)), False),
    "a node without the key does not count": (
        [*zones(m=None), *crowd("n", "m")],
        spreading(BY_ZONE),
        True,
    ),
    "no selector counts nobody": (
        [*zones(), *crowd("n")],
        spreading(spread("zone", None, affinity_policy="Ignore")),
        True,
    ),
    "the empty selector counts nobody, in kube-scheduler too": (
        [*zones(), pod("c", labels={"app": "x"}, node="n")],
        spreading(spread("zone", {}, affinity_policy="Ignore")),
        True,
    ),
    "all constraints hold together": (
        [*zones(), *crowd("n")],
        spreading(spread("hostname", APP, skew=5, affinity_policy="Ignore"), BY_ZONE),
        False,
    ),
    "fewer domains than minDomains: the least is 0": (
        [*zones(), *crowd("n", "m")],
        spreading(spread("zone", APP, min_domains=3, affinity_policy="Ignore")),
        False,
    ),
    "fewer domains than minDomains, none there yet": (
        zones(),
        spreading(spread("zone", APP, min_domains=3, affinity_policy="Ignore")),
        True,
    ),
    "as many domains as minDomains": (
        [*zones(), *crowd("n", "m")],
        spreading(spread("zone", APP, min_domains=2, affinity_policy="Ignore")),
        True,
    ),
    "nodes that the pod does not choose are left out": (
        [*zones(), *crowd("n", "n")],
        spreading(spread("zone", APP)),
        True,
    ),
    "nodes that the pod does not choose are counted with Ignore": (
        [*zones(), *crowd("n", "n")],
        spreading(BY_ZONE),
        False,
    ),
    "pods on nodes that the pod does not choose are left out": (
        [*zones(m="z1"), node("x", zone="z2", labels={"zone": "here"}, pods=0), *crowd("m", "m")],
        spreading(spread("zone", APP)),
        True,
    ),
    "tainted nodes are counted": (
        [*zones(), node("x", zone="z3", taints=["closed:NoSchedule"]), *crowd("n", "m")],
        spreading(BY_ZONE),
        False,
    ),
    "tainted nodes are left out with Honor": (
        [*zones(), node("x", zone="z3", taints=["closed:NoSchedule"]), *crowd("n", "m")],
        spreading(spread("zone", APP, affinity_policy="Ignore", taints_policy="Honor")),
        True,
    ),
    "tainted nodes that the pod tolerates are counted with Honor": (
        [*zones(), node("x", zone="z3", taints=["closed:NoSchedule"]), *crowd("n", "m")],
        spreading(
            spread("zone", APP, affinity_policy="Ignore", taints_policy="Honor"), tolerations=["closed"]
        ),
        False,
    ),
    "cordoned nodes are left out with Honor": (
        [*zones(), node("x", zone="z3", cordoned=True), *crowd("n", "m")],
        spreading(spread("zone", APP, affinity_policy="Ignore", taints_policy="Honor")),
        True,
    ),
}


@pytest.mark.parametrize(("others", "asking", "right"), SPREAD.values(), ids=SPREAD.keys())
def test_spread(others: list[Obj], asking: Obj, right: bool) -> None:
    assert fits(*others, asking) is right


@pytest.mark.parametrize(("version", "right"), [("1", False), ("2", True)])
def test_spread_counts_the_pods_of_the_same_version(version: str, right: bool) -> None:
    there = pod("c", labels={**APP, "version": "1"}, node="n")
    constraint = spread("zone", APP, match_label_keys=["version"], affinity_policy="Ignore")
    asking = spreading(constraint)
    asking["metadata"]["labels"]["version"] = version
    assert fits(*zones(), there, asking) is right


def test_nodes_count_for_a_spread_only_if_they_have_all_its_keys() -> None:
    """The pod on m does not count for the zone, as m has no rack, which the other constraint asks for."""
    nodes = [node("n", zone="z1", rack="r1"), node("m", zone="z2")]
    both = [spread("zone", APP), spread("rack", APP, skew=9)]
    asking = pod("p", labels=APP, spread=both, node_affinity=[expr("rack", "Exists")])
    ignoring = [{**constraint, "nodeAffinityPolicy": "Ignore"} for constraint in both]
    assert fits(*nodes, *crowd("n"), asking)
    asking["spec"]["topologySpreadConstraints"] = ignoring
    assert fits(*nodes, *crowd("n"), asking)
    asking["spec"]["topologySpreadConstraints"] = ignoring[:1]
    assert not fits(*nodes, *crowd("n"), asking)


def test_members_are_spread_evenly() -> None:
    plan = decide([*ZONES, *members(6, spread=[spread("zone", {"app": "g"})])])
    where = list(seats(plan).values())
    assert (where.count("n"), where.count("m")) == (3, 3)


def test_members_that_cannot_be_spread_wait() -> None:
    small = [node("n", cpu=4, zone="z1"), node("m", cpu=1, zone="z2")]
    assert len(seated(decide([*small, *members(3, spread=[spread("zone", {"app": "g"})])]))) == 3
    plan = decide([*small, *members(4, spread=[spread("zone", {"app": "g"})])])
    assert (verdict(plan), first(plan)) == ("Impossible", "Affinity")


def test_a_marked_group_is_spread_too() -> None:
    labels = {"app": "g", **gang("g", 2)}
    group = pods("g", 2, 1, labels=labels, spread=[spread("zone", {"app": "g"})])
    assert nodes_used(decide([*ZONES, *group])) == {"m", "n"}
