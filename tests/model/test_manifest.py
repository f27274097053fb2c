"""Reading manifests: every form that kubectl and people write, within bounds, and fast for large dumps."""

import contextlib
import json
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from maitred.model.group import PodGroup
from maitred.model.manifest import InputError, Reader, documents, read_plan, read_policy
from maitred.model.manifest.yamltext import values
from maitred.model.node import Node
from maitred.model.pod import Pod
from tests.oracle import builders as b


def read(*texts: str | bytes | dict[str, Any]) -> Reader:
    reader = Reader()
    for number, text in enumerate(texts):
        reader.read(encoded(text), f"file{number}")
    return reader


def encoded(text: str | bytes | dict[str, Any]) -> bytes:
    if isinstance(text, dict):
        return json.dumps(text).encode()
    return text.encode() if isinstance(text, str) else text


def refusal(*texts: str | bytes | dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        read(*texts)
    return str(caught.value)


def listed(*items: dict[str, Any], kind: str = "List", version: str = "v1") -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"resourceVersion": ""}, "items": list(items)}


POD = b.pod("a", cpu="500m", gpu=1, namespace="ml", labels={"app": "x"}, created=0)
YAML_POD = yaml.safe_dump(POD)
POD_HEAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"


# ---- forms of input


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(POD),
        json.dumps(POD, indent=4),
        YAML_POD,
        f"# a comment\n---\n{YAML_POD}\n---\n# nothing\n---\n",
        yaml.safe_dump(POD, default_flow_style=True, width=10**6),
        json.dumps(listed(POD)),
        json.dumps(listed(listed(POD))),
        yaml.safe_dump(listed(POD)),
        json.dumps(listed({k: v for k, v in POD.items() if k not in ("kind", "apiVersion")}, kind="PodList")),
        b"\xef\xbb\xbf" + YAML_POD.encode(),
        YAML_POD.encode("utf-16"),
        f"\n\n  {json.dumps(POD)}\n\n",
    ],
)
def test_the_same_pod_in_every_form(text: str | bytes) -> None:
    (pod,) = read(text).objects
    (expected,) = read(POD).objects
    assert isinstance(pod, Pod)
    assert pod == expected


@pytest.mark.parametrize("between", ["", "\n", "\n---\n"])
def test_json_values_one_after_the_other(between: str) -> None:
    text = between.join(json.dumps(b.pod(f"p{i}"), indent=1) for i in range(4))
    assert [o.metadata.name for o in read(text).objects] == ["p0", "p1", "p2", "p3"]


def test_every_kind_is_read() -> None:
    objects = [
        *(POD, b.node("n1"), b.namespace("ml"), b.pvc("c"), b.pv("v"), b.storage_class("s")),
        *(b.csi_node("n1", {"d": 4}), b.priority_class("high", 5)),
        *(b.pod_group(api, 2, api=api) for api in ("v1alpha2", "v1alpha3", "v1beta1")),
        {
            "apiVersion": "scheduling.k8s.io/v1alpha3",
            "kind": "CompositePodGroup",
            "metadata": {"name": "root"},
            "spec": {"schedulingPolicy": {"gang": {"minGroupCount": 2}}},
        },
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "Workload",
            "metadata": {"name": "w"},
            "spec": {"podGroupTemplates": [{"name": "t", "schedulingPolicy": {"gang": {"minCount": 4}}}]},
        },
    ]
    reader = read(listed(*objects))
    assert len(reader.objects) == len(objects)
    assert reader.warnings() == ()


def test_nulls_are_absent() -> None:
    pod = {
        **POD,
        "metadata": {"name": "a", "labels": None, "creationTimestamp": None, "ownerReferences": None},
        "spec": {
            "containers": None,
            "tolerations": None,
            "nodeSelector": {"disk": None},
            "schedulerName": None,
        },
        "status": None,
    }
    (from_json,) = read(pod).objects
    (from_yaml,) = read(yaml.safe_dump(pod)).objects
    assert from_json == from_yaml
    assert isinstance(from_json, Pod)
    assert from_json.spec.scheduler_name == "default-scheduler"
    assert from_json.spec.node_selector == {"disk": ""}


