"""Every filter of one node at a time: what it must catch, and the near miss that it must let pass."""

from typing import Any

import pytest

from .make import (
    Raw,
    affinity,
    anti_affinity,
    namespace,
    node,
    node_affinity,
    pod,
    reason,
    spread,
    taint,
    term,
)

NODE_LABELS = {"disk": "ssd", "cores": "16", "name": "n1"}


def asks(**expression: Any) -> Raw:
    return node_affinity({"matchExpressions": [expression]})


def by_name(operator: str, name: str) -> Raw:
    return node_affinity({"matchFields": [{"key": "metadata.name", "operator": operator, "values": [name]}]})


# What a pod asks of the node n1, and whether it gets it.
NODE_CHOICE: dict[str, tuple[Raw, bool]] = {
    "selector": ({"nodeSelector": {"disk": "ssd"}}, True),
    "selector, other value": ({"nodeSelector": {"disk": "hdd"}}, False),
    "selector, no such label": ({"nodeSelector": {"gpu": "a"}}, False),
    "In": ({"affinity": asks(key="disk", operator="In", values=["hdd", "ssd"])}, True),
    "In, not there": ({"affinity": asks(key="disk", operator="In", values=["hdd"])}, False),
    "NotIn": ({"affinity": asks(key="disk", operator="NotIn", values=["hdd"])}, True),
    "NotIn, there": ({"affinity": asks(key="disk", operator="NotIn", values=["ssd"])}, False),
    "NotIn holds without the label": ({"affinity": asks(key="gpu", operator="NotIn", values=["a"])}, True),
    "Exists": ({"affinity": asks(key="disk", operator="Exists")}, True),
    "Exists, absent": ({"affinity": asks(key="gpu", operator="Exists")}, False),
    "DoesNotExist": ({"affinity": asks(key="gpu", operator="DoesNotExist")}, True),
    "DoesNotExist, there": ({"affinity": asks(key="disk", operator="DoesNotExist")}, False),
    "Gt": ({"affinity": asks(key="cores", operator="Gt", values=["15"])}, True),
    "Gt is strict": ({"affinity": asks(key="cores", operator="Gt", values=["16"])}, False),
    "Lt": ({"affinity": asks(key="cores", operator="Lt", values=["17"])}, True),
    "Lt is strict": ({"affinity": asks(key="cores", operator="Lt", values=["16"])}, False),
    "Gt of a word": ({"affinity": asks(key="disk", operator="Gt", values=["1"])}, False),
    "Gt without the label": ({"affinity": asks(key="gpu", operator="Gt", values=["1"])}, False),
    "by name": ({"affinity": by_name("In", "n1")}, True),
    "by another name": ({"affinity": by_name("In", "n2")}, False),
    "not by name": ({"affinity": by_name("NotIn", "n1")}, False),
    "terms are alternatives": (
        {
            "affinity": node_affinity(
                {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["hdd"]}]},
                {"matchExpressions": [{"key": "disk", "operator": "Exists"}]},
            )
        },
        True,
    ),
    "expressions and fields add up": (
        {
            "affinity": node_affinity(
                {
                    "matchExpressions": [{"key": "disk", "operator": "Exists"}],
                    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}],
                }
            )
        },
        False,
    ),
    "an empty term matches nothing": ({"affinity": node_affinity({})}, False),
    "no terms match nothing": ({"affinity": node_affinity()}, False),
    "selector and affinity add up": (
        {"nodeSelector": {"disk": "hdd"}, "affinity": asks(key="disk", operator="Exists")},
        False,
    ),
}


@pytest.mark.parametrize(("spec", "fits"), NODE_CHOICE.values(), ids=NODE_CHOICE.keys())
def test_node_choice(spec: Raw, fits: bool) -> None:
    assert (reason([node("n1", labels=NODE_LABELS), pod("p", **spec)], "p", "n1") is None) == fits


