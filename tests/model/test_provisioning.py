"""What the policy says of nodes that are asked for, and what an autoscaler says of a request."""

import json
from typing import Any

import msgspec
import pytest

from maitred.model.manifest import InputError
from maitred.model.manifest.settings import read_policy
from maitred.model.provisioning import ATOMIC_SCALE_UP, ProvisioningRequest, answer_of, asked_for, name_of


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ({"class": "check-capacity.autoscaling.x-k8s.io"}, "provisioning.class: check-capacity"),
        ({"class": "No Name"}, "provisioning.class: "),
        ({"after": "1m"}, "provisioning.class: is empty, so no nodes are asked for; write best-effort"),
        ({"class": ATOMIC_SCALE_UP, "after": "soon"}, "provisioning.after: 'soon' is not"),
        ({"class": ATOMIC_SCALE_UP, "keep": "-1m"}, "provisioning.keep: '-1m' is not"),
        ({"class": ATOMIC_SCALE_UP, "parameters": {"a": "x" * 256}}, "is longer than 255"),
        ({"class": ATOMIC_SCALE_UP, "parameters": {str(i): "" for i in range(101)}}, "more than 100 entries"),
        ({"klass": ATOMIC_SCALE_UP}, "klass"),
    ],
)
def test_what_cannot_be_meant_is_refused(said: Any, refusal: str) -> None:
    with pytest.raises(InputError) as refused:
        read_policy(json.dumps({"provisioning": said}).encode(), "p.yaml")
    assert refusal in str(refused.value)


def request(*conditions: Any, **metadata: Any) -> ProvisioningRequest:
    body = {"metadata": metadata, "status": {"conditions": conditions}}
    return msgspec.convert(body, ProvisioningRequest)


def test_what_is_not_so_any_more_is_no_answer_and_long_words_are_cut() -> None:
    assert answer_of(request()) == ("Asked", "")
    assert answer_of(request({"type": "Failed", "status": "False", "message": "x"})) == ("Asked", "")
    assert answer_of(request({"type": "Accepted", "status": "True", "message": "x" * 999})) == (
        "Accepted",
        "x" * 300,
    )


def test_a_request_is_found_by_the_name_of_its_group_in_its_namespace() -> None:
    name = name_of("a/train")
    assert name == name_of("a/train") != name_of("b/train")
    found = asked_for(["a/train", "b/train"], {f"a/{name}": request(), f"b/{name}": request()})
    assert list(found) == ["a/train"]
    assert asked_for(["a/train"], {}) == {}
