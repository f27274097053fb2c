"""The notation of types, and the catalogue that is written in it."""

from pathlib import Path

import pytest
import yaml

from maitred.sandbox.apiserver.schema import catalogue
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.notation import UNBOUNDED, parse
from maitred.sandbox.apiserver.schema.types import UNSET, Field, ListOf, MapOf, Relation, Scalar, Struct
from tests.sandbox.apiserver.schema.types_in_use import types_in_use

INNER = Struct("t.v1.Inner", {"name": Field(Scalar.STRING)}, atomic=True)


def field(expression: str) -> Field:
    return parse(expression, {"Inner": INNER}.__getitem__)


def list_of(expression: str) -> ListOf:
    found = field(expression).type
    assert isinstance(found, ListOf)
    return found


def test_scalars_and_what_becomes_of_empty_ones() -> None:
    assert field("string") == Field(Scalar.STRING)
    assert field("int32?") == Field(Scalar.INT32, explicit=True)
    assert field("time kept") == Field(Scalar.TIME, kept=True)
    assert field("string required") == Field(Scalar.STRING, required=True, listed=True, kept=True)
    assert field("string listed") == Field(Scalar.STRING, listed=True, kept=True)
    assert field("string? kept") == Field(Scalar.STRING, explicit=True, kept=True)


def test_a_struct_is_always_there_unless_it_may_be_missing() -> None:
    assert field("Inner") == Field(INNER, kept=True)
    assert field("Inner?") == Field(INNER, explicit=True)
    assert field("Inner? replaced").replaced
    assert field("Inner retaining keys").retains_keys


def test_rules_in_the_notation() -> None:
    assert field("string as label").form == "label"
    assert field("string? one of A|B = A").choices == ("A", "B")
    assert field("int32 1..8 required").bounds == (1, 8)
    assert field("int32 0..").bounds == (0, UNBOUNDED)
    assert field("int32 ..8").bounds == (-UNBOUNDED, 8)
    assert field("list of Inner merged by name unique 1..").unique
    assert field("Inner? either immutable").either
    assert field("Inner? lasting").lasting


def test_a_granular_struct_shares_its_fields() -> None:
    found = field("granular Inner?").type
    assert isinstance(found, Struct)
    assert not found.atomic
    assert found.fields is INNER.fields


@pytest.mark.parametrize(
    ("expression", "relation", "keys", "merge_key", "merges"),
    [
        ("list of string", Relation.ATOMIC, (), "", False),
        ("set of string", Relation.SET, (), "", False),
        ("set of string merged", Relation.SET, (), "", True),
        ("list of Inner by name", Relation.MAP, ("name",), "", False),
        ("list of Inner merged by port+protocol", Relation.MAP, ("port", "protocol"), "port", True),
        ("atomic list of Inner merged by ip", Relation.ATOMIC, (), "ip", True),
    ],
)
def test_lists(
    expression: str, relation: Relation, keys: tuple[str, ...], merge_key: str, merges: bool
) -> None:
    found = list_of(expression)
    assert (found.relation, found.keys, found.merge_key, found.merges) == (relation, keys, merge_key, merges)


def test_maps() -> None:
    plain, atomic = field("map of quantity").type, field("atomic map of string").type
    assert isinstance(plain, MapOf)
    assert (plain.value, plain.atomic) == (Scalar.QUANTITY, False)
    assert isinstance(atomic, MapOf)
    assert (atomic.value, atomic.atomic) == (Scalar.STRING, True)


@pytest.mark.parametrize(
    ("expression", "default"),
    [
        ("string", UNSET),
        ("string =", ""),
        ("string = Always", "Always"),
        ("string = 3", "3"),
        ("int64? = 30", 30),
        ("bool? = false", False),
        ("Inner? = {}", {}),
        ('set of string = ["a"]', ["a"]),
    ],
)
def test_defaults(expression: str, default: object) -> None:
    assert field(expression).default == default


@pytest.mark.parametrize(
    "expression", ["", "list of", "string required kept", "string by name,x", "[string]"]
)
def test_what_is_not_in_the_notation_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="is not the type of a field"):
        field(expression)


def test_the_catalogue_has_the_types_that_are_used_and_no_others() -> None:
    written = set[str]()
    for file in (Path(catalogue.__file__).parent / "data").glob("*.yaml"):
        group = ".".join(file.stem.split(".")[:2])
        written |= {f"{group}.{title.split()[-1]}" for title in yaml.safe_load(file.read_bytes())}
    assert written == types_in_use().keys()


def test_the_same_name_is_the_same_type() -> None:
    assert struct("core.v1.Pod") is struct("core.v1.Pod")
    template = struct("batch.v1.JobSpec").fields["template"].type
    assert template is struct("core.v1.PodTemplateSpec")


def test_a_kind_has_what_every_object_has() -> None:
    for name in ("core.v1.Pod", "rbac.v1.Role", "scheduling.v1alpha3.CompositePodGroup"):
        fields = struct(name).fields
        assert fields["metadata"].type is struct("meta.v1.ObjectMeta")
        assert fields["apiVersion"].type is fields["kind"].type is Scalar.STRING


def test_a_type_may_contain_itself() -> None:
    schema = struct("apiextensions.v1.JSONSchemaProps")
    assert schema.fields["not"].type is schema


@pytest.mark.parametrize("name", ["Pod", "core.v1.Pot", "nothing.v1.Pod", ""])
def test_a_name_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(KeyError, match=r"names are like core\.v1\.Pod"):
        struct(name)
