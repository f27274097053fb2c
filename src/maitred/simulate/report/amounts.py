"""Numbers as people read them, with as many digits as tell two policies apart."""

UNITS = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"))
DAYS_FROM = 2 * 86_400.0
"""Up to two days people count in hours."""


def number(amount: float) -> str:
    """`1,234`; a mean over seeds need not be whole, and has one digit more then."""
    return f"{round(amount):,}" if abs(amount - round(amount)) < 0.05 else f"{amount:,.1f}"


def duration(seconds: float) -> str:
    """`41 s`, `3.2 h`."""
    for length, unit in UNITS:
        if seconds >= (DAYS_FROM if unit == "d" else length):
            return f"{digits(seconds / length)} {unit}"
    return f"{number(seconds) if seconds < 10 else round(seconds)} s"


def moment(seconds: float) -> str:
    """`3 d 12 h`: a time since the beginning, told apart from the next one of a plot."""
    rest, parts = round(seconds), list[str]()
    for length, unit in (*UNITS, (1.0, "s")):
        count, rest = divmod(rest, int(length))
        if count or parts:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def digits(amount: float) -> str:
    if not amount:
        return "0"
    return f"{amount:.1f}" if amount < 100 else f"{amount:,.0f}"


def percent(share: float) -> str:
    """What is there, however little, is not called 0."""
    if not share:
        return "0 %"
    return f"{100 * share:.1f} %" if share >= 0.0005 else "< 0.1 %"


def hours(amount: float) -> str:
    return f"{digits(amount)} h"
