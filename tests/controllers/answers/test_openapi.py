"""The OpenAPI document is true: what it allows is answered as it says, and what it does not is refused."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import CheckFunction
from schemathesis.specs.openapi.checks import positive_data_acceptance

from maitred.controllers.answers import question_queue
from maitred.controllers.answers.openapi import document
from maitred.controllers.answers.refusals import STATUSES
from maitred.controllers.answers.routes import ROUTES
from maitred.kube.answers import TOKEN_HEADER, Reason
from tests.controllers.answers.house import ANN, SECRETS, House, running_house
from tests.docs.console import ROOT
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.oracle.strategies import clusters

PAGE = (ROOT / "docs/api.md").read_text()


@pytest.fixture(scope="module")
def running() -> Iterator[House]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(question_queue, "PER_SECOND", 1e6)
        with running_house() as found:
            yield found


def test_the_page_has_every_question_with_its_parameters_and_answers() -> None:
    rows = re.findall(r"^\| (GET|POST) \| `/v1alpha1/(\S+)` \| (.*?)\| (.*) \|$", PAGE, re.MULTILINE)
    documented = [
        (method, path, re.findall(r"`(\w+)`", named), re.findall(r"`([A-Z]\w+)`", answers))
        for method, path, named, answers in rows
    ]
    assert documented == [
        (
            route.method,
            route.path,
            [one.name for one in route.parameters if one.place == "query"],
            [answer.__name__ for answer in route.answers],
        )
        for route in ROUTES
    ]


def test_the_page_has_every_refusal_with_its_status() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", PAGE, re.MULTILINE)
    assert [(reason, int(status)) for status, reason in rows] == list(STATUSES.items())


def test_every_refusal_that_there_is_has_a_status_of_its_own() -> None:
    assert set(STATUSES) == set(Reason)


schema = schemathesis.openapi.from_dict(document(ROUTES))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
@schema.parametrize()
@settings(examples(60), suppress_health_check=list(HealthCheck))
def test_answers_are_as_the_document_says(running: House, case: schemathesis.Case[Any]) -> None:
    # What a manifest may have is for Kubernetes to say: here it is an object.
    beyond: list[CheckFunction] = [positive_data_acceptance] if case.operation.path.endswith("/plan") else []
    case.call_and_validate(
        base_url=f"https://127.0.0.1:{running.port}",
        headers={TOKEN_HEADER: running.tokens[ANN]},
        excluded_checks=beyond,
        verify=False,
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
@given(clusters(max_members=4))
@settings(examples(60), suppress_health_check=list(HealthCheck))
def test_whatever_pods_are_planned_there_is_an_answer(running: House, objects: list[Obj]) -> None:
    own = [item for item in objects if item["kind"] in ("Pod", "PodGroup", "PersistentVolumeClaim")]
    for item in own:
        item["metadata"]["namespace"] = "team-a"
    answer = requests.post(
        f"https://127.0.0.1:{running.port}/v1alpha1/plan?namespaces=team-a",
        data=json.dumps({"objects": own}),
        headers={TOKEN_HEADER: running.tokens[ANN]},
        verify=False,
        timeout=60,
    )
    assert answer.status_code in (200, 400), answer.text
    assert not any(secret in answer.text for secret in SECRETS)
