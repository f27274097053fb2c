"""Log lines as JSON, one object each, or as text for a terminal.

Names and messages come from people who may write anything into them. What would end a line, or speak to a
terminal, is written as an escape here, where every line passes, so that no text can pass for a line of ours.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Literal

from maitred.model.words import printable

Form = Literal["json", "text"]


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        text = json.dumps(line, ensure_ascii=False)
        if text.isprintable():
            return text
        return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


class TextLines(logging.Formatter):
    """A line each; a trace follows it in lines that begin with a bar, as no line of ours does."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return printable(super().formatMessage(record))

    def formatException(self, info: Any) -> str:  # noqa: N802
        lines = super().formatException(info).splitlines()
        return "\n".join(f"  | {printable(line)}" for line in lines)


def start_logging(level: str, form: Form) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
