"""What holds of scores and lemons whatever happens."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from maitred.decide.healing.scores import Decay
from maitred.model.policy import LemonRules
from tests.decide.lemons import Story, at, fleet, memory, score, with_lost
from tests.explain.test_health_laws import NODES, SPACES, tenant_pods
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.support import decide


def grouped(pods: list[Obj]) -> list[Obj]:
    """All pods of a namespace in one gang, which is what counts."""
    spaces = sorted({pod["metadata"]["namespace"] for pod in pods})
    for pod in pods:
        pod["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    return [*(b.pod_group("g", 2, namespace=space) for space in spaces), *pods]


@given(tenant_pods(SPACES[:2]))
@examples(100)
def test_what_fewer_than_three_namespaces_write_changes_no_score(pods: list[Obj]) -> None:
    nodes = [b.node(name) for name in NODES]
    found = decide([*nodes, *grouped(pods)])["memory"]
    assert found is None or found["scores"] == []
    kept = memory(score("n0", 1.0, at(-60)))
    found = decide([*nodes, *grouped(pods), kept])["memory"]
    assert found is None or [(one["node"], one["score"]) for one in found["scores"]] == [("n0", 1.0)]


@given(
    st.lists(st.sampled_from(NODES), min_size=2, max_size=6, unique=True),
    st.integers(1, 4),
    st.integers(1, 255),
)
@examples(50)
def test_user_bugs_cost_no_node_its_good_name(where: list[str], tenants: int, code: int) -> None:
    """The same bug in as many namespaces as there are: it shows on more than one node."""
    end = {"exitCode": code, "reason": "Error", "finishedAt": at(-1)}
    pods = list[Obj]()
    for space in SPACES[:tenants]:
        for number, node in enumerate(where):
            pod = b.pod(f"p{number}", namespace=space, node=node, phase="Failed", index=number)
            pod["status"]["containerStatuses"] = [{"name": "main", "state": {"terminated": end}}]
            pods.append(pod)
    found = decide([*(b.node(name) for name in NODES), *grouped(pods)])["memory"]
    assert found is None or found["scores"] == []


steps = st.lists(
    st.tuples(st.integers(1, 3000), st.sets(st.integers(0, 11), max_size=3), st.booleans()), max_size=12
)


@given(steps, st.one_of(st.none(), st.integers(0, 2)), st.booleans())
@examples(40)
def test_no_more_lemons_are_tainted_than_the_policy_allows(
    story_of: list[tuple[int, set[int], bool]], most: int | None, by_rack: bool
) -> None:
    """Nodes fail at random; taints are written, or not in time."""
    limits: dict[str, Any] = {"taint": True, "above": 0.9, "perDomain": most}
    if by_rack:
        limits["level"] = "rack"
    story, marked, now = Story({"healing": {"lemons": limits}}), set[str](), 0.0
    for minutes, failing, written in story_of:
        now += minutes
        nodes = [b.node(f"n{i:02}", gpu=8, rack=f"r{i % 2}") for i in range(12)]
        names = [f"n{i:02}" for i in sorted(failing)]
        nodes = with_lost(nodes, *names, since=at(now - 5))
        for number, node in enumerate(nodes):
            node["metadata"].setdefault("labels", {})["rack"] = f"r{number % 2}"
            if node["metadata"]["name"] in marked:
                node["spec"]["taints"] = [{"key": "maitred.dev/lemon", "effect": "NoSchedule"}]
        plan = story.goes_on(nodes, at(now))
        after = set(marked)
        for one in plan["taints"]:
            (after.add if one["add"] else after.discard)(one["node"])
        for rack in (0, 1) if by_rack else (None,):
            inside = [name for name in after if rack is None or int(name[1:]) % 2 == rack]
            size = 12 if rack is None else 6
            assert len(inside) <= (size // 10 if most is None else most)
        marked = after if written else marked


@given(st.floats(0.01, 1000), st.integers(0, 10**8), st.integers(0, 10**8), st.sampled_from(["1h", "7d"]))
@examples(200)
def test_a_score_only_ever_becomes_less_by_time(value: float, one: int, other: int, half_life: str) -> None:
    decay, start = Decay(LemonRules(half_life=half_life)), datetime(2026, 1, 1, tzinfo=UTC)
    first, last = sorted((one, other))
    sooner = decay.now(value, start, start + timedelta(seconds=first))
    later = decay.now(value, start, start + timedelta(seconds=last))
    assert 0 <= later <= sooner <= value
    assert decay.now(value, start, start - timedelta(seconds=first)) == value


asks_of_groups = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 8)), max_size=5)


@given(asks_of_groups, st.randoms(use_true_random=False))
@examples(60)
def test_scores_change_only_where_equals_sit(asks: list[tuple[int, int]], random: Any) -> None:
    """As many members are placed, and without any score a Plan is what it was without a memory."""
    nodes = [b.node(f"n{i}", gpu=8, rack=f"r{i // 3}") for i in range(6)]
    objects = list(nodes)
    for number, (count, gpu) in enumerate(asks):
        objects.append(b.pod_group(f"g{number}", count))
        objects += [b.pod(f"g{number}-{i}", gpu=gpu, group=f"g{number}", index=i) for i in range(count)]
    policy = {"topology": {"levels": [{"name": "rack", "key": "rack"}]}}
    plain = decide(objects, policy)
    assert decide([*objects, memory()], policy) == plain
    some = sorted(random.sample(range(6), 2))
    worn = memory(*(score(f"n{i}", 1.0 + i % 2, lemonSince=at(0) if i % 2 else None) for i in some))
    found = decide([*objects, worn], policy)
    if len(asks) == 1:  # of several, the later ones depend on where the earlier ones sit
        assert len(found["binds"]) == len(plain["binds"])
    assert found["memory"] is None


@given(st.lists(st.integers(0, 600), min_size=1, max_size=30))
@examples(40)
def test_the_memory_is_written_when_something_fails_and_not_as_time_goes_by(minutes: list[int]) -> None:
    story, now, failures = Story(), 0.0, 0
    for number, span in enumerate(minutes):
        now += span
        failures += number % 2
        nodes = with_lost(fleet(), "n00", since=at(now - 1)) if number % 2 else fleet()
        story.goes_on(nodes, at(now))
        before = story.writes
        story.goes_on(nodes, at(now))
        assert story.writes == before
    named_and_released = 2 * failures
    assert story.writes <= 3 * failures + named_and_released
