"""A record: decided again it comes out the same; it has in it only what decisions read; and it has an end."""

import gzip
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.cli.replay import lines_of, segments_of
from maitred.cluster.state import Change, ClusterState, Depart, Put
from maitred.controllers.recording.change_lines import ChangeLines
from maitred.controllers.recording.recorder import DecisionRecorder
from maitred.controllers.recording.ring import Ring
from maitred.controllers.scheduling.worklist import CycleSelection
from maitred.decide import Scope, decide
from maitred.explain.replay import Replay, Replayer
from maitred.kube.wire import Condition, WatchedMeta, WatchedPod, WatchedPodStatus
from maitred.model.categories import NO_EFFECT
from maitred.model.manifest import InputError
from maitred.model.policy import Policy, Preemption
from maitred.model.rotation import Rotation
from tests.cluster.changes import changes
from tests.cluster.seen import put
from tests.oracle.builders import node, pod, pods
from tests.oracle.effort import examples
from tests.support import read

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
EVERYTHING = CycleSelection(True, frozenset(), NO_EFFECT, {}, frozenset())
ENOUGH = 2**24


class Recorded:
    """A state with a journal, and what a scheduler does with one."""

    def __init__(self, directory: Path, limit: int = ENOUGH, steps: int = ENOUGH) -> None:
        self.steps = steps
        self.ring = Ring(directory, limit)
        chronicle = ChangeLines()
        self.recorder = DecisionRecorder(self.ring, chronicle, None)
        self.state = ClusterState(chronicle)

    def decide(self, selection: CycleSelection = EVERYTHING, policy: Policy | None = None) -> None:
        policy = policy or Policy()
        snapshot = self.state.snapshot()
        rotation = Rotation(self.steps, selection.first)
        self.recorder.look(snapshot, policy, NOON, selection, rotation)
        explained = selection.explained
        plan = decide(snapshot, policy, NOON, Scope(None, selection, explained=explained, rotation=rotation))
        self.recorder.decided(plan)


def replay_of(directory: Path, policy: Policy | None = None) -> Replay:
    warnings: list[str] = []
    replayer = Replayer("record", policy)
    for path in segments_of((str(directory),)):
        for line in lines_of(path, warnings):
            replayer.take(line)
    return replayer.replay(warnings)


@given(changes(20), st.sets(st.integers(0, 40)), st.booleans(), st.sampled_from((ENOUGH, 1)))
@examples(25)
def test_what_is_decided_again_is_the_same(
    history: list[Change], looks: set[int], own_policy: bool, steps: int
) -> None:
    with TemporaryDirectory() as name:
        recorded = Recorded(Path(name), steps=steps)
        decisions = 0
        for number, change in enumerate(history):
            recorded.state.apply(change)
            if number in looks or number == len(history) - 1:
                policy = (
                    Policy(preemption=Preemption(mode="never")) if own_policy and number % 2 else Policy()
                )
                recorded.decide(policy=policy)
                decisions += 1
        recorded.ring.close()
        replay = replay_of(Path(name))
        assert replay.decisions == replay.same == decisions, replay.differences
        assert not replay.warnings


def busy(recorded: Recorded) -> None:
    put(recorded.state, node("n1", cpu="4"), pod("low", node="n1", cpu="4"), *pods("gang", 2, cpu="2"))