def test_quantities_may_be_numbers() -> None:
    (pod,) = read(POD_HEAD + "spec: {containers: [{resources: {requests: {cpu: 0.5, memory: 1e9}}}]}").objects
    assert isinstance(pod, Pod)
    assert pod.spec.containers[0].resources.requests == {"cpu": 0.5, "memory": 1e9}


def test_the_shorthand_for_a_gang() -> None:
    head = "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: crew}\n"
    (group,) = read(head + "spec:\n  minMember: 8\n").objects
    assert isinstance(group, PodGroup)
    assert group.spec.min_member == 8


def test_raw_objects_have_their_kind_and_no_nulls() -> None:
    data = encoded(listed({"metadata": {"name": "a", "labels": None}}, kind="PodList"))
    (found,) = documents(data, "f")
    assert (found.kind, found.api_version) == ("Pod", "v1")
    assert found.plain() == {"metadata": {"name": "a"}}


# ---- what is left out


def test_one_warning_for_each_kind_left_out() -> None:
    jobs = [{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}} for name in "ab"]
    service = {"apiVersion": "v1", "kind": "Service"}
    queue = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "g"}}
    expected = (
        "Job.batch.volcano.sh: this command does not create its pods; give the pods themselves (1 object "
        "skipped)",
        "Job: this command does not create its pods; give the pods themselves (2 objects skipped)",
        "Service of v1: not read (1 object skipped)",
    )
    assert read(jobs[0], service, listed(jobs[1], queue)).warnings() == expected
    assert read(listed(queue, jobs[0]), jobs[1], service).warnings() == expected


def test_no_objects_at_all() -> None:
    assert read("", "# nothing\n").warnings() == ("the input has no objects",)


def test_the_same_object_twice_names_both_places() -> None:
    message = refusal(POD, listed(b.node("n"), POD))
    assert message == "file1: Pod ml/a: metadata.name: another object of this name is in file0 (document 1)"


def test_the_same_name_elsewhere_is_another_object() -> None:
    reader = read(b.pod("a", namespace="x"), b.pod("a", namespace="y"), b.node("a"), b.pvc("a"))
    assert len(reader.objects) == 4


def test_the_default_namespace_is_a_namespace() -> None:
    assert "another object of this name is in" in refusal(b.pod("a", namespace="default"), POD_HEAD)


# ---- YAML


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("Off", False),
        ("y", "y"),
        ("~", None),
        ("", None),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("!!int 12", 12),
        ("0x1F", 31),
        ("0o17", 15),
        ("017", 15),
        ("1_000", 1000),
        ("-3", -3),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1:30", "1:30"),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("4Gi", "4Gi"),
        ("|\n  a\n  b\n", "a\nb\n"),
        ("{1: a, true: b}", {"1": "a", "true": "b"}),
        (
            "[&a {k: 1}, *a, {<<: *a, j: 2}, {<<: [*a, {k: 3, l: 4}]}]",
            [{"k": 1}] * 2 + [{"k": 1, "j": 2}, {"k": 1, "l": 4}],
        ),
    ],
)
def test_yaml_values(text: str, value: object) -> None:
    assert next(values(f"x: {text}".encode())) == {"x": value}


SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text()


@given(
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    )
)
def test_yaml_reads_what_is_written(value: Any) -> None:
    text = yaml.dump({"x": value}, Dumper=yaml.SafeDumper, default_style='"')
    (found,) = values(text.encode())
    assert found == {"x": value}


def bomb(levels: int) -> Iterator[str]:
    names = [f"a{i}" for i in range(levels)]
    yield f"{names[0]}: &{names[0]} [{', '.join('x' * 9)}]"
    for inner, outer in pairwise(names):
        yield f"{outer}: &{outer} [{', '.join([f'*{inner}'] * 9)}]"


