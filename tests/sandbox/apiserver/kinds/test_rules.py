"""What may be created, and how it may change: here, and on a real server."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from maitred.sandbox.apiserver.schema.scalars import Misfit
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.controlplane.run import ControlPlane
from tests.sandbox.apiserver.kinds.asking import Case, ask_here, cases, refused_there
from tests.sandbox.apiserver.schema.real import Real

CASES = cases()


def test_what_is_taken_and_what_is_refused() -> None:
    """In one test: there are hundreds of cases, and each takes less than a millisecond."""
    found = {str(case): tuple(sorted({error.field for error in ask_here(case)[1]})) for case in CASES}
    assert found == {str(case): case.refused for case in CASES}


def test_a_real_server_takes_and_refuses_the_same(bare_control_plane: ControlPlane) -> None:
    real = Real(bare_control_plane)
    found = {str(case): refused_there(real, case) for case in CASES}
    assert found == {str(case): case.there for case in CASES}


def test_a_rule_that_is_left_out_is_left_out_for_a_reason() -> None:
    assert [str(case) for case in CASES if bool(case.why) != (bool(case.there) and not case.refused)] == []


def test_the_rules_have_an_answer_to_everything() -> None:
    """Each good and bad body and change, with each of its parts missing, empty or of another kind."""
    answered = 0
    for case in CASES:
        for other in spoiled(case):
            try:
                ask_here(other)
            except Misfit:
                continue
            answered += 1
    assert answered > 5_000


def spoiled(case: Case) -> Iterator[Case]:
    if case.change is None:
        return (replace(case, body=other) for other in of_other_parts(case.body))
    return (replace(case, change=other) for other in of_other_parts(case.change))


def of_other_parts(body: Body) -> Iterator[Body]:
    for part in body.keys() - {"apiVersion", "kind", "metadata"}:
        yield from ({**body, part: other} for other in variants(body[part]))


def variants(value: Any) -> Iterator[Any]:
    yield from (None, "", "x", "1e1000", 0, -1, [], {}, True)
    if isinstance(value, dict):
        for key, each in value.items():
            yield from ({**value, key: other} for other in variants(each))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from ([*value[:index], other, *value[index + 1 :]] for other in variants(each))
