"""What people may write on pods, and what becomes of what makes no sense."""

import logging

import pytest

from maitred.model.meta import ObjectMeta
from maitred.sandbox.kubelets.marks import (
    EXIT_CODE,
    FAULT,
    KUBELET,
    RUN_SECONDS,
    START_SECONDS,
    exit_code,
    is_faulty,
    is_simulated,
    run_seconds,
    start_seconds,
)


def pod(**marks: str) -> ObjectMeta:
    keys = {"run": RUN_SECONDS, "code": EXIT_CODE, "start": START_SECONDS}
    return ObjectMeta(name="p", annotations={keys[name]: value for name, value in marks.items()})


@pytest.mark.parametrize(
    ("metadata", "seconds", "code"),
    [
        (pod(), None, 0),
        (pod(run="2.5"), 2.5, 0),
        (pod(run="-1"), 0.0, 0),
        (pod(run="3", code="7"), 3.0, 7),
        (pod(code="1"), 0.0, 1),
        (pod(code="4000"), 0.0, 255),
    ],
)
def test_how_long_a_pod_runs_and_how_it_ends(metadata: ObjectMeta, seconds: float | None, code: int) -> None:
    assert (run_seconds(metadata), exit_code(metadata)) == (seconds, code)


def test_a_label_does_as_well() -> None:
    assert run_seconds(ObjectMeta(labels={RUN_SECONDS: "4"})) == 4


@pytest.mark.parametrize("text", ["soon", "nan", "inf", ""])
def test_what_is_no_number_is_said_and_ignored(text: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    assert run_seconds(pod(run=text)) is None
    assert start_seconds(pod(start=text), usual=0.5) == 0.5
    assert len(caplog.messages) == 2


def test_a_pod_may_start_slowly() -> None:
    assert start_seconds(pod(start="9"), usual=0.5) == 9


def test_only_marked_nodes_are_simulated() -> None:
    assert is_simulated(ObjectMeta(labels={KUBELET: "simulated"}))
    assert not is_simulated(ObjectMeta(labels={KUBELET: "real"}))
    assert not is_simulated(ObjectMeta(annotations={KUBELET: "simulated"}))
    assert is_faulty(ObjectMeta(annotations={FAULT: ""}))
    assert not is_faulty(ObjectMeta())
