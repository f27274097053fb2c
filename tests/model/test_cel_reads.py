"""What a selector reads of a device: devices that agree on it are taken for the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.model.cel import DeviceFacts, Quantity, Reads, SelectorError, Version, selector

A, B = "a.example.com", "b.example.com"


def named(*names: str) -> frozenset[str]:
    return frozenset(names)


@pytest.mark.parametrize(
    ("expression", "reads"),
    [
        ("true", Reads()),
        ("device.driver == 'x' && device.allowMultipleAllocations", Reads()),
        (f'device.attributes["{A}"].model == "x"', Reads(attributes=named(f"{A}/model"))),
        (f'device.attributes["{A}"]["model"] == "x"', Reads(attributes=named(f"{A}/model"))),
        (f'has(device.attributes["{A}"].model)', Reads(attributes=named(f"{A}/model"))),
        (f'"model" in device.attributes["{A}"]', Reads(attributes=named(f"{A}/model"))),
        (f'device.attributes[?"{A}"].?model.hasValue()', Reads(attributes=named(f"{A}/model"))),
        (f'sign(device.capacity["{A}"].memory) > 0', Reads(capacity=named(f"{A}/memory"))),
        (
            f'cel.bind(a, device.attributes["{A}"], a.x && a.y && device.attributes["{B}"].z)',
            Reads(attributes=named(f"{A}/x", f"{A}/y", f"{B}/z")),
        ),
        (f'cel.bind(all, device.attributes, all["{A}"].x)', Reads(attributes=named(f"{A}/x"))),
        (f'device.attributes["{A}"].links.exists(l, l == "x")', Reads(attributes=named(f"{A}/links"))),
        (f'"{A}" in device.attributes', Reads(domains=named(A))),
        (f'device.attributes["{A}"].exists(id, id == "x")', Reads(domains=named(A))),
        (f'device.attributes["{A}"].size() == 2', Reads(domains=named(A))),
        (f'device.attributes["{A}"][device.driver] == 1', Reads(domains=named(A))),
        (f'device.capacity["{A}"] == device.capacity["{B}"]', Reads(domains=named(A, B))),
        (f'(true ? device.attributes["{A}"] : device.attributes["{B}"]).x', Reads(domains=named(A, B))),
        ("device.attributes[device.driver].x", Reads(everything=True)),
        ("device.attributes.size() == 1", Reads(everything=True)),
        ("[device.capacity].size() == 1", Reads(everything=True)),
        ("cel.bind(d, device, d == d)", Reads(everything=True)),
    ],
)
def test_what_is_read(expression: str, reads: Reads) -> None:
    assert selector(expression).reads == reads


VALUES = st.one_of(
    st.integers(0, 2),
    st.booleans(),
    st.sampled_from(["x", "y"]),
    st.just(Version.parse("1.0.0")),
    st.lists(st.integers(0, 2), max_size=2),
)
NAMES = st.sampled_from([f"{domain}/{name}" for domain in (A, B) for name in ("x", "y", "z")])
DOMAINS = st.sampled_from(
    [f'device.{field}["{domain}"]' for field in ("attributes", "capacity") for domain in (A, B)]
    + [
        "device.attributes[device.driver]",
        f'(device.allowMultipleAllocations ? device.attributes["{A}"] : {{}})',
    ]
)
ATOMS = st.builds(
    lambda form, domain, name, other: form.format(d=domain, n=name, o=other),
    st.sampled_from(
        [
            "dyn({d}.{n}) == dyn({o}.{n})",
            "has({d}.{n})",
            '"{n}" in {d}',
            "{d}.?{n}.hasValue()",
            '{d}[?"{n}"] == optional.none()',
            "{d}.exists(id, id == '{n}')",
            "{d}.all(id, value, dyn(value) == dyn({o}.{n}))",
            "{d}.size() > 1",
            "cel.bind(d, {d}, dyn(d.{n}) == 1)",
            "cel.bind(d, {d}, [d].exists(e, has(e.{n})))",
            "device.attributes.exists(domain, device.attributes[domain].size() > 1)",
            '"' + A + '" in device.attributes',
            "dyn({d}) == dyn({o})",
            "dyn({d}.{n})",
        ]
    ),
    DOMAINS,
    st.sampled_from(["x", "y", "z"]),
    DOMAINS,
)
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({} && {})".format, inner, inner),
        st.builds("({} || {})".format, inner, inner),
        st.builds("({0} == true ? {1} : {2})".format, inner, inner, inner),
    ),
    max_leaves=3,
)
DEVICES = st.builds(
    DeviceFacts,
    driver=st.sampled_from([A, B]),
    attributes=st.dictionaries(NAMES, VALUES),
    capacity=st.dictionaries(NAMES, st.sampled_from([Quantity.parse("1"), Quantity.parse("2Gi")])),
    allow_multiple_allocations=st.booleans(),
)


def outcome(expression: str, device: DeviceFacts) -> str:
    try:
        return str(selector(expression).matches(device))
    except SelectorError as error:
        return str(error)


@given(EXPRESSIONS, DEVICES)
def test_what_is_not_read_never_changes_the_result(expression: str, device: DeviceFacts) -> None:
    """A selector is shown only what it reads; beside it, the same one is made to see the whole device."""
    whole = f"cel.bind(unused, [device.attributes].size() + [device.capacity].size(), {expression})"
    assert selector(whole).reads.everything
    assert outcome(expression, device) == outcome(whole, device)
