"""Constraints hold if some order of the binds passes the filters one by one."""

import pytest

from .make import Raw, affinity, anti_affinity, judged, node, pod, seating, spread, term

RACKS = [node(n, labels={"rack": r}) for n, r in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("b2", "b"))]
DB, WEB, LOG = {"app": "db"}, {"app": "web"}, {"app": "log"}


def near(labels: Raw) -> Raw:
    return affinity(term(labels, "rack"))


def away(labels: Raw) -> Raw:
    return anti_affinity(term(labels, "rack"))


def even(labels: Raw, key: str = "rack") -> Raw:
    return {"labels": labels, "topologySpreadConstraints": [spread(key, labels)]}


ORDERS: dict[str, tuple[list[Raw], dict[str, str], bool]] = {
    "the one that attracts comes last in the Plan": (
        [pod("web", affinity=near(DB)), pod("db", labels=DB)],
        {"web": "a1", "db": "a2"},
        True,
    ),
    "the one that attracts is elsewhere": (
        [pod("web", affinity=near(DB)), pod("db", labels=DB)],
        {"web": "a1", "db": "b1"},
        False,
    ),
    "a chain": (
        [
            pod("log", labels=LOG, affinity=near(WEB)),
            pod("web", labels=WEB, affinity=near(DB)),
            pod("db", labels=DB),
        ],
        {"log": "a1", "web": "a2", "db": "a1"},
        True,
    ),
    "two that need each other": (
        [pod("web", labels=WEB, affinity=near(DB)), pod("db", labels=DB, affinity=near(WEB))],
        {"web": "a1", "db": "a2"},
        False,
    ),
    "a series in one domain": (
        [pod(f"db{i}", labels=DB, affinity=near(DB)) for i in range(3)],
        {"db0": "a1", "db1": "a2", "db2": "a1"},
        True,
    ),
    "a series in two domains": (
        [pod(f"db{i}", labels=DB, affinity=near(DB)) for i in range(3)],
        {"db0": "a1", "db1": "a2", "db2": "b1"},
        False,
    ),
    "a series that must start before its other match does": (
        [pod("plain", labels=DB), pod("db", labels=DB, affinity=near(DB))],
        {"plain": "b1", "db": "a1"},
        True,
    ),
    "a series that cannot start: its other match runs": (
        [pod("plain", labels=DB, on="b1"), pod("db", labels=DB, affinity=near(DB))],
        {"db": "a1"},
        False,
    ),
    "anti-affinity is the same in every order": (
        [pod("web", labels=WEB, affinity=away(DB)), pod("db", labels=DB)],
        {"web": "a1", "db": "a2"},
        False,
    ),
    "anti-affinity, other domain": (
        [pod("web", labels=WEB, affinity=away(DB)), pod("db", labels=DB)],
        {"web": "a1", "db": "b2"},
        True,
    ),
    "spread, by turns": (
        [pod(f"w{i}", **even(WEB)) for i in range(4)],
        {"w0": "a1", "w1": "a2", "w2": "b1", "w3": "b2"},
        True,
    ),
    "spread, uneven": (
        [pod(f"w{i}", **even(WEB)) for i in range(4)],
        {"w0": "a1", "w1": "a2", "w2": "a1", "w3": "b2"},
        False,
    ),
    "only the pod without a constraint may tip the balance": (
        [pod("free", labels=WEB), pod("bound", **even(WEB))],
        {"free": "a1", "bound": "a2"},
        True,
    ),
    "the pod without a constraint ran before": (
        [pod("free", labels=WEB, on="a1"), pod("bound", **even(WEB))],
        {"bound": "a2"},
        False,
    ),
    "some order for two, none for the third": (
        [pod("x", labels=WEB), pod("y", **even(WEB)), pod("z", labels=LOG, affinity=near(WEB))],
        {"x": "a1", "y": "a2", "z": "b1"},
        False,
    ),
    "some order for two, and for the third": (
        [pod("x", labels=WEB), pod("y", **even(WEB)), pod("z", labels=LOG, affinity=near(WEB))],
        {"x": "a1", "y": "a2", "z": "a1"},
        True,
    ),
    "w, then y, then x": (
        # One runs in a. x may go any time, but y only between w, which evens b out, and x.
        [pod("runs", on="a1", labels=WEB), pod("y", **even(WEB)), pod("x", labels=WEB), pod("w", labels=WEB)],
        {"y": "a2", "x": "a1", "w": "b1"},
        True,
    ),
    "w, then y, but x runs": (
        [
            pod("runs", on="a1", labels=WEB),
            pod("x", on="a1", labels=WEB),
            pod("y", **even(WEB)),
            pod("w", labels=WEB),
        ],
        {"y": "a2", "w": "b1"},
        False,
    ),
}


@pytest.mark.parametrize(("pods", "seats", "fits"), ORDERS.values(), ids=ORDERS.keys())
def test_order(pods: list[Raw], seats: dict[str, str], fits: bool) -> None:
    assert judged([*RACKS, *pods], seating(seats)) == ([] if fits else [3])


@pytest.mark.parametrize("turn", [1, -1])
def test_the_order_of_the_plan_does_not_matter(turn: int) -> None:
    for pods, seats, fits in ORDERS.values():
        turned = dict(list(seats.items())[::turn])
        assert judged([*RACKS, *pods[::turn]], seating(turned)) == ([] if fits else [3])


def test_a_long_chain_against_the_order_of_the_plan() -> None:
    links = [
        pod(f"p{i:02}", "10m", labels={"n": str(i)}, affinity=near({"n": str(i + 1)})) for i in range(12)
    ]
    objects = [*RACKS, *links, pod("last", "10m", labels={"n": "12"})]
    seats = {p["metadata"]["name"]: "a1" for p in links}
    assert judged(objects, seating(seats | {"last": "a1"})) == []
    assert judged(objects, seating(seats | {"last": "b1"})) == [3]


def crowd(count: int) -> tuple[list[Raw], dict[str, str]]:
    """A case that needs a search, and a crowd beside it that is one set of pods that look at each other."""
    pods, seats, _ = ORDERS["w, then y, then x"]
    many = [pod(f"db{i}", "1m", labels=DB, affinity=affinity(term(DB, "row"))) for i in range(count)]
    room = [node(name, amounts={"pods": "500"}, labels={"row": "c"}) for name in ("c1", "c2")]
    return [*room, *pods, *many], seats | {f"db{i}": f"c{i % 2 + 1}" for i in range(count)}


@pytest.mark.parametrize("count", [14, 15, 201])
def test_a_crowd(count: int) -> None:
    objects, seats = crowd(count)
    assert judged([*RACKS, *objects], seating(seats)) == []
    assert judged([*RACKS, *objects], seating(seats | {"db7": "a1"})) == [3]


def test_only_one_order_of_many_passes() -> None:
    """Each pod starts a series of its own kind; its double, which may go any time, must come after it."""
    kinds = [{"kind": str(i)} for i in range(6)]
    doubles = [pod(f"double{i}", "10m", labels=kind) for i, kind in enumerate(kinds)]
    firsts = [pod(f"first{i}", "10m", labels=kind, affinity=near(kind)) for i, kind in enumerate(kinds)]
    seats = {f"double{i}": "b1" for i in range(6)} | {f"first{i}": "a1" for i in range(6)}
    assert judged([*RACKS, *doubles, *firsts], seating(seats)) == []
    running = [*doubles[:5], pod("double5", "10m", labels=kinds[5], on="b1")]
    del seats["double5"]
    assert judged([*RACKS, *running, *firsts], seating(seats)) == [3]
