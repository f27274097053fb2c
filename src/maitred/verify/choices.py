"""Which volume a Plan gives to which claim: only what exists, suits and can be reached, and each volume once.

A claim whose class waits for its first pod gets its volume when that pod is bound. Kubernetes binds it to a
volume that names it, if there is one; else to any that suits and is free; else one is made for the node.
"""

from collections import Counter
from collections.abc import Iterator

from .case import Breach, Case, breach
from .fields import Doc
from .objects import Claim, Node
from .selectors import any_term
from .volumes import can_be_made, claim_of, in_zone, suits, waits


def judge_choices(case: Case) -> Iterator[Breach]:
    """Laws 1 and 3 over `volumes`. A Plan that does not have the field says nothing of them."""
    if not case.plan.given("volumes"):
        return
    entries, wanted = case.plan.docs("volumes"), dict(_wanted(case))
    yield from _given_twice(entries)
    named = {entry.text("claim") for entry in entries}
    for key in sorted(wanted.keys() - named):
        yield breach(3, key, "a pod with this claim is bound, and the Plan does not say which volume it gets")
    for entry in entries:
        key = entry.text("claim")
        if key not in wanted:
            yield breach(3, key, "is given a volume, but no pod that is bound waits for one by it")
        elif (reason := _why_not(case, entry, *wanted[key])) is not None:
            yield breach(3, key, reason)


def _wanted(case: Case) -> Iterator[tuple[str, tuple[Claim, list[Node]]]]:
    """Claims that wait for the pods that the Plan binds, and the nodes of these."""
    found: dict[str, tuple[Claim, list[Node]]] = {}
    for pod, node in case.binds:
        for use in pod.claims:
            claim = claim_of(case.before, pod, use)
            if claim is not None and waits(case.before, claim):
                found.setdefault(claim.key, (claim, []))[1].append(node)
    yield from found.items()


def _given_twice(entries: list[Doc]) -> Iterator[Breach]:
    for key, count in Counter(entry.text("claim") for entry in entries).items():
        if count > 1:
            yield breach(1, key, f"is given a volume {count} times")
    volumes = Counter(entry.text("volume") for entry in entries if entry.text("volume"))
    for name, count in volumes.items():
        if count > 1:
            yield breach(1, name, f"the volume is given to {count} claims")


def _why_not(case: Case, entry: Doc, claim: Claim, nodes: list[Node]) -> str | None:
    world, name, place = case.before, entry.text("volume"), entry.text("node")
    if place not in {node.name for node in nodes}:
        return f"its volume is for {place or 'no node'}, where no pod with this claim is bound"
    if not name:
        misplaced = [node.name for node in nodes if node.name != place or not can_be_made(world, claim, node)]
        return f"no volume can be made for it on {misplaced[0]}" if misplaced else None
    volume = world.cluster.volumes.get(name)
    if volume is None:
        return f"is given the volume {name}, which does not exist"
    if claim.selected_node:
        return f"is given the volume {name}, but one is being made for it on {claim.selected_node}"
    if not suits(world, claim, volume):
        return f"is given the volume {name}, which does not suit it"
    kept = [one.name for one in world.cluster.volumes.values() if one.claim and suits(world, claim, one)]
    if kept and name not in kept:
        return f"is given the volume {name}, but {kept[0]} is kept for it"
    shared = world.cluster.users[claim.key] > 1
    for node in nodes:
        if not any_term(volume.node_terms, node.labels, node.name) or (shared and not in_zone(volume, node)):
            return f"is given the volume {name}, which cannot be used from {node.name}"
    return None