def test_pods_that_are_told_to_go_are_leaving_in_the_record_too(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    busy(recorded)
    recorded.decide()
    going = Depart("default/low", recorded.state.snapshot().bound.occupants[0].uid)
    assert recorded.state.could_apply(going)
    recorded.state.apply(going)
    recorded.decide()
    recorded.ring.begin([])  # as when a segment is full: the next begins with what is known
    recorded.recorder._begin()
    recorded.decide()
    recorded.ring.close()
    replay = replay_of(tmp_path)
    assert replay.same == replay.decisions == 3, replay.differences


def test_only_some_groups_are_decided_as_they_were_then(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    put(recorded.state, node("n1", cpu="4"), pod("a", cpu="1"), pod("b", cpu="1"))
    some = CycleSelection(False, frozenset({"default/a"}), NO_EFFECT, {"default/b": NO_EFFECT}, frozenset())
    recorded.decide(some)
    recorded.ring.close()
    assert replay_of(tmp_path).same == 1


def test_groups_that_were_not_explained_then_are_not_now(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    put(recorded.state, node("n1", cpu="4"), pod("a", cpu="8"), pod("b", cpu="8"))
    recorded.decide(replace(EVERYTHING, explained=frozenset({"default/a"})))
    recorded.ring.close()
    assert replay_of(tmp_path).same == 1


def test_another_policy_shows_what_it_would_have_changed(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    put(recorded.state, node("n1", cpu="4"), node("n2", cpu="4"), pod("a", cpu="1"))
    recorded.decide()
    recorded.ring.close()
    managed: Any = msgspec.convert({"nodes": {"managed": {"matchLabels": {"no": "where"}}}}, Policy)
    replay = replay_of(tmp_path, managed)
    assert (replay.decisions, replay.same, replay.differing_groups) == (1, 0, 1)
    (difference,) = replay.differences
    assert difference.group == "default/a"
    assert difference.recorded.startswith("Scheduled, 1 of 1 placed; on n")
    assert not difference.replayed.startswith("Scheduled")


def test_nothing_is_recorded_that_decisions_do_not_read(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    secret = "hunter2"
    metadata = WatchedMeta(
        name="a", namespace="default", annotations={"note": secret, "maitred.dev/group": "g"}
    )
    status = WatchedPodStatus(conditions=(Condition(type="Ready", message=secret),))
    recorded.state.apply(Put(WatchedPod(metadata=metadata, status=status)))
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "default", "annotations": {"note": secret}},
        "spec": {
            "template": {
                "metadata": {"annotations": {"note": secret}},
                "spec": {
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "args": [secret],
                            "env": [{"name": "KEY", "value": secret}],
                            "resources": {"requests": {"cpu": "1"}},
                        }
                    ]
                },
            }
        },
    }
    put(recorded.state, job)
    recorded.decide()
    recorded.ring.close()
    (segment,) = tmp_path.iterdir()
    text = gzip.decompress(segment.read_bytes())
    assert secret.encode() not in text
    assert b'"maitred.dev/group":"g"' in text


def test_the_ring_keeps_to_its_limit_and_each_segment_stands_alone(tmp_path: Path) -> None:
    limit = 2**15
    recorded = Recorded(tmp_path, limit)
    for number in range(300):
        (item,) = read([pod(f"p{number % 10}", cpu=f"{number + 1}m")])
        recorded.state.apply(Put(item))
        recorded.decide()
        while recorded.ring._unwritten:
            sleep(0.001)
    recorded.ring.close()
    segments = sorted(tmp_path.iterdir())
    assert len(segments) > 3
    assert "000001" not in segments[0].name, "the oldest is gone"
    assert sum(segment.stat().st_size for segment in segments) <= limit
    for segment in segments:
        replay = replay_of_file(segment)
        assert replay.same == replay.decisions > 0


def replay_of_file(path: Path) -> Replay:
    replayer, warnings = Replayer(str(path)), list[str]()
    for line in lines_of(path, warnings):
        replayer.take(line)
    return replayer.replay(warnings)


def test_what_is_left_of_a_killed_scheduler_is_read_up_to_where_it_ends(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    busy(recorded)
    for _ in range(9):
        recorded.decide()
    recorded.ring.close()
    (segment,) = tmp_path.iterdir()
    whole = segment.read_bytes()
    segment.write_bytes(whole[: len(whole) * 9 // 10])
    replay = replay_of_file(segment)
    assert 0 < replay.same == replay.decisions < 9
    assert len(replay.warnings) == 1
    assert "incomplete" in replay.warnings[0]
    segment.write_bytes(whole[: len(whole) // 3])
    with pytest.raises(InputError, match="has no decision in it"):
        replay_of_file(segment)


def test_a_disk_that_is_full_stops_the_record_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: gzip.GzipFile, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    recorded = Recorded(tmp_path)
    busy(recorded)
    with monkeypatch.context() as patched:
        patched.setattr(gzip.GzipFile, "write", full)
        recorded.decide()
        while recorded.ring._unwritten:
            sleep(0.001)
    recorded.decide()
    recorded.ring.close()
    assert [record.message.split(":")[0] for record in caplog.records] == ["the record cannot be written"]
    newest = max(tmp_path.iterdir())
    assert replay_of_file(newest).same == 1


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"{", "is not a record"),
        (b'{"line":"look","now":"x","groups":[]}', "first line is not an opening line"),
        (b'{"line":"opening","version":9,"maitred":"1","scheduler":null,"at":0}', "format 9"),
    ],
)
def test_what_is_no_record_is_refused_with_its_place(line: bytes, what: str) -> None:
    with pytest.raises(InputError, match=what) as refused:
        Replayer("there").take(line)
    assert str(refused.value).startswith("there: line 1")
