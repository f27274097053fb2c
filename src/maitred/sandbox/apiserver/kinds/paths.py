"""The rules for paths of files."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid


def check_no_way_up(path: str, field: str) -> Iterator[FieldError]:
    if ".." in path.split("/"):
        yield invalid(field, path, "must not contain '..'")


def check_relative(path: str, field: str) -> Iterator[FieldError]:
    if path.startswith("/"):
        yield invalid(field, path, "must be a relative path")
    yield from check_no_way_up(path, field)


def check_unreserved(path: str, field: str) -> Iterator[FieldError]:
    """Within a volume that a kubelet fills: it keeps names that begin with two dots for itself."""
    yield from check_relative(path, field)
    if path.startswith("..") and not path.startswith("../"):
        yield invalid(field, path, "must not start with '..'")