def test_a_source_beyond_all_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maitred.model.manifest.parsing.LARGEST_SOURCE", 2**30)
    assert read(POD).objects
    monkeypatch.setattr("maitred.model.manifest.parsing.LARGEST_SOURCE", 10)
    assert "larger than" in refusal(POD)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (json.dumps(listed(POD)).replace("Pod", "\\ud800"), "line 1, column 121: not valid JSON"),
        (json.dumps(POD).replace('"x"', '"\\ud800"'), "not valid JSON"),
        (json.dumps(POD)[:-1] + ', "spec": null, "x": ' + "[" * 900 + "]" * 900 + "}", "nested too deep"),
        ("[]", "expected an object, got a list"),
        ("--- 0", "expected an object, got a whole number"),
        ("\n".join(bomb(12)), "line 7: its aliases expand to too much text"),
        ("a: &a [*a]", "the alias *a refers to an anchor that does not exist"),
        ("a: *b", "the alias *b refers to an anchor that does not exist"),
        ("[[" * 10_000, "got a list"),
        ("{a: " * 10_000, "nested more than 100 deep"),
        ("- " * 10_000, "nested more than 100 deep"),
        ('{"a":' * 100_000, "nested too deep"),
        (POD_HEAD + "kind: Pod", "line 4: the key kind is there twice"),
        (POD_HEAD + "x: !!python/object:os.system ls", "not supported"),
        ("? [a]\n: b", "a key must be a string"),
        ("a: b\n\tc: d", "line 2, column 1: not valid YAML"),
        (b"a: \xff", "not valid YAML"),
        (b"a: \x00", "not valid YAML"),
        (b"\xff\xfeabc", "neither UTF-8 nor UTF-16"),
        ('{"kind": "Pod",\n "apiVersion": @}', "line 2, column 16: not valid JSON"),
        ("{kind: Pod", "not valid YAML"),
        (json.dumps(listed(POD, POD), indent=2)[:-40], "ends in the middle, in line 71, after"),
        (YAML_POD + "x: 'abc", "unexpected end of stream"),
    ],
)
def test_text_that_is_no_manifest(text: str | bytes, what: str) -> None:
    began = time.process_time()
    assert what in refusal(text)
    assert time.process_time() - began < 2


@settings(max_examples=300)
@given(st.data())
def test_damaged_input_is_refused_or_read_but_never_crashes(data: st.DataObject) -> None:
    gang = b.pod_group("g", 2, "rack", disruption="all")
    picky = b.pod(
        "a", 1, anti_affinity=[b.near("rack", {"a": "b"})], ports=[80], spread=[b.spread("zone", {})]
    )
    whole = listed(
        picky, b.node("n", taints=["a=b:NoSchedule"]), gang, b.pvc("c"), b.pv("v", on=[b.expr("a", "Exists")])
    )
    text = data.draw(st.sampled_from([json.dumps(whole), yaml.safe_dump(whole)]))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    insert = data.draw(
        st.sampled_from(["", "null", "-1", "[", "}", "\x00", "'", "&a", "*a", "9" * 5000])
        | st.text(max_size=9)
    )
    with contextlib.suppress(InputError):
        read((text[:start] + insert + text[end:]).encode(errors="surrogatepass"))


# ---- much of it


def test_a_hundred_thousand_lines_of_yaml() -> None:
    pods = [b.pod(f"p{i}", 1, "1Gi", gpu=1, labels={"app": f"a{i % 7}"}) for i in range(5000)]
    data = yaml.dump_all(pods, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)).encode()
    assert data.count(b"\n") > 100_000
    began = time.process_time()
    assert len(read(data).objects) == len(pods)
    assert time.process_time() - began < 10


def test_a_dump_of_a_large_cluster() -> None:
    pod = b.pods("p", 1, 1, "1Gi", gpu=1, anti_affinity=[b.near("hostname", {"app": "x"})])[0]
    env = [{"name": f"VARIABLE_{i}", "value": "x" * 30} for i in range(30)]
    pod["spec"]["containers"][0]["env"] = env
    nodes = [b.node(f"n{i}", 96, "1Ti", 8, rack=f"r{i // 20}") for i in range(5000)]
    pods = [{**pod, "metadata": {**pod["metadata"], "name": f"p{i}"}} for i in range(20_000)]
    data = encoded(listed(*nodes, *pods))
    reader = read(data)
    assert sum(isinstance(item, Node) for item in reader.objects) == 5000
    assert len(reader.objects) == 25_000


