"""Tables: what is read from them, and what is refused with its place."""

import gzip
from decimal import Decimal

import pytest

from maitred.model.manifest import InputError
from maitred.simulate.clock import SECOND
from maitred.simulate.traces import rows as module
from maitred.simulate.traces.rows import rows, unpacked


def test_columns_are_found_by_name_in_any_order_and_number() -> None:
    (row,) = rows(b"\xef\xbb\xbfb, a ,c,,\n2, 1 ,3,,\n\n", "t.csv", ("a", "b"))
    assert (row.line, row.whole("a"), row.whole("b"), row.text("c")) == (2, 1, 2, "3")


def test_numbers_are_exact() -> None:
    (row,) = rows(b"a,b\n0.000001,12345678901.5\n", "t.csv", ("a", "b"))
    assert row.time("a", SECOND) == 1
    assert row.number("b") == Decimal("12345678901.5")


def test_a_packed_file_is_read_as_what_is_in_it() -> None:
    packed = gzip.compress(b"a\n1\n", mtime=0) + gzip.compress(b"2\n", mtime=0)
    assert [row.whole("a") for row in rows(packed, "t.csv.gz", ("a",))] == [1, 2]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "line 1: a: there is no such column; there are none at all"),
        (b"b,c\n1,2\n", "line 1: a: there is no such column; there are b, c"),
        (b"a,b\n1\n", "line 2: has 1 fields, but the first line has 2"),
        (b"a\n1\n\nx\n", "line 4: a: 'x' is not a number"),
        (b"a\nnan\n", "line 2: a: 'nan' is not a number"),
        (b"a\n1e999999\n", "line 2: a: 1e999999 is too large"),
        (b"a\n-1\n", "line 2: a: -1 is negative"),
        (b"a,b, b\n1,2,3\n", "line 1: b: there are several columns of this name"),
        (b"a\n1.5\n", "line 2: a: '1.5' is not a whole number"),
        (b'a,b\n"",1\n', "line 2: a: is empty"),
        (b"a\n\xff\n", "not text: byte 2 is not UTF-8"),
        (b"a\n" + b"1" * 200_000, "line 2: not CSV: field larger than field limit"),
        (gzip.compress(b"a\n1\n", mtime=0)[:-9], "the gzip file is cut off"),
        (b"\x1f\x8bnothing", "not a valid gzip file"),
    ],
)
def test_what_is_wrong_is_named(data: bytes, error: str) -> None:
    with pytest.raises(InputError) as refused:
        [row.whole("a") for row in rows(data, "t.csv", ("a",))]
    assert str(refused.value).startswith(f"t.csv: {error}")


def test_times_beyond_a_century_are_refused() -> None:
    (row,) = rows(b"a\n4000000000\n", "t.csv", ("a",))
    with pytest.raises(InputError, match="line 2: a: 4000000000 comes to more than a hundred years"):
        row.time("a", SECOND)


def test_input_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 2)
    with pytest.raises(InputError, match="more than 2 rows"):
        list(rows(b"a\n1\n2\n3\n", "t.csv", ("a",)))
    monkeypatch.setattr(module, "MOST_UNPACKED", 2**20)
    assert len(unpacked(gzip.compress(bytes(2**20)), "t.gz")) == 2**20
    with pytest.raises(InputError, match="unpacks to more than 1 MiB"):
        unpacked(gzip.compress(bytes(2**20 + 1)), "t.gz")
    with pytest.raises(InputError, match="unpacks to more than 1 MiB"):
        unpacked(gzip.compress(bytes(2**20)) * 2, "t.gz")
