"""Other names for what is in the namespaces of others: they tell nothing, and sort as the real ones do."""

from collections.abc import Collection, Iterable, Sequence

MARK = "#"
"""In every name that is none: a name of Kubernetes cannot have it."""


class Aliases:
    """What everything is called. Own things keep their names."""

    def __init__(self, own: Collection[str], namespaces: Iterable[str], keys: Iterable[str]) -> None:
        self.own = frozenset(own)
        self._begun = tuple(f"{name}/" for name in self.own)
        # A slash sorts after some of what names may have: keys come in this order.
        foreign = sorted({f"{name}/" for name in namespaces}.difference(self._begun))
        width = len(str(len(foreign)))
        self._namespaces = {
            name[:-1]: f"other{MARK}{number:0{width}}" for number, name in enumerate(foreign, 1)
        }
        self.keys = self._numbered(sorted({key for key in keys if not key.startswith(self._begun)}))
        """Of all that is known to be someone else's, and what it is called."""
        self._others: dict[str, str] = {}

    def _numbered(self, keys: Sequence[str]) -> dict[str, str]:
        """All numbers of one width, so that they sort as the keys do."""
        width, begun, veiled, found = len(str(len(keys))), " ", "", {}
        for number, key in enumerate(keys, 1):
            if not key.startswith(begun):
                namespace = key.partition("/")[0]
                begun, veiled = f"{namespace}/", f"{self.namespace(namespace)}/{MARK}"
            found[key] = f"{veiled}{number:0{width}}"
        return found

    def owns(self, namespace: str) -> bool:
        return namespace in self.own

    def is_own(self, key: str) -> bool:
        return key.startswith(self._begun)

    def namespace(self, name: str) -> str:
        if name in self.own:
            return name
        return self._namespaces.setdefault(name, f"other{MARK}{len(self._namespaces) + 1}")

    def key(self, key: str) -> str:
        found = self.keys.get(key)
        if found is None:
            if not key or self.is_own(key):
                return key
            veiled = self.namespace(key.partition("/")[0])
            found = self.keys[key] = f"{veiled}/{MARK}{len(self.keys) + 1}"
        return found

    def name(self, key: str) -> str:
        """Of `namespace/name`, the second half."""
        return self.key(key).partition("/")[2]

    def other(self, text: str) -> str:
        """A word of any kind, such as a UID or the value of a label."""
        return text and self._others.setdefault(text, f"{MARK}{len(self._others) + 1}")
