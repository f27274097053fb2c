"""What holds of health whatever tenants write: no bug blames a node, and nonsense changes nothing."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.decide.healing.judging import FEWEST_NAMESPACES
from maitred.explain.redaction.health import health_as_seen_by
from tests.explain.healths import crew, failed, health_of, hurt
from tests.explain.whys import why_of
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.effort import examples

NODES = ("n0", "n1", "n2")
SPACES = ("a", "b", "c", "d")
STEP_TIME = "maitred.dev/step-time"
TIMES = ("2026-01-31T11:59:00Z", "2026-01-31T11:20:00Z", "2026-01-01T00:00:00Z", "2040-01-01T00:00:00Z")
nonsense = st.one_of(
    st.text(max_size=20), st.sampled_from(["nan", "inf", "-1", "1e308", "0", "9" * 50, "2.0", "500"])
)


@st.composite
def tenant_pods(draw: st.DrawFn, spaces: tuple[str, ...]) -> list[Obj]:
    """Pods that run, fail, are refused or do not start, as tenants can make them."""
    made = list[Obj]()
    for number in range(draw(st.integers(0, 12))):
        pod = draw(one_pod(f"p{number}", draw(st.sampled_from(spaces))))
        made.append(pod)
    return made


@st.composite
def one_pod(draw: st.DrawFn, name: str, space: str) -> Obj:
    fields: Obj = {"namespace": space, "index": draw(st.one_of(st.none(), st.integers(0, 2)))}
    fields["owner"] = draw(st.sampled_from([None, "Job/x", "StatefulSet/y"]))
    fields["annotations"] = draw(st.dictionaries(st.just(STEP_TIME), nonsense))
    node, at = draw(st.sampled_from(NODES)), draw(st.sampled_from(TIMES))
    how = draw(st.sampled_from(["runs", "fails", "crashes", "refused", "stuck", "image"]))
    if how == "fails":
        return failed(name, node, draw(st.sampled_from([1, 137, 139, 255])), at, **fields)
    pod = b.pod(name, node=node, **fields)
    if how == "crashes":
        last = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": at}}
        waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
        pod["status"]["containerStatuses"] = [{"name": "main", "state": waiting, "lastState": last}]
    elif how == "refused":
        reason = draw(st.sampled_from(["UnexpectedAdmissionError", "OutOfcpu", "TopologyAffinityError"]))
        pod["status"].update(phase="Failed", reason=reason, startTime=at)
    elif how == "stuck":
        pod["status"].update(phase="Pending", startTime=at)
    elif how == "image":
        waiting = {"waiting": {"reason": "ErrImagePull", "message": draw(st.text(max_size=30))}}
        pod["status"]["containerStatuses"] = [{"name": "main", "state": waiting}]
    return pod


def fleet() -> list[Obj]:
    return [b.node(name) for name in NODES]


@given(tenant_pods(SPACES[: FEWEST_NAMESPACES - 1]))
@examples(150)
def test_whatever_tenants_of_fewer_than_three_namespaces_write_blames_no_node(pods: list[Obj]) -> None:
    found = health_of([*fleet(), *pods])
    assert found.unwell == ()
    assert all(signal.kind != "GroupsFail" for one in found.hurt for signal in one.signals)


@given(st.lists(st.sampled_from(NODES), min_size=2, max_size=6), st.integers(1, 4), st.integers(1, 255))
@examples(50)
def test_a_bug_that_every_tenant_has_blames_no_node_once_it_shows_on_two(
    where: list[str], tenants: int, code: int
) -> None:
    """The same broken image, in as many namespaces as there are, wherever its pods run."""
    pods = [
        failed(f"p{number}", node, code, namespace=space, owner="Job/x", index=number)
        for space in SPACES[:tenants]
        for number, node in enumerate(where)
    ]
    found = health_of([*fleet(), *pods])
    if len(set(where)) > 1 or tenants < FEWEST_NAMESPACES:
        assert found.unwell == ()
        assert {one.family for one in found.hurt} <= {"OwnCode", "Unknown"}


@given(tenant_pods(SPACES))
@examples(100)
def test_only_groups_that_fail_on_one_node_from_three_namespaces_make_it_suspected(pods: list[Obj]) -> None:
    for one in health_of([*fleet(), *pods]).unwell:
        [signal] = one.signals
        assert one.state == "Suspected"
        assert signal.evidence["namespaces"] >= FEWEST_NAMESPACES
        assert signal.certainty != "certain"


@given(st.lists(nonsense, min_size=1, max_size=6))
@examples(100)
def test_step_times_say_nothing_of_nodes_and_nothing_of_other_groups(times: list[str]) -> None:
    calm = crew("n0", "n1", name="calm")
    gang = crew(*[NODES[n % 3] for n in range(len(times))])
    before = health_of([*fleet(), *calm, *gang])
    for pod, time in zip(gang[1:], times, strict=True):
        pod["metadata"]["annotations"] = {STEP_TIME: time}
    after = health_of([*fleet(), *calm, *gang])
    assert (after.unwell, before.unwell) == ((), ())
    assert {one.group for one in after.hurt} <= {"default/crew"}


@given(st.text(min_size=1, max_size=20), st.sampled_from(["True", "False", "Unknown", "", "maybe"]))
@examples(100)
def test_a_condition_that_nobody_knows_changes_nothing(type: str, status: str) -> None:
    known = health_of([*fleet(), *crew("n0", "n1")])
    odd = fleet()
    odd[0]["status"]["conditions"].append({"type": f"x-{type}", "status": status, "message": "Xid 79"})
    found = health_of([*odd, *crew("n0", "n1")])
    assert (found.unwell, found.hurt) == (known.unwell, known.hurt)
    assert [one.condition for one in found.unknown] == [f"x-{type}"]


@pytest.mark.parametrize("at", [*TIMES, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_clocks_that_jump_change_neither_state_nor_family(at: str) -> None:
    lost = b.node("n1", ready=None)
    lost["status"]["conditions"][0]["lastTransitionTime"] = at
    found = health_of([b.node("n0"), lost, *crew("n0", "n1")])
    assert (found.unwell[0].state, hurt(found).family, hurt(found).below) == ("Lost", "Infrastructure", True)


@given(
    st.lists(st.tuples(st.sampled_from([*NODES, "gone"]), st.booleans()), min_size=1, max_size=5),
    st.integers(1, 5),
    st.lists(st.sampled_from([True, False, None]), min_size=3, max_size=3),
)
@examples(100)
def test_who_is_below_the_quorum_is_so_for_why_too(
    members: list[tuple[str, bool]], quorum: int, ready: list[bool | None]
) -> None:
    """One truth: a group that is placed for `why` has its quorum here, and the other way round."""
    gang = [b.pod_group("crew", quorum)]
    gang += [
        b.pod(f"crew-{i}", cpu=1, node=node, group="crew", index=i, deleted=leaves)
        for i, (node, leaves) in enumerate(members)
    ]
    objects = [*(b.node(name, ready=one) for name, one in zip(NODES, ready, strict=True)), *gang]
    found = {one.group: one.below for one in health_of(objects).hurt}
    placed = why_of(objects).verdict == "Scheduled"
    assert found.get("default/crew", False) == (not placed)


@given(tenant_pods(SPACES), st.randoms(use_true_random=False))
@examples(50)
def test_the_order_of_the_input_does_not_matter(pods: list[Obj], random: Any) -> None:
    objects = [*fleet(), *pods]
    shuffled = list(objects)
    random.shuffle(shuffled)
    assert health_of(shuffled) == health_of(objects)


@given(tenant_pods(SPACES))
@examples(100)
def test_who_may_see_one_namespace_is_told_no_name_of_another(pods: list[Obj]) -> None:
    names = {"a": "open", "b": "secretb", "c": "secretc", "d": "secretd"}
    for pod in pods:
        space = names[pod["metadata"]["namespace"]]
        pod["metadata"].update(namespace=space, name=f"{space}-{pod['metadata']['name']}")
        for container in pod["status"].get("containerStatuses", ()):
            container["name"] = f"{space}-main"
    lost = b.node("n0", ready=None)
    lost["status"]["conditions"][0]["message"] = "the last process was secretb-main"
    whole = health_of([lost, *fleet()[1:], *pods])
    told = health_as_seen_by(whole, ["open"])
    assert "secret" not in msgspec.json.encode(told).decode()
    assert [one.group for one in told.hurt] == [
        one.group for one in whole.hurt if one.group.startswith("open/")
    ]
    assert told.elsewhere == len(whole.hurt) - len(told.hurt)
    assert [one.node for one in told.unwell] == [one.node for one in whole.unwell]
    counts = [len(one.groups) + one.elsewhere for one in told.unwell]
    assert counts == [len(one.groups) for one in whole.unwell]
