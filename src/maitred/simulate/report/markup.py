"""HTML and SVG from text that nobody has vetted: whatever is not markup already is escaped."""

import html
from collections.abc import Iterable

import msgspec

from maitred.model.words import printable

LONGEST_NAME = 80


class Markup(str):
    """Text that is markup already."""


def element(name: str, *children: str, **attributes: str | float | None) -> Markup:
    """`class_` stands for `class` and `data_tip` for `data-tip`; attributes that are None are left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(parts: Iterable[str]) -> Markup:
    return Markup("".join(escaped(part) for part in parts))


def escaped(text: str) -> Markup:
    return text if isinstance(text, Markup) else Markup(html.escape(printable(text)))


def plain(value: str | float) -> str:
    """Numbers with as many digits as a screen can show."""
    return value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")


def short(name: str) -> str:
    shown = printable(name)
    return shown if len(shown) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 1]}…"


def tip(*lines: str) -> Markup:
    """What the pointer is told, line by line."""
    return Markup("&#10;".join(escaped(line) for line in lines))


def data(value: object) -> Markup:
    """JSON for the script of the page, in which nothing can end the element around it."""
    text = msgspec.json.encode(value).decode().replace("<", "\\u003c")
    return Markup(f'<script type="application/json">{text}</script>')
