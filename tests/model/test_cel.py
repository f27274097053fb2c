"""Device selectors: the results, failures and refusals of Kubernetes 1.37, case by case."""

import pytest

from maitred.model.cel import DeviceFacts, Quantity, SelectorError, Version, selector

DRIVER = "dra.example.com"
GPU = DeviceFacts(
    driver=DRIVER,
    attributes={
        f"{DRIVER}/model": "h100",
        f"{DRIVER}/cores": 132,
        f"{DRIVER}/healthy": True,
        f"{DRIVER}/driverVersion": Version.parse("1.2.3"),
        f"{DRIVER}/links": ["nvlink", "pcie"],
        f"{DRIVER}/numbers": [1, 2],
        f"{DRIVER}/flags": [True, True],
        f"{DRIVER}/releases": [Version.parse("1.0.0"), Version.parse("2.0.0")],
        "other.example.com/name": True,
    },
    capacity={f"{DRIVER}/memory": Quantity.parse("80Gi")},
)
OWN = f'device.attributes["{DRIVER}"]'
CAPACITY = f'device.capacity["{DRIVER}"]'


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("true", True),
        ("false", False),
        (f'device.driver == "{DRIVER}"', True),
        ("device.allowMultipleAllocations == false", True),
        ("has(device.allowMultipleAllocations)", True),
        (f"{OWN}.healthy", True),
        (f'{OWN}["healthy"]', True),
        ('device.attributes["other.example.com"].name', True),
        (f"{OWN}.cores > 0", True),
        (f"{OWN}.cores < 1.5", False),
        (f'{OWN}.model == "h100"', True),
        (f'{OWN}.model in ["a100", "h100"]', True),
        (f'{OWN}.model == "h100" && {OWN}.cores == 132 && {OWN}.healthy', True),
        (f'{OWN}.driverVersion.isGreaterThan(semver("0.0.1"))', True),
        (f'{OWN}.driverVersion == semver("1.2.3+any.build")', True),
        (f'{OWN}.driverVersion.compareTo(semver("v1.3", true)) == -1 && isSemver("v1.0.0", true)', True),
        (f"{OWN}.driverVersion.major() == 1 && {OWN}.driverVersion.minor() == 2", True),
        (f'{CAPACITY}.memory.isGreaterThan(quantity("1Ki"))', True),
        (f'{CAPACITY}["memory"].compareTo(quantity("80Gi")) >= 0', True),
        (f'{CAPACITY}.memory == quantity("81920Mi")', True),
        (f'{CAPACITY}.memory.sub(quantity("80Gi")) == quantity("0")', True),
        (f'"memory" in {CAPACITY} && {CAPACITY}.memory.isGreaterThan(quantity("1Ki"))', True),
        (f"cel.bind(own, {OWN}, own.healthy && own.cores == 132)", True),
        (f'{OWN}.model.matches("^h[0-9]+$")', True),
        (f'{OWN}.model.split("1").size() >= 2', True),
        (f"[1, 3].sum() == 4 && {OWN}.cores >= 132u", True),
    ],
)
def test_what_a_device_has_decides(expression: str, expected: bool) -> None:
    assert selector(expression).matches(GPU) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('"nowhere" in device.attributes', False),
        (f'"{DRIVER}" in device.attributes', True),
        (f'"{DRIVER}" in device.capacity', True),
        ('device.attributes["nowhere"].size() == 0', True),
        ('has(device.attributes["nowhere"].model)', False),
        (f"has({OWN}.model)", True),
        (f"has({OWN}.memory)", False),
        ('device.attributes[?"nowhere"].?model.orValue("none") == "none"', True),
        ('device.attributes["nowhere"][?"model"].orValue("none") == "none"', True),
        (f'{OWN}.?model.orValue("none") == "h100"', True),
        (f"{OWN}[?'model'].hasValue() && !{OWN}.?memory.hasValue()", True),
        ('!("memory" in device.capacity["nowhere"]) || sign(device.capacity["nowhere"].memory) > 0', True),
    ],
)
def test_a_domain_of_which_a_device_has_nothing_is_an_empty_map(expression: str, expected: bool) -> None:
    assert selector(expression).matches(GPU) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f'{OWN}.links.exists(link, link == "nvlink")', True),
        (f'{OWN}.links.all(link, link != "")', True),
        (f"{OWN}.numbers.exists(n, n > 1)", True),
        (f'{OWN}.releases.all(r, r.isGreaterThan(semver("0.0.1")))', True),
        (f"1 in {OWN}.numbers", True),
        (f"{OWN}.numbers.size() == 2", True),
        (f"{OWN}.flags.size() == 2 && {OWN}.releases.size() == 2", True),
        (f'{OWN}.links.includes("nvlink")', True),
        (f'{OWN}.links.includes("infiniband")', False),
        (f'{OWN}.model.includes("h100")', True),
        (f'{OWN}.model.includes("a100")', False),
        (f"{OWN}.healthy.includes(true)", True),
        (f"{OWN}.flags.includes(false)", False),
        (f"{OWN}.cores.includes(132)", True),
        (f"{OWN}.cores.includes(1)", False),
        (f"{OWN}.numbers.includes(3)", False),
        (f'{OWN}.driverVersion.includes(semver("1.2.3"))', True),
        (f'{OWN}.releases.includes(semver("2.0.0"))', True),
        (f'{OWN}.releases.includes(semver("3.0.0"))', False),
        (f'device.attributes.exists_one(domain, domain == "{DRIVER}")', True),
        (f'{OWN}.exists_one(id, id == "model")', True),
        (f'device.capacity.exists_one(domain, domain == "{DRIVER}")', True),
        (f'{CAPACITY}.exists_one(id, id == "memory")', True),
        (f"{OWN}.all(id, value, id != '' && value != null)", True),
        (f"{OWN}.numbers.map(n, n * 2).filter(n, n > 2) == [4]", True),
        (f"{OWN}.numbers.map(n, {OWN}.numbers.map(m, m + n)) == [[2, 3], [3, 4]]", True),
    ],
)
def test_lists_and_maps_can_be_searched(expression: str, expected: bool) -> None:
    assert selector(expression).matches(GPU) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('quantity("50k").add(quantity("20k")) == quantity("70k")', True),
        ('quantity("50k").add(20).sub(quantity("100k")).sub(-50000) == quantity("20")', True),
        ('quantity("200M").compareTo(quantity("0.2G")) == 0', True),
        ('quantity("50Mi").compareTo(quantity("50M")) == 1', True),
        ('quantity("50k").asInteger() == 50000', True),
        ('quantity("1.5").asApproximateFloat() == 1.5', True),
        ('quantity("1").isInteger()', True),
        ('quantity("1000m").isInteger()', False),
        ('quantity("1Ei").isInteger()', False),
        ('isQuantity("1,3G") || isQuantity("200K") || isQuantity("Three")', False),
        ('sign(quantity("-5")) == -1', True),
        ('semver("1.0.0-rc.2").isLessThan(semver("1.0.0-rc.10"))', True),
        ('semver("1.0.0-rc.1").isLessThan(semver("1.0.0"))', True),
        ('isSemver("01.01.01") || isSemver("1.0") || isSemver("hello")', False),
        ('semver("01.01.01", true) == semver("1.1.1")', True),
        ('cidr("10.0.0.0/8").containsIP("10.1.2.3") && !cidr("10.0.0.0/8").containsIP(ip("11.0.0.1"))', True),
        ('cidr("10.0.0.5/8").masked() == cidr("10.0.0.0/8") && isIP("::1") && !isIP("10.0.0.256")', True),
        ('cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && ip("fe80::1").isLinkLocalUnicast()', True),
        ('string(123456789.0) == "1.23456789e+08" && string(1.5) == "1.5" && int("12") == 12', True),
        ('"héllo".indexOf("l") == 2 && "a,b".split(",") == ["a", "b"] && " x ".trim() == "x"', True),
        ("[3, 1, 2].sortBy(n, -n) == [3, 2, 1] && [1, 2, 1].distinct() == [1, 2]", True),
        ("sets.contains([1, 2], [2]) && !sets.intersects([1], [2])", True),
    ],
)
def test_the_functions_of_kubernetes(expression: str, expected: bool) -> None:
    assert selector(expression).matches(GPU) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.attributes["nowhere"].model == "h100" || true', True),
        ('false && device.attributes["nowhere"].model == "h100"', False),
        ("[0, 1].exists(n, 4 / n == 4)", True),
        ("[0, 1].all(n, 4 / n == 3)", False),
    ],
)
def test_a_side_that_decides_absorbs_the_failure_of_the_other(expression: str, expected: bool) -> None:
    assert selector(expression).matches(GPU) is expected


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ('device.attributes["nowhere"].model == "h100"', "no such key: model"),
        ('device.attributes["nowhere"]["model"].isGreaterThan(quantity("0"))', "no such key: model"),
        (f"{OWN}.cores.exists(x, x > 0)", "got int, expected a list or a map"),
        (f"{OWN}.model.exists(x, x > 0)", "got string, expected a list or a map"),
        (f"{OWN}.driverVersion.exists(x, true)", "got kubernetes.Semver, expected a list or a map"),
        (f"{OWN}.links", "a value of type list for this device, not a bool"),
        (f"{OWN}.cores", "a value of type int for this device, not a bool"),
        (f'{OWN}.driverVersion == "1.2.3"', "no such overload"),
        (f"{OWN}.model > 3", "no such overload: _>_(string, int)"),
        (f"!{OWN}.model", "no such overload"),
        (f"1 / ({OWN}.cores - 132) == 0", "division by zero"),
        (f"{OWN}.cores + 9223372036854775807 > 0", "integer overflow"),
        ('sign(quantity("lots")) == 1', "'lots' is not a quantity"),
        ('semver("v1.0").major() == 1', "'v1.0' is not a semantic version"),
        # Kubernetes fails where a sum is on the right, and not where it is on the left.
        ('quantity("3") == quantity("1").add(2)', "no such overload"),
        ("[1][1] == 1", "index out of bounds: 1"),
    ],
)
def test_a_failure_names_its_reason(expression: str, reason: str) -> None:
    with pytest.raises(SelectorError) as failure:
        selector(expression).matches(GPU)
    assert "the expression" in str(failure.value)
    assert reason in str(failure.value)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("?!", "line 1, column 1: Syntax error"),
        ("1", "must evaluate to bool, not int"),
        ('"true"', "must evaluate to bool, not string"),
        ("device.model", "undefined field 'model': a device has driver, attributes"),
        ("gpu.model", "undeclared reference to 'gpu"),
        (f"{CAPACITY}.memory > 3", "no matching overload for '_>_'"),
        ('[1, "one"].size() == 2', "mixes types"),
        (f'{OWN}.model.matches("(")', "'(' is no regular expression"),
        ("[1].exists(device, device == 1)", "a variable of its own `device`"),
        ('true || int("x") == 1', "'x' cannot be converted"),
        ('url("https://x").getHost() == "x"', "it calls url, which maitred does not evaluate"),
        ('duration("1h") > duration("1m")', "it calls duration, which maitred does not evaluate"),
        ("(" * 400 + "true" + ")" * 400, "recursion"),
        ("true " + " " * 10240, "the expression has 10245 bytes, at most 10240 are allowed"),
    ],
)
def test_what_does_not_compile_is_refused_once_and_for_all(expression: str, reason: str) -> None:
    for _ in range(2):
        with pytest.raises(SelectorError, match="the expression") as failure:
            selector(expression)
        assert reason in str(failure.value)


def _nested(depth: int, body: str) -> str:
    for level in range(depth):
        body = f"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all(x{level}, {body})"
    return body


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(_nested(7, "int('1'.find('[0-9]*')) < 100"), id="loops in loops"),
        pytest.param("lists.range(1000000000).size() > 0", id="a list of a billion"),
        pytest.param("lists.range(500000).distinct().size() > 0", id="all pairs of a long list"),
        pytest.param(
            "".join(f"cel.bind(v{i + 1}, [v{i}, v{i}], " for i in range(25)).replace("v0", "[1]", 2)
            + "v25 == v25"
            + ")" * 25,
            id="a list that doubles",
        ),
        pytest.param(
            'cel.bind(a, "' + "x" * 5000 + '", a.replace("x", a).replace("x", a).size() > 0)',
            id="a text that multiplies",
        ),
    ],
)
def test_an_expression_that_would_stall_is_stopped(expression: str) -> None:
    with pytest.raises(SelectorError, match="costs more than 100000 for this device"):
        selector(expression).matches(GPU)
