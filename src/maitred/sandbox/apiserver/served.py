"""The kinds that are served now: those that come with the server, and those that were defined since."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from maitred.sandbox.apiserver.kinds.kind import Kind


@dataclass(frozen=True, slots=True)
class GroupVersion:
    group: str
    version: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


GROUPS = (
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "batch",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
)
"""In the order in which clients prefer them, where a name could mean a kind of more than one group."""


class Served:
    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds: dict[tuple[str, str, str], Kind] = {}
        for kind in kinds:
            self.add(kind)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds.values())

    def add(self, kind: Kind) -> None:
        self._kinds[kind.group, kind.version, kind.plural] = kind

    def withdraw(self, group: str, plural: str) -> None:
        for key in [key for key in self._kinds if key[0] == group and key[2] == plural]:
            del self._kinds[key]

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._kinds.get((group, version, plural))

    def of(self, group_version: GroupVersion) -> list[Kind]:
        return [
            kind
            for kind in self
            if kind.group == group_version.group and kind.version == group_version.version
        ]

    def groups(self) -> list[str]:
        """All but the core group. Those that were defined since come last."""
        found = dict.fromkeys(kind.group for kind in self if kind.group)
        return [name for name in GROUPS if name in found] + [name for name in found if name not in GROUPS]

    def versions(self, group: str) -> list[GroupVersion]:
        """The preferred one first."""
        names = dict.fromkeys(kind.version for kind in self if kind.group == group)
        return [GroupVersion(group, name) for name in sorted(names, key=maturity)]

    def digest(self) -> str:
        """Changes when what is served does, so that clients know when to ask again."""
        names = (f"{kind.api_version}/{kind.plural}/{id(kind)}" for kind in self)
        return hashlib.sha256("\n".join(names).encode()).hexdigest()[:32].upper()


def maturity(version: str) -> tuple[int, list[int]]:
    """v2, v1, v1beta2, v1beta1, v1alpha1."""
    stage = 2 if "alpha" in version else 1 if "beta" in version else 0
    numbers = version.removeprefix("v").replace("alpha", " ").replace("beta", " ").split()
    return stage, [-int(number) if number.isdecimal() else 0 for number in numbers]
