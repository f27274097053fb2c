"""Worlds: what the short file makes, and what it may not say."""

from pathlib import Path

import pytest

from maitred.model.manifest import InputError
from maitred.model.world import MOST_NODES, World, read_world
from maitred.sandbox.kubelets.marks import KUBELET
from maitred.sandbox.world.layout import machines

WORLDS = Path(__file__).parents[3] / "examples" / "worlds"


def test_the_usual_world_has_64_nodes_of_8_gpus_in_8_racks_of_2_blocks() -> None:
    made = list(machines(World()))
    assert len(made) == len({machine.name for machine in made}) == 64
    assert {machine.resources["nvidia.com/gpu"] for machine in made} == {"8"}
    racks = {(machine.labels["example.com/block"], machine.labels["example.com/rack"]) for machine in made}
    assert racks == {("b1", f"r{n}") for n in (1, 2, 3, 4)} | {("b2", f"r{n}") for n in (5, 6, 7, 8)}
    assert all(machine.labels[KUBELET] == "simulated" for machine in made)
    assert made[20].name == "b1-r3-n05"


def test_the_file_of_the_usual_world_says_the_same() -> None:
    assert read_world((WORLDS / "default.yaml").read_bytes(), "default.yaml") == World()


@pytest.mark.parametrize("file", sorted(WORLDS.iterdir()), ids=lambda file: file.stem)
def test_the_examples_are_valid(file: Path) -> None:
    assert list(machines(read_world(file.read_bytes(), file.name)))


def test_kinds_have_their_own_racks_labels_and_taints() -> None:
    world = read_world((WORLDS / "mixed.yaml").read_bytes(), "mixed.yaml")
    by_kind: dict[str, set[str]] = {}
    for machine in machines(world):
        kind = machine.labels["node.kubernetes.io/instance-type"]
        by_kind.setdefault(kind, set()).add(machine.labels["example.com/rack"])
        assert bool(machine.taints) == (kind == "l40s")
    assert by_kind == {"h100": {"r1", "r2", "r3", "r4"}, "l40s": {"r5", "r6"}, "cpu": {"r7"}}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("kinds: [{name: a, resources: {}, nodes: 0}]", "kinds[0].nodes: must be at least 1, not 0"),
        ("kinds: [{resources: {}}]", "kinds[0].name: is required"),
        ("kinds: [{name: a}]", "kinds[0].resources: is required"),
        ("kinds: [{name: a, resources: {cpu: many}}]", "kinds[0].resources.cpu: 'many' is not a quantity"),
        (
            "kinds: [{name: a, resources: {cpu: 1500m, nvidia.com/gpu: 1500m}}]",
            "kinds[0].resources.nvidia.com/gpu: '1500m' is not a whole number",
        ),
        (
            "kinds: [{name: a, resources: {}, rack: 4}]",
            "kinds[0].rack: there is no such field; did you mean racks?",
        ),
        (
            "kinds: [{name: a, resources: {}}, {name: a, resources: {}}]",
            "kinds[1].name: 'a' is already used by kinds[0]",
        ),
        ("kinds: [{name: a b, resources: {}}]", "kinds[0].name: 'a b' is not a name"),
        (
            "kinds: [{name: a, resources: {}, labels: {example.com/rack: x}}]",
            "kinds[0].labels: the sandbox sets example.com/rack",
        ),
        (
            "kinds: [{name: a, resources: {}, taints: [{key: k, effect: Never}]}]",
            "kinds[0].taints[0].effect: 'Never'",
        ),
        (
            "levels: {rack: example.com/block}",
            "levels.rack: 'example.com/block' is also the key of the blocks; use another",
        ),
        ("levels: {rack: 'a b'}", "levels.rack: 'a b' is not a label key"),
        ("kind: Wrold", "kind: 'Wrold' is not World"),
        (
            "kinds: [{name: a, resources: {}, blocks: 100, racks: 100, nodes: 100}]",
            f"kinds: 1000000 nodes in all; at most {MOST_NODES} are simulated",
        ),
    ],
)
def test_what_is_wrong_is_named(text: str, error: str) -> None:
    with pytest.raises(InputError) as refused:
        read_world(text.encode(), "world.yaml")
    assert str(refused.value).startswith(f"world.yaml: {error}")


def test_labels_that_others_set_are_theirs() -> None:
    text = f"kinds: [{{name: a, resources: {{}}, labels: {{{KUBELET}: simulated}}}}]".encode()
    with pytest.raises(
        InputError, match=f"kinds.0..labels: the sandbox sets {KUBELET} on every node; leave it out"
    ):
        read_world(text, "world.yaml", taken=(KUBELET,))