# ---- maitred's own documents


def test_the_empty_policy_is_the_default() -> None:
    policy, plain = read_policy(b"# nothing set\n", "p.yaml")
    assert plain == {}
    assert policy.topology.levels == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("topology: {level: []}", "topology.level: there is no such field; did you mean levels?"),
        ("colour: red", "colour: there is no such field; the fields here are apiVersion, kind"),
        ("kind: Pod", "kind: 'Pod' is not Policy"),
        (
            "topology: {levels: [{name: rack, key: a}, {name: rack, key: b}]}",
            "topology.levels[1].name: 'rack' is already used",
        ),
        (
            "topology: {levels: [{name: a, key: k}, {name: b, key: k}]}",
            "topology.levels[1].key: 'k' is already used",
        ),
        ("topology: {levels: [{name: rack}]}", "topology.levels[0].key: is required"),
        (
            "topology: {levels: [{name: rack, key: 'a b'}]}",
            "topology.levels[0].key: 'a b' is not a label key",
        ),
        ("topology: {levels: {name: rack}}", "topology.levels: expected a list, got an object"),
        (
            "nodeTemplates: [{name: big, allocatable: {cpu: lots}}]",
            "nodeTemplates[0].allocatable.cpu: 'lots' is not",
        ),
        ("nodeTemplates: [{name: big}]", "nodeTemplates[0].allocatable: is required"),
        (
            "nodeTemplates: [{name: a, allocatable: {}}, {name: a, allocatable: {}}]",
            "nodeTemplates[1].name: 'a' is already used by nodeTemplates[0]",
        ),
        (
            "nodeTemplates: [{name: a, allocatable: {}, labels: {'a b': c}}]",
            "nodeTemplates[0].labels: 'a b' is not",
        ),
        (
            "nodeTemplates: [{name: a, allocatable: {}, max: 0}]",
            "nodeTemplates[0].max: must be at least 1, not 0",
        ),
        (
            "nodes: {managed: {matchExpressions: [{key: a, operator: In}]}}",
            "nodes.managed.matchExpressions[0].values",
        ),
        ("health: {taints: ['a b']}", "health.taints[0]: 'a b' is not a label key"),
        ("devices: {resources: ['']}", "devices.resources[0]: '' is not a pattern"),
        (
            "devices: {bindingTimeout: 0s}",
            "devices.bindingTimeout: '0s' is not a duration such as 90s, 10m or 1h30m",
        ),
        ("devices: {modelLabels: ['a b']}", "devices.modelLabels[0]: 'a b' is not a label key"),
        ("prices: {currency: ' '}", "prices.currency: ' ' is not a currency such as USD"),
        ("prices: {devices: [{resource: a/gpu}]}", "prices.devices[0].perHour: is required"),
        ("prices: {devices: [{perHour: -1}]}", "prices.devices[0].perHour: must be at least 0"),
        (
            "prices: {devices: [{perHour: 1, model: 'H 100'}]}",
            "prices.devices[0].model: 'H 100' is not a pat",
        ),
        (
            "prices: {devices: [{perHour: 1}, {perHour: 2}]}",
            "prices.devices[1]: has the same resource and model as prices.devices[0]; remove one of the two",
        ),
        ("search: {steps: many}", "search.steps: expected a whole number, got a string"),
        ("a: 1\n---\nb: 2", "has 2 documents; one is allowed"),
        ("- a", "document 1: expected an object, got a list"),
        ('{"search": {"steps": 1e999}}', "not valid JSON"),
        ('{"a":' * 100_000, "nested too deep"),
    ],
)
def test_policies_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_policy(text.encode(), "p.yaml")
    assert str(caught.value).startswith(f"p.yaml: {message}")


def test_a_plan_says_that_it_is_one() -> None:
    assert read_plan(b"kind: Plan\nwakeAt: null", "plan.yaml") == {"kind": "Plan"}
    with pytest.raises(InputError, match=r"plan.yaml: kind: must be Plan"):
        read_plan(encoded(POD), "plan.yaml")