GPU = taint("gpu", "a100")
TAINTS: dict[str, tuple[Raw, list[Raw], bool]] = {
    "none": ({}, [], True),
    "not tolerated": ({"taints": [GPU]}, [], False),
    "NoExecute keeps away too": ({"taints": [taint("x", effect="NoExecute")]}, [], False),
    "PreferNoSchedule does not": ({"taints": [taint("x", effect="PreferNoSchedule")]}, [], True),
    "Equal": ({"taints": [GPU]}, [{"key": "gpu", "operator": "Equal", "value": "a100"}], True),
    "Equal is the default": ({"taints": [GPU]}, [{"key": "gpu", "value": "a100"}], True),
    "Equal, other value": ({"taints": [GPU]}, [{"key": "gpu", "value": "h100"}], False),
    "Exists": ({"taints": [GPU]}, [{"key": "gpu", "operator": "Exists"}], True),
    "Exists, other key": ({"taints": [GPU]}, [{"key": "tpu", "operator": "Exists"}], False),
    "tolerates everything": ({"taints": [GPU]}, [{"operator": "Exists"}], True),
    "effect": ({"taints": [GPU]}, [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}], True),
    "other effect": ({"taints": [GPU]}, [{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}], False),
    "one of two": ({"taints": [GPU, taint("x")]}, [{"key": "gpu", "operator": "Exists"}], False),
    "Lt": ({"taints": [taint("risk", "3")]}, [{"key": "risk", "operator": "Lt", "value": "5"}], True),
    "Lt is strict": (
        {"taints": [taint("risk", "5")]},
        [{"key": "risk", "operator": "Lt", "value": "5"}],
        False,
    ),
    "Gt": ({"taints": [taint("sla", "99")]}, [{"key": "sla", "operator": "Gt", "value": "95"}], True),
    "Gt is strict": (
        {"taints": [taint("sla", "95")]},
        [{"key": "sla", "operator": "Gt", "value": "95"}],
        False,
    ),
    "Gt of a word": (
        {"taints": [taint("sla", "high")]},
        [{"key": "sla", "operator": "Gt", "value": "5"}],
        False,
    ),
    "unknown operator": ({"taints": [GPU]}, [{"key": "gpu", "operator": "Like", "value": "a100"}], False),
    "cordoned": ({"unschedulable": True}, [], False),
    "cordoned, tolerated": (
        {"unschedulable": True},
        [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}],
        True,
    ),
    "not ready": ({"ready": "False"}, [], False),
    "not ready, tolerated": (
        {"ready": "False"},
        [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
        True,
    ),
    "not ready, tolerated only for a while after": (
        {"ready": "False"},
        [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
        False,
    ),
    "unreachable": (
        {"ready": "Unknown"},
        [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
        False,
    ),
    "ready": ({"ready": "True"}, [], True),
}


@pytest.mark.parametrize(("about", "tolerations", "fits"), TAINTS.values(), ids=TAINTS.keys())
def test_taints(about: Raw, tolerations: list[Raw], fits: bool) -> None:
    assert (reason([node("n1", **about), pod("p", tolerations=tolerations)], "p", "n1") is None) == fits


RESOURCES: dict[str, tuple[list[Raw], bool]] = {
    "fits exactly": ([pod("p", "4")], True),
    "too large": ([pod("p", "4001m")], False),
    "others hold some": ([pod("a", "2", on="n1"), pod("p", "2001m")], False),
    "finished pods hold nothing": ([pod("a", "2", on="n1", phase="Succeeded"), pod("p", "4")], True),
    "terminating pods hold": (
        [pod("a", "2", on="n1", deletionTimestamp="2026-01-01T00:00:00Z"), pod("p", "3")],
        False,
    ),
    "a resource that the node lacks": ([pod("p", amounts={"nvidia.com/gpu": "1"})], False),
    "none of a resource that the node lacks": ([pod("p", amounts={"nvidia.com/gpu": "0"})], True),
    "zero on a full node": ([pod("a", "9", on="n1"), pod("p", "0")], True),
    "as many pods as it takes": ([pod("a", "0", on="n1"), pod("p", "0")], True),
    "one pod too many": ([pod("a", "0", on="n1"), pod("b", "0", on="n1"), pod("p", "0")], False),
}


@pytest.mark.parametrize(("pods", "fits"), RESOURCES.values(), ids=RESOURCES.keys())
def test_resources(pods: list[Raw], fits: bool) -> None:
    assert (reason([node("n1", amounts={"pods": "2"}), *pods], "p", "n1") is None) == fits


def test_a_node_takes_110_pods_unless_it_says_otherwise() -> None:
    bare = node("n1")
    del bare["status"]["allocatable"]["pods"]
    crowd = [pod(f"a{i}", "0", on="n1") for i in range(110)]
    assert reason([bare, *crowd[1:], pod("p", "0")], "p", "n1") is None
    assert "pods" in (reason([bare, *crowd, pod("p", "0")], "p", "n1") or "")


def test_capacity_stands_in_for_allocatable() -> None:
    bare = node("n1")
    bare["status"] = {"capacity": {"cpu": "2"}}
    assert reason([bare, pod("p", "2")], "p", "n1") is None
    assert reason([bare, pod("p", "3")], "p", "n1") is not None


def port(number: int, address: str = "", protocol: str = "TCP") -> Raw:
    box = {"name": "c", "ports": [{"hostPort": number, "hostIP": address, "protocol": protocol}]}
    return {"containers": [box]}


PORTS: dict[str, tuple[Raw, Raw, bool]] = {
    "same": (port(80), port(80), False),
    "other number": (port(80), port(81), True),
    "other protocol": (port(80), port(80, protocol="UDP"), True),
    "other address": (port(80, "10.0.0.1"), port(80, "10.0.0.2"), True),
    "same address": (port(80, "10.0.0.1"), port(80, "10.0.0.1"), False),
    "all addresses against one": (port(80), port(80, "10.0.0.1"), False),
    "one against all addresses": (port(80, "10.0.0.1"), port(80, "0.0.0.0"), False),
}


@pytest.mark.parametrize(("there", "new", "fits"), PORTS.values(), ids=PORTS.keys())
def test_host_ports(there: Raw, new: Raw, fits: bool) -> None:
    objects = [node("n1"), node("n2"), pod("a", on="n1", **there), pod("p", **new)]
    assert (reason(objects, "p", "n1") is None) == fits
    assert reason(objects, "p", "n2") is None


# Two racks of two nodes, and one node outside any rack.
RACKS = [node(n, labels={"rack": r}) for n, r in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("b2", "b"))]
RACKS.append(node("bare"))
WEB = {"app": "web"}
LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}

