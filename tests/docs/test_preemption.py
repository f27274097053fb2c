"""What the page on preemption says word for word: marks, sentences, and why a group does not preempt."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from maitred.explain.receipts import group_words, preemptor_words, victim_words
from maitred.model.plan import Plan
from maitred.model.policy import Preemption
from maitred.model.protection import PROTECTION_MARKS
from tests.docs.console import ROOT, pattern, run
from tests.docs.test_docs import first_column, section

EXAMPLES = ROOT / "examples/preemption"
NOW = "2026-03-01T12:00:00Z"


def decided(folder: Path, objects: str, policy: str = "{}") -> Plan:
    (folder / "objects.yaml").write_text(objects)
    (folder / "policy.yaml").write_text(policy)
    command = ["decide", "-f", "objects.yaml", "--policy", "policy.yaml", "--now", NOW, "-o", "json"]
    assert run([*command, ">", "plan.json"], folder) == (0, "")
    return msgspec.json.decode((folder / "plan.json").read_bytes(), type=Plan)


def example(name: str, *changes: tuple[str, str]) -> str:
    text = (EXAMPLES / f"{name}.yaml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def test_every_mark_is_there() -> None:
    assert first_column(section("preemption.md", "Protection")) == set(PROTECTION_MARKS)


def test_every_field_of_the_policy_is_there_with_its_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `?([\w ]+)`? \|", section("preemption.md", "The policy"), re.MULTILINE)
    defaults = msgspec.to_builtins(Preemption())
    assert set(defaults.pop("protection").values()) == {None}
    assert dict(rows) == {**defaults, "protection": "no limits"}


def test_the_sentences_are_those_of_the_example(tmp_path: Path) -> None:
    evictions = decided(tmp_path, example("whole-gang")).evictions
    said = section("preemption.md", "Where to see a preemption")
    for words in (victim_words(evictions[0]), group_words(evictions), preemptor_words(evictions)):
        assert f"`{words}`" in said


ALL_BUT_TWO = [
    (f"{{name: batch-{n}}}", f'{{name: batch-{n}, labels: {{maitred.dev/non-preemptible: "true"}}}}')
    for n in (2, 3)
]
AHEAD = """
- apiVersion: v1
  kind: Pod
  metadata: {name: ahead}
  spec:
    priority: 500
    preemptionPolicy: Never
    containers:
    - {name: train, image: example/train:1.0, resources: {limits: {nvidia.com/gpu: "1"}}}
"""
REFUSALS = {
    "there is no pod of a lower priority to evict": (
        example("one-node", ("priority: 100", "priority: 10")),
        "{}",
    ),
    "its preemptionPolicy is Never": (
        example("one-node", ("priority: 100", "priority: 100\n    preemptionPolicy: Never")),
        "{}",
    ),
    "the policy allows no preemption": (example("one-node"), "preemption: {mode: never}"),
    "the policy's order is …, in which no group preempts another": (
        example("one-node"),
        "order: fifo",
    ),
    "the policy delays preemption by …, until …": (example("one-node"), "preemption: {delay: 1h}"),
    "… could make room, but may not be evicted yet; the first may be from … on": (example("protected"), "{}"),
    "groups of higher priority, which evict no pod, would take the room": (
        example(
            "one-node",
            ("kind: List\nitems:\n", "kind: List\nitems:" + AHEAD),
        ),
        "{}",
    ),
    "of … with a lower priority none may be evicted": (
        example("protected", ("maitred.dev/min-runtime: 2h", 'maitred.dev/non-preemptible: "true"')),
        "{}",
    ),
    "… could make room, but no pod may be evicted before it has started and run for its minimum time": (
        example("protected", (', startTime: "2026-03-01T10:30:00Z"', "")),
        "{}",
    ),
    "it would not fit even after evicting all pods that it may evict (…)": (
        example("one-node", *ALL_BUT_TWO),
        "{}",
    ),
    "it would run without paying, so no pod leaves for it": (
        example(
            "one-node",
            ("metadata: {name: urgent}", "metadata: {name: urgent, labels: {maitred.dev/queue: vision}}"),
        ),
        "queues: [{name: vision, runtime: {default: 6h}, budget: {deviceHours: 1, onSpent: scavenge}}]",
    ),
    "it only waits for holds of others": (
        example("../holds/cluster", ("name: long", "name: urgent")),
        "holds: {depth: 1}",
    ),
    "it only has to wait for … to leave": (
        example("held", ("{nominatedNodeName: n1}", "{}")),
        "preemption: {mode: never}",
    ),
}


def test_the_page_has_every_reason_not_to_preempt() -> None:
    assert first_column(section("preemption.md", "Why a group does not preempt")) == set(REFUSALS)


@pytest.mark.parametrize("reason", REFUSALS)
def test_a_group_does_not_preempt_for_this_reason(reason: str, tmp_path: Path) -> None:
    (urgent,) = [g for g in decided(tmp_path, *REFUSALS[reason]).groups if g.group == "default/urgent"]
    assert urgent.verdict == "Waiting"
    assert re.fullmatch(pattern(reason), urgent.blockers[0].detail["preemption"])
    assert "preemption" not in json.dumps([blocker.detail for blocker in urgent.blockers[1:]])
