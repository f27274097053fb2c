"""Numbers as people read them, with as many digits as tell two policies apart."""

UNITS = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"))
DAYS_FROM = 2 * 86_400.0
"""Up to two days people count in hours."""


def number(found: float) -> str:
    """`1,234`; a mean over seeds need not be whole, and has one digit more then."""
    return f"{round(found):,}" if abs(found - round(found)) < 0.05 else f"{found:,.1f}"


def amount(count: float, noun: str) -> str:
    """`1 device`, `2.5 devices`."""
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """`41 s`, `3.2 h`."""
    for length, unit in UNITS:
        if seconds >= (DAYS_FROM if unit == "d" else length):
            return f"{digits(seconds / length)} {unit}"
    return f"{number(seconds) if seconds < 10 else round(seconds)} s"


def between(least: str, word: str, most: str) -> str:
    """`2.1 – 3.2 h`: a unit that both have is written once."""
    if least == most:
        return most
    alone, _, unit = least.rpartition(" ")
    return f"{alone if alone and most.endswith(f' {unit}') else least} {word} {most}"


def moment(seconds: float) -> str:
    """`3 d 12 h`: a time since the beginning, told apart from the next one of a plot."""
    rest, parts = round(seconds), list[str]()
    for length, unit in (*UNITS, (1.0, "s")):
        count, rest = divmod(rest, int(length))
        if count or parts:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def digits(found: float) -> str:
    if not found:
        return "0"
    return f"{found:.1f}" if found < 100 else f"{found:,.0f}"


def percent(share: float) -> str:
    """What is there, however little, is not called 0."""
    if not share:
        return "0 %"
    return f"{100 * share:.1f} %" if share >= 0.0005 else "< 0.1 %"


def hours(found: float) -> str:
    return f"{digits(found)} h"