# What runs, what the pod is, and the nodes that it may go to.
NEIGHBOURS: dict[str, tuple[list[Raw], Raw, str]] = {
    "affinity": ([pod("w", on="a1", labels=WEB)], {"affinity": affinity(term(WEB, "rack"))}, "a1 a2"),
    "affinity, nobody matches": ([], {"affinity": affinity(term(WEB, "rack"))}, ""),
    "affinity, another namespace": (
        [pod("w", on="a1", labels=WEB, namespace="other")],
        {"affinity": affinity(term(WEB, "rack"))},
        "",
    ),
    "affinity, namespace by name": (
        [pod("w", on="a1", labels=WEB, namespace="other")],
        {"affinity": affinity(term(WEB, "rack", namespaces=["other"]))},
        "a1 a2",
    ),
    "affinity, namespace by label": (
        [namespace("other", team="x"), pod("w", on="a1", labels=WEB, namespace="other")],
        {"affinity": affinity(term(WEB, "rack", namespaceSelector={"matchLabels": {"team": "x"}}))},
        "a1 a2",
    ),
    "affinity, namespace by its own name": (
        [pod("w", on="a1", labels=WEB, namespace="other")],
        {
            "affinity": affinity(
                term(WEB, "rack", namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "other"}})
            )
        },
        "a1 a2",
    ),
    "affinity, every namespace": (
        [pod("w", on="a1", labels=WEB, namespace="other")],
        {"affinity": affinity(term(WEB, "rack", namespaceSelector={}))},
        "a1 a2",
    ),
    "affinity, namespace selector leaves out its own": (
        [namespace("default"), pod("w", on="a1", labels=WEB)],
        {"affinity": affinity(term(WEB, "rack", namespaceSelector={"matchLabels": {"team": "x"}}))},
        "",
    ),
    "first of a series": ([], {"labels": WEB, "affinity": affinity(term(WEB, "rack"))}, "a1 a2 b1 b2"),
    "second of a series": (
        [pod("w", on="b1", labels=WEB)],
        {"labels": WEB, "affinity": affinity(term(WEB, "rack"))},
        "b1 b2",
    ),
    "a match outside every domain does not start a series": (
        [pod("w", on="bare", labels=WEB)],
        {"labels": WEB, "affinity": affinity(term(WEB, "rack"))},
        "a1 a2 b1 b2",
    ),
    "finished pods attract nobody": (
        [pod("w", on="a1", labels=WEB, phase="Failed")],
        {"affinity": affinity(term(WEB, "rack"))},
        "",
    ),
    "terminating pods do": (
        [pod("w", on="a1", labels=WEB, **LEAVING)],
        {"affinity": affinity(term(WEB, "rack"))},
        "a1 a2",
    ),
    "affinity: one pod must match all terms": (
        [pod("w", on="a1", labels=WEB), pod("d", on="a1", labels={"tier": "db"})],
        {"affinity": affinity(term(WEB, "rack"), term({"tier": "db"}, "rack"))},
        "",
    ),
    "affinity: one pod that matches all terms": (
        [pod("w", on="a1", labels={**WEB, "tier": "db"})],
        {"affinity": affinity(term(WEB, "rack"), term({"tier": "db"}, "kubernetes.io/hostname"))},
        "a1",
    ),
    "affinity: matchLabelKeys": (
        [
            pod("w", on="a1", labels={**WEB, "rev": "1"}),
            pod("v", on="b1", labels={**WEB, "rev": "2"}),
        ],
        {"labels": {"rev": "2"}, "affinity": affinity(term(WEB, "rack", matchLabelKeys=["rev", "none"]))},
        "b1 b2",
    ),
    "affinity: mismatchLabelKeys": (
        [
            pod("w", on="a1", labels={**WEB, "rev": "1"}),
            pod("v", on="b1", labels={**WEB, "rev": "2"}),
        ],
        {"labels": {"rev": "2"}, "affinity": affinity(term(WEB, "rack", mismatchLabelKeys=["rev"]))},
        "a1 a2",
    ),
    "affinity: no selector matches nobody": (
        [pod("w", on="a1", labels=WEB)],
        {"affinity": affinity(term(None, "rack"))},
        "",
    ),
    "affinity: an empty selector matches everybody": (
        [pod("w", on="a1")],
        {"affinity": affinity(term({}, "rack"))},
        "a1 a2",
    ),
    "anti-affinity": (
        [pod("w", on="a1", labels=WEB)],
        {"affinity": anti_affinity(term(WEB, "rack"))},
        "b1 b2 bare",
    ),
    "anti-affinity per node": (
        [pod("w", on="a1", labels=WEB)],
        {"affinity": anti_affinity(term(WEB))},
        "a2 b1 b2 bare",
    ),
    "anti-affinity against a terminating pod": (
        [pod("w", on="a1", labels=WEB, **LEAVING)],
        {"affinity": anti_affinity(term(WEB, "rack"))},
        "b1 b2 bare",
    ),
    "anti-affinity of a running pod": (
        [pod("w", on="a1", affinity=anti_affinity(term(WEB, "rack")))],
        {"labels": WEB},
        "b1 b2 bare",
    ),
    "anti-affinity of a running pod against others": (
        [pod("w", on="a1", affinity=anti_affinity(term({"app": "db"}, "rack")))],
        {"labels": WEB},
        "a1 a2 b1 b2 bare",
    ),
    "anti-affinity of a running pod elsewhere": (
        [pod("w", on="a1", namespace="other", affinity=anti_affinity(term(WEB, "rack")))],
        {"labels": WEB},
        "a1 a2 b1 b2 bare",
    ),
    "anti-affinity of a running pod outside any domain": (
        [pod("w", on="bare", affinity=anti_affinity(term(WEB, "rack")))],
        {"labels": WEB},
        "a1 a2 b1 b2 bare",
    ),
    "anti-affinity: any term": (
        [pod("w", on="a1", labels=WEB), pod("d", on="b1", labels={"tier": "db"})],
        {"affinity": anti_affinity(term(WEB, "rack"), term({"tier": "db"}))},
        "b2 bare",
    ),
}


