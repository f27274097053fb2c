"""What is told in one namespace, in words that name nothing of any other.

Who may read a namespace reads the conditions, Events and annotations in it, so these must not tell what runs
in other namespaces. Sentences that speak of others are made for their reader from the start: others are
counted ("2 groups in other namespaces"). Beside that, `told_in` is the last thing that happens to every text
before it is sent (`kube.writes`, `kube.events`). It knows no list of names and needs none: whatever has a
slash in it and is neither of this namespace nor a key with a domain in front, such as `nvidia.com/gpu`, is
replaced. So a message names objects of namespaces as `namespace/name`, and in no other way; a sentence that
forgot its reader then reads badly, but tells nothing.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from maitred.model.plan import Blocker, GroupVerdict
from maitred.model.words import counted

SOMETHING = "something in another namespace"
_WITH_SLASH = re.compile(r"[^\s,;()\[\]{}\"'`=<>]*/[^\s,;()\[\]{}\"'`=<>]*")
_END = ".:!?"
"""What may follow a name and is no part of it."""


def told_in(namespace: str, text: str) -> str:
    """The text without the name of anything in another namespace."""
    return told_to((namespace,), text)


def told_to(namespaces: Collection[str], text: str) -> str:
    """The same for those who may look into several namespaces."""

    def kept_or_replaced(found: re.Match[str]) -> str:
        word = found[0].rstrip(_END)
        return found[0] if _may_be_told(word, namespaces) else SOMETHING + found[0][len(word) :]

    return _WITH_SLASH.sub(kept_or_replaced, text) if "/" in text else text


def _may_be_told(word: str, namespaces: Collection[str]) -> bool:
    first, _, rest = word.partition("/")
    has_domain = "." in first  # no namespace has a dot in its name
    return "/" not in rest and (has_domain or first in namespaces)


@dataclass(frozen=True, slots=True)
class Audience:
    """Whom a sentence is for: people of one namespace; or, without one, those who may know everything."""

    namespace: str | None = None

    def knows(self, key: str) -> bool:
        return self.namespace is None or key.startswith(f"{self.namespace}/")

    def group(self, key: str) -> str:
        return key if self.knows(key) else "a group in another namespace"

    def groups(self, keys: Sequence[str]) -> list[str]:
        """Those that the reader knows by name; the others are counted."""
        known = [key for key in keys if self.knows(key)]
        return [*known, *elsewhere(len(keys) - len(known), "group")]


def elsewhere(count: int, noun: str) -> list[str]:
    if not count:
        return []
    return [f"a {noun} in another namespace" if count == 1 else f"{counted(count, noun)} in other namespaces"]


EVERYBODY_NAMED = Audience()


def reader_of(key: str) -> Audience:
    """Who reads what is written about the object `namespace/name`."""
    return Audience(key.partition("/")[0])


def as_told_at_home(verdict: GroupVerdict) -> GroupVerdict:
    """The verdict of a group as it is written into the group's namespace: conditions and Events."""
    reader = reader_of(verdict.group)
    return GroupVerdict(
        group=verdict.group,
        verdict=verdict.verdict,
        members=verdict.members,
        quorum=verdict.quorum,
        placed=verdict.placed,
        domains=verdict.domains,
        blockers=tuple(_blocker(one, reader) for one in verdict.blockers),
        parent=verdict.parent,
        counts=verdict.counts,
    )


def _blocker(blocker: Blocker, reader: Audience) -> Blocker:
    """Who went first, has a hold or ends is what a blocker can tell of others; its detail is not written into
    namespaces."""
    detail, message = blocker.detail, blocker.message
    for others in (detail.get("ahead"), detail.get("heldFor"), detail.get("hold", {}).get("after")):
        names = [str(one) for one in others or ()]
        if names:
            message = message.replace(", ".join(names), ", ".join(reader.groups(names)))
    if "reservation" in detail:
        message = message.replace(f"reserved for {detail['for']}", "reserved for others")
        message = message.replace(f" (reservation {detail['reservation']})", "")
    return Blocker(blocker.category, told_to((reader.namespace or "",), message))
