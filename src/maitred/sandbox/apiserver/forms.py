"""The forms in which an answer can be had: whole objects, their metadata alone, or tables for people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from maitred.sandbox.apiserver.kinds.fielderrors import invalid
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.lists import Page
from maitred.sandbox.apiserver.media import JSON, OBJECTS
from maitred.sandbox.apiserver.printing.kinds import printer_for
from maitred.sandbox.apiserver.printing.printer import Printer, custom_printer
from maitred.sandbox.apiserver.printing.table import (
    PARTIAL,
    TABLE,
    Include,
    partial,
    table_of_list,
    table_of_one,
)
from maitred.sandbox.apiserver.refusals import bad_request, not_acceptable, not_convertible
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.store import Item, encode

ANYTHING = (JSON, "*/*", "")
PARTIAL_LIST = f"{PARTIAL}List"
FORMS = (PARTIAL, PARTIAL_LIST, TABLE)
VERSIONS = ("v1", "v1beta1")


@dataclass(frozen=True, slots=True)
class Form:
    name: str = ""
    """Empty: objects as they are."""
    version: str = "v1"
    include: Include = Include.METADATA


@dataclass(frozen=True, slots=True)
class Media:
    """One of the types that a client accepts, with its parameters."""

    type: str
    params: Mapping[str, str]


def accepted(header: str) -> list[Media]:
    found = list[Media]()
    for part in header.split(","):
        name, *params = (word.strip() for word in part.split(";"))
        pairs = (word.partition("=") for word in params)
        found.append(Media(name.lower(), {key.strip(): value.strip() for key, _, value in pairs}))
    return found


def form_of(accept: str, params: Mapping[str, str], *, many: bool) -> Form:
    """The first of the accepted forms that there is."""
    forms = [media for media in accepted(accept) if media.type in ANYTHING]
    for media in forms:
        wanted = media.params.get("as", "")
        if not wanted:
            return Form()
        if wanted in FORMS and media.params.get("g") == "meta.k8s.io" and media.params.get("v") in VERSIONS:
            return fitting(Form(wanted, media.params["v"], include_of(params)), many=many)
    if forms:
        raise not_convertible(f"only the following media types are accepted: {', '.join(OBJECTS)}")
    raise not_acceptable(OBJECTS)


def fitting(form: Form, *, many: bool) -> Form:
    if form.name == PARTIAL and many:
        raise not_convertible(f"you requested {PARTIAL}, but the requested object is a list")
    if form.name == PARTIAL_LIST and not many:
        raise not_convertible(f"you requested {PARTIAL_LIST}, but the requested object is not a list")
    return form


def watch_form(accept: str, params: Mapping[str, str]) -> Form:
    """A watch shows objects one by one, but is asked for as lists are."""
    return form_of(accept.replace(PARTIAL_LIST, PARTIAL), params, many=False)


def include_of(params: Mapping[str, str]) -> Include:
    try:
        return Include(params.get("includeObject", "") or "Metadata")
    except ValueError:
        error = invalid(
            "includeObject", params["includeObject"], "must be 'Metadata', 'Object', 'None', or empty"
        )
        raise bad_request(f"Unable to convert to Table as requested: {error}") from None


def now() -> datetime:
    return datetime.now(UTC)


def printer_of(kind: Kind) -> Printer:
    return (
        custom_printer(kind.columns) if kind.is_custom or kind.columns else printer_for(kind.group, kind.name)
    )


def one(kind: Kind, item: Item, form: Form) -> bytes:
    if not form.name:
        return whole(kind, item)
    body = kind.from_stored(item.body)
    if form.name == TABLE:
        table = table_of_one(printer_of(kind), body, now(), include=form.include, version=form.version)
        return encode(table)
    return encode(partial(body, form.version))


def whole(kind: Kind, item: Item) -> bytes:
    return item.raw if kind.is_stored_form else encode(kind.from_stored(item.body))


def many(kind: Kind, page: Page, form: Form) -> bytes:
    meta: Body = {"resourceVersion": str(page.version)}
    if page.token or (kind.is_custom and not form.name):
        meta["continue"] = page.token
    if page.remaining is not None:
        meta["remainingItemCount"] = page.remaining
    if not form.name:
        head = {"kind": kind.list_name, "apiVersion": kind.api_version, "metadata": meta}
        return with_items(head, [whole(kind, item) for item in page.items])
    bodies = [kind.from_stored(item.body) for item in page.items]
    if form.name == TABLE:
        table = table_of_list(
            printer_of(kind), bodies, meta, now(), include=form.include, version=form.version
        )
        return encode(table)
    head = {"kind": PARTIAL_LIST, "apiVersion": f"meta.k8s.io/{form.version}", "metadata": meta}
    return with_items(head, [encode(partial(body, form.version)) for body in bodies])


def with_items(head: Body, items: Sequence[bytes]) -> bytes:
    """The objects are bytes already: to build them into a tree and encode that would cost seconds."""
    return b'%b,"items":[%b]}' % (encode(head)[:-1], b",".join(items))


class Showing:
    """Objects as one watch wants them. Of tables only the first has headers."""

    def __init__(self, kind: Kind, form: Form) -> None:
        self._kind = kind
        self._form = form
        self._is_first = True

    def __call__(self, item: Item) -> bytes:
        if self._form.name != TABLE:
            return one(self._kind, item, self._form)
        headers, self._is_first = self._is_first, False
        body = self._kind.from_stored(item.body)
        form, show = self._form, printer_of(self._kind)
        table = table_of_one(show, body, now(), include=form.include, version=form.version, headers=headers)
        return encode(table)
