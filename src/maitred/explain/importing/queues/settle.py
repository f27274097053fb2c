"""What others let stand and a policy does not: more guaranteed below than above, or beyond a cap."""

from collections import deque
from collections.abc import Iterator, Mapping

from maitred.explain.importing.queues.draft import Draft, DraftQueue, Subject, written
from maitred.model.policy import matches_model
from maitred.model.queues import EVERY_MODEL


def settle(draft: Draft) -> None:
    """Make it hold together. `draft` is a tree."""
    for queue in from_above(draft.queues):
        _within_caps(queue, draft)
    below = by_parent(draft.queues)
    for queue in reversed([*from_above(draft.queues)]):
        _covering(queue, below.get(queue.name, []), draft)


def by_parent(queues: Mapping[str, DraftQueue]) -> dict[str, list[DraftQueue]]:
    found: dict[str, list[DraftQueue]] = {}
    for queue in queues.values():
        found.setdefault(queue.parent, []).append(queue)
    return found


def from_above(queues: Mapping[str, DraftQueue]) -> Iterator[DraftQueue]:
    """Every queue after the one above it; those aside that are above themselves."""
    below = by_parent(queues)
    rest = deque(below.get("", []))
    while rest:
        queue = rest.popleft()
        yield queue
        rest += below.get(queue.name, [])


def _within_caps(queue: DraftQueue, draft: Draft) -> None:
    """A cap beyond one above never binds; a guarantee beyond a cap could not be kept."""
    above = draft.queues.get(queue.parent)
    for about in (*queue.guarantees, *queue.caps):
        caps = [
            one.caps[wider]
            for one in _chain(above, draft)
            for wider in dict.fromkeys((about, (about[0], EVERY_MODEL)))
            if wider in one.caps
        ]
        if about in queue.caps:
            queue.caps[about] = min((queue.caps[about], *caps))
        own = [
            queue.caps[one] for one in dict.fromkeys((about, (about[0], EVERY_MODEL))) if one in queue.caps
        ]
        _lower(queue, about, min((*caps, *own), default=None), draft)


def _lower(queue: DraftQueue, about: Subject, most: int | None, draft: Draft) -> None:
    count = queue.guarantees.get(about)
    if count is not None and most is not None and count > most:
        queue.guarantees[about] = most
        draft.note(
            queue.origin,
            f"{written(about[0], count)} {_named(about)} are more than the cap allows, so "
            f"{written(about[0], most)} are guaranteed",
        )


def _chain(queue: DraftQueue | None, draft: Draft) -> Iterator[DraftQueue]:
    while queue is not None:
        yield queue
        queue = draft.queues.get(queue.parent)


def _covering(queue: DraftQueue, below: list[DraftQueue], draft: Draft) -> None:
    """What is guaranteed below a queue is guaranteed to it, so that nobody beside it takes it back."""
    for about, count in list(queue.guarantees.items()):
        whole = (about[0], EVERY_MODEL)
        if about != whole and whole in queue.guarantees:
            queue.guarantees[whole] = max(queue.guarantees[whole], count)
    for about in dict.fromkeys(about for one in below for about in one.guarantees):
        if not any(resource == about[0] for resource, _ in queue.guarantees) and about not in queue.caps:
            continue  # it follows from what is guaranteed below
        total = sum(guaranteed(one, about) for one in below)
        cap = queue.caps.get(about)
        if cap is not None and total > cap:
            _share_out(below, about, cap, draft)
            total = cap
        if not any(resource == about[0] for resource, _ in queue.guarantees):
            continue
        known = queue.guarantees.get(about, 0)
        if total > known:
            queue.guarantees[about] = total
            draft.note(
                queue.origin,
                f"{written(about[0], total)} {_named(about)} are guaranteed to the queues below it, so it is "
                f"guaranteed as much, and not {written(about[0], known)}",
            )


def guaranteed(queue: DraftQueue, about: Subject) -> int:
    if about in queue.guarantees:
        return queue.guarantees[about]
    resource, pattern = about
    return sum(
        n
        for (name, model), n in queue.guarantees.items()
        if name == resource and matches_model(pattern, model)
    )


def _share_out(queues: list[DraftQueue], about: Subject, most: int, draft: Draft) -> None:
    """The first keep what they have, as long as there is any."""
    for queue in queues:
        if about in queue.guarantees:
            _lower(queue, about, most, draft)
            most -= queue.guarantees[about]


def _named(about: Subject) -> str:
    resource, model = about
    return resource if model == EVERY_MODEL else f"{resource} ({model})"
