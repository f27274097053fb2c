"""Log lines that machines read."""

import json
import logging
import sys

from maitred.controllers.logs import JsonLines


def record(message: str, *arguments: object, failed: bool = False) -> logging.LogRecord:
    try:
        raise ValueError("broken") if failed else StopIteration
    except Exception:
        error = sys.exc_info() if failed else None
    return logging.LogRecord("maitred.loop", logging.INFO, "loop.py", 1, message, arguments, error)


def test_a_line_is_one_object_whatever_the_message_has_in_it() -> None:
    line = JsonLines().format(record('group %s: "seated"\nin rack %s', "ml/a", "r7"))
    assert "\n" not in line
    told = json.loads(line)
    assert told["message"] == 'group ml/a: "seated"\nin rack r7'
    assert (told["level"], told["logger"]) == ("info", "maitred.loop")


def test_a_trace_is_part_of_the_line() -> None:
    line = JsonLines().format(record("it failed", failed=True))
    assert "\n" not in line
    assert "ValueError: broken" in json.loads(line)["exception"]