@pytest.mark.parametrize(("others", "about", "allowed"), NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
def test_neighbours(others: list[Raw], about: Raw, allowed: str) -> None:
    objects = [*RACKS, *others, pod("p", "0", **about)]
    names = [n["metadata"]["name"] for n in RACKS]
    assert [n for n in names if reason(objects, "p", n) is None] == allowed.split()


def web(name: str, on: str, **more: Any) -> Raw:
    return pod(name, "0", on=on, labels=WEB | more.pop("extra", {}), **more)


def spreads(*constraints: Raw, **more: Any) -> Raw:
    return {"labels": WEB, "topologySpreadConstraints": list(constraints), **more}


IN_RACK_A = {"nodeSelector": {"rack": "a"}}
SPREADS: dict[str, tuple[list[Raw], Raw, str]] = {
    "all empty": ([], spreads(spread("rack", WEB)), "a1 a2 b1 b2"),
    "ahead by one": ([web("w", "a1")], spreads(spread("rack", WEB)), "b1 b2"),
    "ahead by one of two": ([web("w", "a1")], spreads(spread("rack", WEB, 2)), "a1 a2 b1 b2"),
    "even": ([web("w", "a1"), web("v", "b1")], spreads(spread("rack", WEB)), "a1 a2 b1 b2"),
    "others do not count": ([pod("w", "0", on="a1")], spreads(spread("rack", WEB)), "a1 a2 b1 b2"),
    "other namespaces do not count": (
        [web("w", "a1", namespace="other")],
        spreads(spread("rack", WEB)),
        "a1 a2 b1 b2",
    ),
    "terminating pods do not count": (
        [web("w", "a1", **LEAVING)],
        spreads(spread("rack", WEB)),
        "a1 a2 b1 b2",
    ),
    "finished pods do not count": (
        [web("w", "a1", phase="Succeeded")],
        spreads(spread("rack", WEB)),
        "a1 a2 b1 b2",
    ),
    "a pod that does not match itself": (
        [web("w", "a1")],
        {"topologySpreadConstraints": [spread("rack", WEB)]},
        "a1 a2 b1 b2",
    ),
    "ScheduleAnyway never keeps away": (
        [web("w", "a1")],
        spreads(spread("rack", WEB, whenUnsatisfiable="ScheduleAnyway")),
        "a1 a2 b1 b2 bare",
    ),
    "minDomains reached": (
        [web("w", "a1"), web("v", "b1")],
        spreads(spread("rack", WEB, minDomains=2)),
        "a1 a2 b1 b2",
    ),
    "minDomains missed: the least is none": (
        [web("w", "a1"), web("v", "b1")],
        spreads(spread("rack", WEB, minDomains=3)),
        "",
    ),
    "nodes that the selector leaves out are no domain": (
        [web("w", "a1")],
        spreads(spread("rack", WEB), **IN_RACK_A),
        "a1 a2",
    ),
    "nodes that the affinity leaves out are no domain": (
        [web("w", "a1")],
        spreads(spread("rack", WEB), affinity=asks(key="rack", operator="In", values=["a"])),
        "a1 a2",
    ),
    "nodeAffinityPolicy Ignore": (
        [web("w", "a1")],
        spreads(spread("rack", WEB, nodeAffinityPolicy="Ignore"), **IN_RACK_A),
        "",
    ),
    "matchLabelKeys": (
        [web("w", "a1", extra={"rev": "1"}), web("v", "b1", extra={"rev": "2"})],
        spreads(spread("rack", WEB, matchLabelKeys=["rev"])) | {"labels": {**WEB, "rev": "2"}},
        "a1 a2",
    ),
    "without matchLabelKeys": (
        [web("w", "a1", extra={"rev": "1"}), web("v", "b1", extra={"rev": "2"})],
        spreads(spread("rack", WEB)) | {"labels": {**WEB, "rev": "2"}},
        "a1 a2 b1 b2",
    ),
    "two constraints": (
        [web("w", "a1"), web("v", "b1")],
        spreads(spread("rack", WEB), spread("kubernetes.io/hostname", WEB)),
        "a2 b2",
    ),
    "nodes without all the keys do not count": (
        [web("w", "bare"), web("v", "a1"), web("u", "b1")],
        spreads(spread("kubernetes.io/hostname", WEB), spread("rack", WEB)),
        "a2 b2",
    ),
}


@pytest.mark.parametrize(("others", "about", "allowed"), SPREADS.values(), ids=SPREADS.keys())
def test_spread(others: list[Raw], about: Raw, allowed: str) -> None:
    objects = [*RACKS, *others, pod("p", "0", **about)]
    names = [n["metadata"]["name"] for n in RACKS]
    assert [n for n in names if reason(objects, "p", n) is None] == allowed.split()


@pytest.mark.parametrize(("policy", "fits"), [("Ignore", False), ("Honor", True)])
def test_spread_and_taints(policy: str, fits: bool) -> None:
    """An empty domain that the pod could never use holds it back, unless taints are honored."""
    nodes = [node("a1", labels={"rack": "a"}), node("b1", labels={"rack": "b"})]
    nodes.append(node("c1", labels={"rack": "c"}, taints=[taint("x")]))
    about = spreads(spread("rack", WEB, nodeTaintsPolicy=policy))
    objects = [*nodes, web("w", "a1"), web("v", "b1"), pod("p", **about)]
    assert [reason(objects, "p", n) is None for n in ("a1", "b1")] == [fits, fits]
    tolerant = pod("p", tolerations=[{"operator": "Exists"}], **about)
    assert [reason([*objects[:-1], tolerant], "p", n) is None for n in ("a1", "b1", "c1")] == [
        False,
        False,
        True,
    ]


def test_device_claims_must_be_allocated_within_reach() -> None:
    wish: Raw = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}
    objects = [node("n1"), node("n2"), pod("p", **wish)]
    assert "no allocation" in (reason(objects, "p", "n1") or "")
    host = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}
    where = {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}}
    meta = {"namespace": "default", "name": "c"}
    objects.append({"kind": "ResourceClaim", "metadata": meta, "status": {"allocation": where}})
    assert reason(objects, "p", "n1") is None
    assert "cannot be reached" in (reason(objects, "p", "n2") or "")
