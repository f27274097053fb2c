"""Times by which something is to be, as people give them: a time, or a duration from now on."""

from datetime import datetime, timedelta

from maitred.cli.decide import moment
from maitred.model.duration import FORM, milliseconds
from maitred.model.manifest import InputError


def deadline(text: str, now: datetime, option: str) -> datetime:
    span = milliseconds(text)
    if span is not None:
        by = now + timedelta(milliseconds=span)
    else:
        try:
            by = moment(text)
        except InputError:
            raise InputError(option, "", "", f"{text!r} is neither a time nor {FORM}") from None
    if by <= now:
        raise InputError(option, "", "", f"{text} is not in the future")
    return by.replace(microsecond=0)
