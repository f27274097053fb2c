from datetime import UTC, datetime
from typing import Any

import pytest

from maitred.sandbox.apiserver.printing.kinds import PRINTERS, printer_for
from maitred.sandbox.apiserver.printing.paths import NotSimple, Path
from maitred.sandbox.apiserver.printing.printer import custom_printer
from maitred.sandbox.apiserver.printing.table import Include, table_of_list, table_of_one

NOW = datetime(2026, 1, 2, 4, 0, tzinfo=UTC)
AS_ASKED: dict[str, Any] = {"include": Include.METADATA, "version": "v1"}
CREATED = "2026-01-02T03:58:00Z"
POD = {
    "metadata": {"name": "p", "creationTimestamp": CREATED, "resourceVersion": "7"},
    "spec": {"containers": [{"name": "c"}]},
    "status": {"phase": "Succeeded"},
}


def test_a_row_has_a_cell_for_every_column_even_of_an_empty_object() -> None:
    """As a watch shows a bookmark, which is an object with nothing but a version."""
    bookmark: dict[str, Any] = {"metadata": {"resourceVersion": "7"}}
    for kind, each in PRINTERS.items():
        assert len(each.cells(bookmark, NOW)) == len(each.columns), kind


def test_a_kind_without_a_table_of_its_own_shows_its_name_and_when_it_was_made() -> None:
    body = {"metadata": {"name": "r", "creationTimestamp": CREATED}}
    assert printer_for("rbac.authorization.k8s.io", "Role").cells(body, NOW) == ["r", CREATED]


def test_a_list_has_the_metadata_of_the_list_and_a_row_per_object() -> None:
    table = table_of_list(printer_for("", "Pod"), [POD], {"resourceVersion": "9"}, NOW, **AS_ASKED)
    assert table["metadata"] == {"resourceVersion": "9"}
    [row] = table["rows"]
    assert row["cells"][:5] == ["p", "0/1", "Succeeded", "0", "2m"]
    assert row["conditions"][0]["reason"] == "Succeeded"
    assert row["object"]["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize(("include", "embedded"), [(Include.NONE, None), (Include.OBJECT, POD)])
def test_rows_include_of_their_objects_what_was_asked_for(include: Include, embedded: object) -> None:
    table = table_of_one(printer_for("", "Pod"), POD, NOW, include=include, version="v1")
    assert table["rows"][0]["object"] == embedded
    assert table["metadata"] == {"resourceVersion": "7"}


def test_only_the_first_event_of_a_watch_has_headers() -> None:
    assert (
        table_of_one(printer_for("", "Pod"), POD, NOW, **AS_ASKED, headers=False)["columnDefinitions"] is None
    )


def test_a_list_of_storage_classes_marks_the_youngest_default() -> None:
    def storage(name: str, created: str, *, default: bool = True) -> dict[str, Any]:
        mark = {"storageclass.kubernetes.io/is-default-class": str(default).lower()}
        return {
            "metadata": {"name": name, "creationTimestamp": created, "annotations": mark},
            "provisioner": "p",
        }

    classes = [
        storage("a", "2026-01-01T00:00:00Z"),
        storage("b", "2026-01-02T00:00:00Z"),
        storage("c", "2026-01-02T00:00:00Z"),
        storage("d", "2026-01-03T00:00:00Z", default=False),
    ]
    table = table_of_list(printer_for("storage.k8s.io", "StorageClass"), classes, {}, NOW, **AS_ASKED)
    assert [row["cells"][0] for row in table["rows"]] == ["a", "b (default)", "c", "d"]


BODY = {
    "metadata": {"name": "x", "creationTimestamp": CREATED, "labels": {"a.b/c": "d"}},
    "spec": {"list": [{"n": 1}, {"n": 2}], "on": True, "size": 3, "ratio": 0.5},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Old", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.size", [3]),
        (".spec.none", []),
        (".spec.size.none", []),
        (".spec.list[0].n", [1]),
        (".spec.list[-1].n", [2]),
        (".spec.list[7].n", []),
        (".spec.list[*].n", [1, 2]),
        (r".metadata.labels.a\.b/c", ["d"]),
        (".metadata.labels['a.b/c']", ["d"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type!='Ready')].status", ["False"]),
    ],
)
def test_columns_of_custom_resources_find_their_values(path: str, found: list[object]) -> None:
    assert Path(path).find(BODY) == found


@pytest.mark.parametrize("path", ["spec", ".spec[", ".spec[?(@.a)]", "{.spec}"])
def test_a_path_that_is_not_simple_is_refused(path: str) -> None:
    with pytest.raises(NotSimple, match="unrecognized column definition"):
        Path(path)


@pytest.mark.parametrize(
    ("kind", "path", "cell"),
    [
        ("integer", ".spec.size", 3),
        ("integer", ".spec.on", None),
        ("number", ".spec.ratio", 0.5),
        ("boolean", ".spec.on", True),
        ("string", ".spec.on", "true"),
        ("string", ".spec.list[0]", '{"n":1}'),
        ("date", ".metadata.creationTimestamp", "2m"),
        ("date", ".metadata.name", "<invalid>"),
        ("string", ".spec.none", None),
    ],
)
def test_a_cell_is_of_the_type_that_its_column_says(kind: str, path: str, cell: object) -> None:
    shown = custom_printer([{"name": "X", "type": kind, "jsonPath": path}])
    assert shown.cells(BODY, NOW) == ["x", cell]


def test_a_definition_without_columns_shows_the_age() -> None:
    shown = custom_printer([])
    assert [column.name for column in shown.columns] == ["Name", "Age"]
    assert shown.cells(BODY, NOW) == ["x", "2m"]
