"""What becomes of a group when hardware fails under it: what its owner asks for, and what was decided."""

from typing import Literal, NamedTuple, get_args

from maitred.model.meta import CUT_TO, ObjectMeta, contradiction, own_mark, said_under

ON_FAILURE = "maitred.dev/on-failure"
FailureRule = Literal["replace", "shrink", "restart", "hold", "none"]
"""`replace`: seat anew what was lost. `shrink`: go on above the quorum without it. `restart`: stop all
members and seat them together. `hold`: only keep the room. `none`: leave the group to itself."""
FAILURE_RULES: tuple[FailureRule, ...] = get_args(FailureRule)


class FailureWish(NamedTuple):
    """What a pod, or an object above it, says. What cannot be read asks for nothing."""

    rule: FailureRule | None = None
    problem: str = ""


NO_WISH = FailureWish()


def failure_wish(metadata: ObjectMeta) -> FailureWish:
    if ON_FAILURE not in metadata.annotations and ON_FAILURE not in metadata.labels:
        return NO_WISH
    torn = contradiction(said_under(metadata, (ON_FAILURE,)))
    if torn:
        return FailureWish(problem=torn)
    said = own_mark(metadata, ON_FAILURE) or ""
    rule = next((one for one in FAILURE_RULES if one == said), None)
    if rule is None:
        return FailureWish(
            problem=f"{ON_FAILURE} is {said[:CUT_TO]!r}, and must be one of {', '.join(FAILURE_RULES)}"
        )
    return FailureWish(rule)
