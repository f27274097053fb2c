"""Log lines that machines and people read, whatever is in them."""

import json
import logging
import sys

from maitred.controllers.logs import JsonLines, TextLines


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


FORGED = "ml/a\n12:00:00 ERROR   all is lost\r\x1b[2J\x9b1m\u2028\u202egnihton"


def test_nobody_can_make_up_a_line_or_speak_to_the_terminal() -> None:
    text = TextLines().format(record("group %s: seated", FORGED))
    assert text.isprintable()
    assert r"ml/a\n12:00:00 ERROR   all is lost\r\x1b[2J\x9b1m\u2028\u202egnihton: seated" in text
    line = JsonLines().format(record("group %s: seated", FORGED))
    assert line.isprintable()
    assert json.loads(line)["message"] == f"group {FORGED}: seated"


def test_a_trace_in_text_is_told_apart_from_lines() -> None:
    try:
        raise ValueError(FORGED)
    except ValueError:
        failure = logging.LogRecord("maitred", logging.ERROR, "x.py", 1, "it failed", (), sys.exc_info())
    first, *trace = TextLines().format(failure).split("\n")
    assert first.endswith("ERROR   it failed")
    assert any("all is lost" in one for one in trace)
    assert all(one.startswith("  | ") and one.isprintable() for one in trace)
