"""Label selectors and what they match, and the terms by which pods speak of each other."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.model.needs import needs_of
from maitred.model.pod import Pod
from maitred.model.selector import LabelSelector, Requirement, Selector, holds, integer, matches, selector_of
from tests.oracle.builders import Obj, expr, near, pod, selector, spread

LABELS = {"app": "web", "tier": "", "size": "10"}


def read(raw: Obj | None) -> Selector | None:
    return None if raw is None else selector_of(msgspec.convert(raw, LabelSelector))


MATCHES: dict[str, tuple[Obj | None, bool]] = {
    "no selector": (None, False),
    "the empty selector": (selector(), True),
    "a label": (selector({"app": "web"}), True),
    "another value": (selector({"app": "db"}), False),
    "a label that is missing": (selector({"zone": "a"}), False),
    "an empty value": (selector({"tier": ""}), True),
    "two labels": (selector({"app": "web", "size": "10"}), True),
    "one of two labels": (selector({"app": "web", "size": "11"}), False),
    "In": (selector(None, expr("app", "In", "db", "web")), True),
    "not In": (selector(None, expr("app", "In", "db")), False),
    "In, missing": (selector(None, expr("zone", "In", "a")), False),
    "NotIn": (selector(None, expr("app", "NotIn", "db")), True),
    "not NotIn": (selector(None, expr("app", "NotIn", "db", "web")), False),
    "NotIn, missing": (selector(None, expr("zone", "NotIn", "a")), True),
    "Exists": (selector(None, expr("tier", "Exists")), True),
    "Exists, missing": (selector(None, expr("zone", "Exists")), False),
    "DoesNotExist": (selector(None, expr("zone", "DoesNotExist")), True),
    "DoesNotExist, there": (selector(None, expr("tier", "DoesNotExist")), False),
    "labels and expressions": (selector({"app": "web"}, expr("size", "NotIn", "10")), False),
}


@pytest.mark.parametrize(("raw", "right"), MATCHES.values(), ids=MATCHES.keys())
def test_matches(raw: Obj | None, right: bool) -> None:
    assert matches(read(raw), LABELS) is right


COMPARED: list[tuple[str, str, str, bool]] = [
    ("10", "Gt", "9", True),
    ("10", "Gt", "10", False),
    ("10", "Lt", "11", True),
    ("10", "Lt", "10", False),
    ("-1", "Lt", "0", True),
    ("+5", "Gt", "4", True),
    ("010", "Gt", "9", True),
    ("1.5", "Gt", "1", False),
    ("x", "Gt", "0", False),
    ("", "Lt", "1", False),
    ("10", "Gt", "x", False),
    ("9" * 30, "Gt", "1", False),
]


@pytest.mark.parametrize(("have", "operator", "limit", "right"), COMPARED)
def test_numbers_are_compared(have: str, operator: str, limit: str, right: bool) -> None:
    requirement = msgspec.convert({"key": "k", "operator": operator, "values": [limit]}, Requirement)
    assert holds(requirement, {"k": have}) is right
    assert not holds(requirement, {})


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("", None),
        ("-", None),
        ("1 ", None),
        ("1_0", None),
        ("٣", None),
        ("1e3", None),
    ],
)
def test_whole_numbers_are_read_as_go_reads_them(text: str, right: int | None) -> None:
    assert integer(text) == right


def test_equal_selectors_are_equal_however_they_are_written() -> None:
    one = read(selector({"b": "2", "a": "1"}))
    other = read(selector({"a": "1"}, expr("b", "In", "2"), expr("b", "In", "2")))
    assert one == other
    assert hash(one) == hash(other)
    assert read(selector(None, expr("a", "In", "x", "y"))) == read(selector(None, expr("a", "In", "y", "x")))


keys, values = st.sampled_from("abc"), st.sampled_from("xyz")


@given(st.dictionaries(keys, values), st.dictionaries(keys, values))
def test_match_labels_are_a_subset_of_the_labels(wanted: dict[str, str], labels: dict[str, str]) -> None:
    assert matches(read({"matchLabels": wanted}), labels) is (wanted.items() <= labels.items())


@given(keys, st.lists(values, min_size=1), st.dictionaries(keys, values))
def test_operators_come_in_opposites(key: str, listed: list[str], labels: dict[str, str]) -> None:
    for one, other in (("In", "NotIn"), ("Exists", "DoesNotExist")):
        given_values = listed if one == "In" else []
        first, second = (expr(key, operator, *given_values) for operator in (one, other))
        assert matches(read(selector(None, first)), labels) is not matches(
            read(selector(None, second)), labels
        )


# ---- the terms of pods


def needs(raw: Obj) -> "object":
    return needs_of(msgspec.convert(raw, Pod))


def meant(
    term: Obj, namespace: str, labels: dict[str, str], space: dict[str, str] | None = None, **own: str
) -> bool:
    """Whether a term of a pod in ``default`` means a pod with these labels."""
    [found] = needs_of(msgspec.convert(pod("p", affinity=[term], labels=own), Pod)).affinity
    return found.matches(namespace, space or {"kubernetes.io/metadata.name": namespace}, labels)


WEB = {"app": "web"}


def test_a_term_means_pods_of_its_own_namespace() -> None:
    assert meant(near("rack", WEB), "default", WEB)
    assert not meant(near("rack", WEB), "other", WEB)


def test_a_term_may_name_namespaces_and_select_them() -> None:
    named = near("rack", WEB, namespaces=["a"])
    assert meant(named, "a", WEB)
    assert not meant(named, "default", WEB)
    chosen = near("rack", WEB, namespace_selector=selector({"team": "ml"}))
    assert meant(chosen, "b", WEB, {"team": "ml"})
    assert not meant(chosen, "b", WEB, {"team": "web"})
    assert not meant(chosen, "default", WEB)
    every = near("rack", WEB, namespace_selector={})
    assert meant(every, "anywhere", WEB)


def test_an_empty_namespace_selector_is_not_an_absent_one() -> None:
    assert not meant(near("rack", WEB), "other", WEB)
    assert meant(near("rack", WEB, namespace_selector={}), "other", WEB)


def test_label_keys_compare_with_the_pods_own_labels() -> None:
    same = near("rack", WEB, match_label_keys=["v"])
    other = near("rack", WEB, mismatch_label_keys=["v"])
    assert meant(same, "default", {**WEB, "v": "1"}, v="1")
    assert not meant(same, "default", {**WEB, "v": "2"}, v="1")
    assert meant(other, "default", {**WEB, "v": "2"}, v="1")
    assert not meant(other, "default", {**WEB, "v": "1"}, v="1")
    assert meant(same, "default", {**WEB, "v": "2"}), "a pod without the label compares nothing"


def test_label_keys_without_a_selector_still_mean_nobody() -> None:
    assert not meant(near("rack", None, match_label_keys=["v"]), "default", {"v": "1"}, v="1")


def test_a_spread_means_pods_of_its_own_namespace_only() -> None:
    [term] = needs_of(msgspec.convert(pod("p", spread=[spread("rack", WEB)], namespace="a"), Pod)).spread
    assert term.pods.matches("a", {}, WEB)
    assert not term.pods.matches("default", {}, WEB)


def test_the_defaults_of_a_spread() -> None:
    [term] = needs_of(msgspec.convert(pod("p", spread=[spread("rack", WEB)]), Pod)).spread
    assert (term.max_skew, term.min_domains, term.honor_affinity, term.honor_taints) == (1, 1, True, False)


def test_soft_spreads_are_wishes() -> None:
    found = needs_of(msgspec.convert(pod("p", spread=[spread("rack", WEB, soft=True)]), Pod))
    assert (len(found.spread), len(found.preferred_spread)) == (0, 1)


def test_equal_pods_have_equal_needs() -> None:
    one, other = pod("a", 1, where={"x": "1"}), pod("b", "1000m", where={"x": "1"}, labels=WEB)
    assert needs(one) == needs(other)
    assert hash(needs(one)) == hash(needs(other))
