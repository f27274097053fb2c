"""`python -m tests.catalogue.page`: write docs/catalogue.md, from the situations and what is said of each."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import fill

from tests.catalogue.chapters import PAIRS, SINGLES
from tests.catalogue.situation import CREW, Chapter, Situation
from tests.explain.applying import remedied
from tests.oracle.builders import Obj

PAGE = Path(__file__).parents[2] / "docs" / "catalogue.md"
WIDTH = 110
INTRODUCTION = """\
# Catalogue

This page has situations in which a group is not scheduled, and what `maitred decide` and `maitred why` say
about each: the verdict, the [blockers](blockers.md), and the remedies that the engine has tried. In every
situation the group is `default/crew`. In the first part exactly one thing is wrong, in the second part two.

A program makes this page (`python -m tests.catalogue.page`), and a test checks it: the categories and their
numbers are right, nothing else is named as a reason, and each remedy, carried out on the objects, gets the
group scheduled."""
SECOND_PART = "Two things are wrong"


@cache
def told(situation: Situation) -> Obj:
    """The group as a Plan with remedies has it."""
    plan = remedied(situation.objects, situation.policy)
    (entry,) = (entry for entry in plan["groups"] if entry["group"] == CREW)
    found: Obj = entry
    return found


def page() -> str:
    parts = [INTRODUCTION, *(written(chapter, 2) for chapter in SINGLES)]
    parts += [f"## {SECOND_PART}", *(written(chapter, 3) for chapter in PAIRS)]
    return "\n\n".join(parts) + "\n"


def written(chapter: Chapter, depth: int) -> str:
    sections = (section(situation, depth + 1) for situation in chapter.situations)
    return "\n\n".join([f"{'#' * depth} {chapter.title}", *sections])


def section(situation: Situation, depth: int) -> str:
    setup = fill(situation.setup, WIDTH, break_on_hyphens=False, break_long_words=False)
    lines = "\n".join(said(told(situation)))
    return f"{'#' * depth} {situation.title}\n\n{setup}\n\n```text\n{lines}\n```"


def said(entry: Obj) -> Iterator[str]:
    rows = [(blocker["category"], blocker["message"]) for blocker in entry["blockers"]]
    rows += [("Remedy", remedy["change"]) for remedy in entry["remedies"]]
    width = max(len(name) for name, _ in rows)
    yield entry["verdict"]
    for name, text in rows:
        start = f"  {name:{width}}  "
        yield fill(start + text, WIDTH - 10, subsequent_indent=" " * len(start), break_on_hyphens=False)


if __name__ == "__main__":
    PAGE.write_text(page())
