"""Lists of the indexes of an Indexed Job, such as "0,2-5,7"."""

import re

Interval = tuple[int, int]


class BadIndexes(Exception):
    """What is wrong with a list, in the words of the API server."""


def count_indexes(text: str, completions: int) -> int:
    """How many indexes a list has, if it is a good one."""
    total, last = 0, None
    for part in text.split(",") if text else ():
        first, end = interval(part, completions)
        if last is not None and last >= first:
            raise BadIndexes(f"non-increasing order, previous: {last}, current: {first}")
        total, last = total + end - first + 1, end
    return total


def interval(part: str, completions: int) -> Interval:
    ends = part.split("-")
    if len(ends) > 2:
        words = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise BadIndexes(f'the fragment "{part}" {words}')
    first, *rest = [index(end, completions) for end in ends]
    if rest and first >= rest[0]:
        raise BadIndexes(f"non-increasing order, previous: {first}, current: {rest[0]}")
    return first, rest[0] if rest else first


def index(text: str, completions: int) -> int:
    if not re.fullmatch("[+-]?[0-9]+", text, re.ASCII):
        raise BadIndexes(f'cannot convert string to integer for index: "{text}"')
    if int(text) >= completions:
        raise BadIndexes(f'too large index: "{text}"')
    return int(text)


def overlap(left: str, right: str, completions: int) -> int | None:
    """The first index that both lists have. What cannot be read is told of elsewhere."""
    ones, others = readable(left, completions), readable(right, completions)
    while ones and others:
        (first, end), (other_first, other_end) = ones[-1], others[-1]
        if first <= other_end and other_first <= end:
            return max(first, other_first)
        (ones if first <= other_first else others).pop()
    return None


def readable(text: str, completions: int) -> list[Interval]:
    """The intervals of a list, last one first."""
    found = list[Interval]()
    for part in reversed(text.split(",")):
        try:
            found.append(interval(part, completions))
        except BadIndexes:
            continue
    return found
