"""Tables: the rows of a CSV file, packed or not, whose columns are looked up by name."""

import csv
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from maitred.model.manifest.checks import quantity_problem
from maitred.model.manifest.errors import InputError
from maitred.model.quantity import LARGEST_AMOUNT, amount
from maitred.simulate.clock import LONGEST, Time

MOST_ROWS = 2_000_000
MOST_UNPACKED = 256 * 2**20
LARGEST_NUMBER = 10**15
NO_ADVICE: Mapping[str, str] = {}

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class TraceRow:
    source: str
    line: int
    cells: Mapping[str, str]

    def refuse(self, column: str, what: str) -> InputError:
        return InputError(self.source, f"line {self.line}", column, what)

    def has(self, column: str) -> bool:
        return bool(self.cells.get(column))

    def text(self, column: str) -> str:
        if not self.cells[column]:
            raise self.refuse(column, "is empty")
        return self.cells[column]

    def whole(self, column: str, advice: str = "") -> int:
        number = self.number(column)
        if number != int(number):
            raise self.refuse(column, f"{self.cells[column][:40]!r} is not a whole number{advice}")
        return int(number)

    def time(self, column: str, unit: Time) -> Time:
        """What is written in this unit, exactly, down to a microsecond."""
        return self.bounded(column, self.number(column) * unit)

    def bounded(self, column: str, time: Decimal) -> Time:
        if time > LONGEST:
            raise self.refuse(column, f"{self.cells[column][:40]} comes to more than a hundred years")
        return round(time)

    def quantity(self, column: str, resource: str, unit: str) -> str:
        quantity = f"{self.whole(column)}{unit}"
        if problem := quantity_problem(resource, quantity):
            raise self.refuse(column, problem)
        if amount(resource, quantity) > LARGEST_AMOUNT:
            raise self.refuse(column, f"{quantity} is too large")
        return quantity

    def number(self, column: str) -> Decimal:
        text = self.text(column)
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite():
            raise self.refuse(column, f"{text[:40]!r} is not a number")
        if number < 0:
            raise self.refuse(column, f"{text[:40]} is negative")
        if number > LARGEST_NUMBER:
            raise self.refuse(column, f"{text[:40]} is too large")
        return number


def rows(
    data: bytes, source: str, columns: Sequence[str], advice: Mapping[str, str] = NO_ADVICE
) -> Iterator[TraceRow]:
    """The rows of a table that has at least these columns. `advice` says what to do without one of them."""
    lines = csv.reader(text_of(data, source).splitlines(keepends=True))
    try:
        names = [name.strip() for name in next(lines, [])]
        if missing := [column for column in columns if column not in names]:
            found = ", ".join(names)[:200] or "none at all"
            hint = advice.get(missing[0], "")
            raise InputError(
                source, "line 1", missing[0], f"there is no such column; there are {found}{hint}"
            )
        if twice := [name for name, count in Counter(filter(None, names)).items() if count > 1]:
            raise InputError(source, "line 1", twice[0], "there are several columns of this name")
        for number, cells in enumerate(filter(None, lines)):
            if number == MOST_ROWS:
                raise InputError(source, "", "", f"more than {MOST_ROWS} rows")
            if len(cells) != len(names):
                what = f"has {len(cells)} fields, but the first line has {len(names)}"
                raise InputError(source, f"line {lines.line_num}", "", what)
            yield TraceRow(source, lines.line_num, dict(zip(names, map(str.strip, cells), strict=True)))
    except csv.Error as error:
        raise InputError(source, f"line {lines.line_num}", "", f"not CSV: {error}") from None


def text_of(data: bytes, source: str) -> str:
    try:
        return unpacked(data, source).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(source, "", "", f"not text: byte {error.start} is not UTF-8") from None


def unpacked(data: bytes, source: str) -> bytes:
    """What a gzip file holds; anything else as it is."""
    parts, size = list[bytes](), 0
    if not data.startswith(_GZIP):
        return data
    try:
        while data:
            member = zlib.decompressobj(wbits=31)
            parts.append(member.decompress(data, MOST_UNPACKED + 1 - size))
            size += len(parts[-1])
            if size > MOST_UNPACKED:
                raise InputError(source, "", "", f"unpacks to more than {MOST_UNPACKED // 2**20} MiB")
            if not member.eof:
                raise InputError(source, "", "", "the gzip file is cut off")
            data = member.unused_data
    except zlib.error as error:
        raise InputError(source, "", "", f"not a valid gzip file: {error}") from None
    return b"".join(parts)
