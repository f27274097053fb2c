"""What can be done with objects, verb by verb."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from maitred.sandbox.apiserver import forms, refusals
from maitred.sandbox.apiserver.builtin import BINDINGS
from maitred.sandbox.apiserver.call import Call
from maitred.sandbox.apiserver.deletion import Deletion, wish_of
from maitred.sandbox.apiserver.forms import Form
from maitred.sandbox.apiserver.kinds.fielderrors import invalid
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.lists import Lists, question
from maitred.sandbox.apiserver.media import APPLY
from maitred.sandbox.apiserver.objects import Objects
from maitred.sandbox.apiserver.patches import patched
from maitred.sandbox.apiserver.patching.apply import apply
from maitred.sandbox.apiserver.receiving import as_object, conformed, parse, parse_json
from maitred.sandbox.apiserver.refusals import Refusal, bad_request
from maitred.sandbox.apiserver.reviews import Reviews
from maitred.sandbox.apiserver.routing import Target
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.store import Item, Key, encode
from maitred.sandbox.apiserver.subresources import Subresources

Params = Mapping[str, str]
EVICTIONS = Kind("policy", "v1", "Eviction", "evictions", struct("policy.v1.Eviction"))
SUCCESS: Body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    body: bytes


class Verbs:
    def __init__(
        self,
        objects: Objects,
        lists: Lists,
        deletion: Deletion,
        subresources: Subresources,
        reviews: Reviews,
    ) -> None:
        self._objects = objects
        self._lists = lists
        self._deletion = deletion
        self._subresources = subresources
        self._reviews = reviews

    # -- reading -------------------------------------------------------------------------------------------

    def get(self, target: Target, form: Form) -> Answer:
        item = self._objects.find(target.kind, key_of(target))
        return Answer(200, forms.one(target.kind, item, form))

    def check_there(self, target: Target) -> None:
        """Raises Refusal if there is no such object."""
        self._objects.find(target.kind, key_of(target))

    def list(self, target: Target, params: Params, form: Form) -> Answer:
        page = self._lists.page(target.kind, question(target.kind, target.namespace, params))
        return Answer(200, forms.many(target.kind, page, form))

    # -- writing -------------------------------------------------------------------------------------------

    def create(self, target: Target, data: bytes, media: str, call: Call, form: Form) -> Answer:
        kind = target.kind
        if target.subresource or kind is BINDINGS:
            self._create_part(target, data, media, call)
            return Answer(201, encode({**SUCCESS, "code": 201}))
        body = parse(data, media, kind.type)
        if kind.verbs == ("create",):
            return Answer(201, encode(self._reviews.answer(target, conformed(kind, body, call), call)))
        if kind.namespaced and not target.namespace:
            raise refusals.bad_request("namespace is required on create")
        body = kind.to_stored(conformed(kind, body, call))
        item = self._objects.create(kind, target.namespace, body, call)
        return Answer(201, forms.one(kind, item, form))

    def _create_part(self, target: Target, data: bytes, media: str, call: Call) -> None:
        match target.subresource:
            case "":
                binding = conformed(BINDINGS, parse(data, media, BINDINGS.type), call)
                name = binding["metadata"].get("name", "")
                if not name:
                    raise bad_request("Name parameter required.")
                self._subresources.bind(target.namespace, name, binding, call)
            case "binding":
                binding = conformed(BINDINGS, parse(data, media, BINDINGS.type), call)
                self._subresources.bind(target.namespace, target.name, binding, call)
            case "eviction":
                eviction = conformed(EVICTIONS, of_one_version(parse(data, media, EVICTIONS.type)), call)
                self._subresources.evict(target.namespace, target.name, eviction, call)
            case _:
                raise refusals.method_not_allowed()

    def update(self, target: Target, data: bytes, media: str, call: Call, form: Form) -> Answer:
        kind = target.kind
        body = kind.to_stored(conformed(kind, parse(data, media, kind.type), call))
        check_place(target, body)
        old = self._objects.shelf(kind).get(key_of(target))
        if old is None and kind.is_put_to_create and not target.subresource:
            body["metadata"].pop("resourceVersion", None)
            return Answer(
                201, forms.one(kind, self._objects.create(kind, target.namespace, body, call), form)
            )
        old = self._objects.find(kind, key_of(target))
        check_identity(kind, old, body)
        item = self._objects.replace(kind, old, body, call, target.subresource)
        return Answer(200, forms.one(kind, item, form))

    def patch(self, target: Target, data: bytes, media: str, call: Call, form: Form) -> Answer:
        if media == APPLY:
            return self._apply(target, data, call, form)
        kind = target.kind
        old = self._objects.find(kind, key_of(target))

        def made() -> Body:
            return patched(kind, kind.from_stored(old.fresh()), data, media)

        body = kind.to_stored(conformed_patch(kind, made, call))
        check_place(target, body)
        item = self._objects.replace(kind, old, body, call, target.subresource)
        return Answer(200, forms.one(kind, item, form))

    def _apply(self, target: Target, data: bytes, call: Call, form: Form) -> Answer:
        kind = target.kind
        old = self._objects.shelf(kind).get(key_of(target))
        if old is None and target.subresource:
            raise refusals.not_found(kind.group, kind.plural, target.name)
        live = None if old is None else kind.from_stored(old.fresh())
        body = apply(live, as_object(parse_json(data)), kind, call, target.subresource)
        body = kind.to_stored(conformed(kind, body, call))
        check_place(target, body)
        if old is None:
            item = self._objects.create(kind, target.namespace, body, call, owned=True)
            return Answer(201, forms.one(kind, item, form))
        item = self._objects.replace(kind, old, body, call, target.subresource, owned=True)
        return Answer(200, forms.one(kind, item, form))

    # -- deleting ------------------------------------------------------------------------------------------

    def delete(self, target: Target, options: Body, call: Call, form: Form) -> Answer:
        kind, wish = target.kind, wish_of(options)
        item = self._objects.find(kind, key_of(target))
        left, is_gone = self._deletion.delete(kind, item, wish, call)
        if is_gone and not kind.is_returned:
            return Answer(200, encode({**SUCCESS, "details": described(kind, left)}))
        return Answer(200, forms.one(kind, left, form))

    def delete_many(self, target: Target, params: Params, options: Body, call: Call) -> Answer:
        page = self._lists.page(target.kind, question(target.kind, target.namespace, params))
        wish = wish_of(options)
        left = list[Item]()
        for item in page.items:
            after, is_gone = self._deletion.delete(target.kind, item, wish, call)
            left.append(item if is_gone else after)
        found = type(page)(left, self._objects.store.version)
        return Answer(200, forms.many(target.kind, found, Form()))


def key_of(target: Target) -> Key:
    return Key(target.namespace, target.name)


def of_one_version(eviction: Body) -> Body:
    """Evictions are the same in both of their versions."""
    if eviction.get("apiVersion") == "policy/v1beta1":
        eviction["apiVersion"] = EVICTIONS.api_version
    return eviction


def conformed_patch(kind: Kind, made: Callable[[], Body], call: Call) -> Body:
    """A patch that makes something else of the object is refused as such, and not as a bad request.

    The refusal shows what the patch has made, before it was put into shape; it is made again for that.
    """
    body = made()
    try:
        return conformed(kind, body, call)
    except Refusal as refusal:
        if refusal.code != 400:
            raise
        shown = encode(made()).decode()
        why = refusal.message.rpartition(f"cannot be handled as a {kind.name}: ")[2]
        raise refusals.invalid("", "", "", [invalid("patch", shown, why)]) from None


def unnamed(target: Target) -> Refusal:
    return bad_request(
        f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
    )


def check_place(target: Target, body: Body) -> None:
    meta = body["metadata"]
    name, namespace = meta.get("name"), meta.get("namespace", target.namespace)
    if not name:
        raise unnamed(target)
    if name != target.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )
    if target.kind.namespaced:
        meta["namespace"] = target.namespace
        if namespace != target.namespace:
            raise refusals.other_namespace()


def check_identity(kind: Kind, old: Item, body: Body) -> None:
    """An update of another object of the same name is refused."""
    uid, had = body["metadata"].get("uid"), old.body["metadata"]["uid"]
    if uid and uid != had:
        raise refusals.failed_precondition(kind.group, kind.plural, old.key.name, "UID", uid, had)


def described(kind: Kind, item: Item) -> Body:
    details = {**refusals.about(kind.group, kind.plural, item.key.name)}
    return {**details, "uid": item.body["metadata"]["uid"]}
