"""What the server holds stays in order and whole, also where it keeps less of it at hand."""

import pytest

from maitred.sandbox.apiserver import store
from maitred.sandbox.apiserver.store import Key, Shelf, Store


def put(there: Store, shelf: Shelf, name: str, namespace: str = "a", word: str = "") -> None:
    there.put(shelf, Key(namespace, name), {"metadata": {"name": name}, "word": word})


def names(shelf: Shelf) -> list[str]:
    return ["/".join(item.key) for item in shelf.ordered()]


def test_objects_are_in_the_order_of_their_paths_whatever_comes_and_goes() -> None:
    there = Store()
    shelf = there.shelf("notes")
    for namespace, name in (("a", "y"), ("a-b", "x"), ("a", "x"), ("b", "z")):
        put(there, shelf, name, namespace)
    assert names(shelf) == ["a-b/x", "a/x", "a/y", "b/z"]
    before = shelf.ordered()
    there.remove(shelf, before[1])
    put(there, shelf, "y", word="new")
    assert names(shelf) == ["a-b/x", "a/y", "b/z"]
    assert len(before) == 4, "who reads pages keeps the moment"


def test_what_was_replaced_long_ago_is_read_from_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "VIVID", 2)
    there = Store()
    shelf = there.shelf("notes")
    for number in range(5):
        put(there, shelf, "x", word=str(number))
    replaced = [change.before for change in shelf.history.changes[1:]]
    assert [item is not None and item.body["word"] for item in replaced] == ["0", "1", "2", "3"]
    faded = replaced[0]
    assert faded is not None
    assert faded.body is not faded.body, "it is made anew for whoever asks"
    current = shelf.get(Key("a", "x"))
    assert current is not None
    assert current.body is current.body
