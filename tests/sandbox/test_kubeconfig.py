"""Which kubeconfig files are ours, and that no other is written over, followed or removed."""

import json
from pathlib import Path

import pytest

from maitred.sandbox.kubeconfig import remove_ours, token_of_ours, write_kubeconfig, write_private

Written = dict[str, list[dict[str, object]]]


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    path = tmp_path / "ours"
    write_kubeconfig(path, "https://127.0.0.1:1", b"certificate", "secret")
    return path


def test_ours_is_known_by_what_is_in_it(ours: Path) -> None:
    assert token_of_ours(ours) == "secret"
    assert ours.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("part", ["contexts", "clusters", "users"])
def test_one_that_holds_anything_else_is_not(ours: Path, part: str) -> None:
    """As when someone has merged it with files of their own."""
    content: Written = json.loads(ours.read_text())
    content[part].append({"name": "production"})
    ours.write_text(json.dumps(content))
    assert token_of_ours(ours) is None


@pytest.mark.parametrize("text", ["", "[", "kind: Config", "apiVersion: v1\nkind: Config\n"])
def test_any_other_file_is_not(tmp_path: Path, text: str) -> None:
    (tmp_path / "other").write_text(text)
    assert token_of_ours(tmp_path / "other") is None


def test_neither_is_a_link_to_it_nor_a_directory(ours: Path) -> None:
    link = ours.with_name("link")
    link.symlink_to(ours)
    assert token_of_ours(link) is None
    assert token_of_ours(ours.parent) is None


def test_what_is_there_is_never_written_over(ours: Path) -> None:
    dangling = ours.with_name("dangling")
    dangling.symlink_to(ours.with_name("absent"))
    for path in (ours, dangling):
        with pytest.raises(FileExistsError):
            write_private(path, "new")
    assert token_of_ours(ours) == "secret"
    assert not dangling.exists()


def test_only_the_one_with_the_same_token_is_removed(ours: Path) -> None:
    remove_ours(ours, "another")
    assert ours.exists()
    remove_ours(ours, "secret")
    remove_ours(ours, "secret")
    assert not ours.exists()
