"""Jobs, groups and the kinds that go with them: what may be created, and how it may change."""

import pytest

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError
from maitred.sandbox.controlplane.run import ControlPlane
from tests.sandbox.apiserver.kinds.asking import (
    ANY_UID,
    SHOWN_OTHERWISE,
    Case,
    answer_here,
    answer_there,
    comparable,
    errors_here,
)
from tests.sandbox.apiserver.kinds.group_cases import GROUPS
from tests.sandbox.apiserver.kinds.job_cases import JOBS
from tests.sandbox.apiserver.kinds.job_changes import CHANGED_JOBS
from tests.sandbox.apiserver.kinds.other_cases import OTHERS
from tests.sandbox.apiserver.schema.real import Real

CASES = [*JOBS, *CHANGED_JOBS, *GROUPS, *OTHERS]
RANK = ("priority",)
"""Resolved by admission, which is not a matter of one object's rules."""


def shortened(error: FieldError) -> str:
    """Without large values, and with one uid for all."""
    if error.field in SHOWN_OTHERWISE:
        return f"{error.field}: ...: {error.detail}"
    return ANY_UID.sub("UID", str(error))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rules(case: Case) -> None:
    assert [shortened(error) for error in errors_here(case)] == list(case.errors)


def test_a_real_server_says_the_same(bare_control_plane: ControlPlane) -> None:
    real, differences = Real(bare_control_plane), list[str]()
    for case in CASES:
        here, there = comparable(answer_here(case), RANK), comparable(answer_there(real, case), RANK)
        if here != there:
            differences.append(f"{case}\n  here:  {here}\n  there: {there}")
    assert not differences, "\n".join(differences)
