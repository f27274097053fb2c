"""What a question over HTTP consists of: one description, for the router and for the OpenAPI document."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Literal

import msgspec

from maitred.controllers.answers.orders import AnyOrder
from maitred.controllers.answers.refusals import RefusedError
from maitred.explain.billing.document import Usage
from maitred.explain.health.answer import FleetHealth
from maitred.explain.proposal.supposition import Supposition
from maitred.explain.situation import Situation
from maitred.explain.why.seen import NOTHING_SEEN, Seen
from maitred.kube.answers import Reason

LABEL = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
NAME = r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"

Namespace = Annotated[str, msgspec.Meta(min_length=1, max_length=63, pattern=LABEL)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=253, pattern=NAME)]

NOT_LOOKED_AT = FleetHealth()


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    place: Literal["path", "query"]
    form: Any
    """A type that msgspec checks the text by."""
    words: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedQuestion:
    """What a visitor wants to know, checked."""

    values: Mapping[str, str]
    supposition: Supposition | None = None
    wish: Any = None
    """What was posted, where that is an order."""

    @property
    def namespaces(self) -> list[str]:
        """Those that it is about, as its path and its parameters say."""
        named = [self.values["namespace"]] if "namespace" in self.values else []
        if "ratherThan" in self.values:
            named.append(self.values["ratherThan"].partition("/")[0])
        if "namespaces" in self.values:
            named += self.values["namespaces"].split(",")
        return list(dict.fromkeys(named))


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """All that an answer is made from. Names that the visitor may not know are gone from it."""

    situation: Situation
    question: CheckedQuestion
    used: Callable[[int, int], Usage]
    """What devices were used for on some days since 1970, but for the last."""
    seen: Seen = NOTHING_SEEN
    health: FleetHealth = NOT_LOOKED_AT
    """Of what the visitor may see, where the route asks for it."""
    namespaces: Collection[str] | None = None
    """Those that the visitor may look into; None for all there are."""
    user: str = ""
    """Who asks."""


@dataclass(frozen=True, slots=True)
class Route:
    path: str
    words: str
    answers: tuple[type, ...]
    """The types that an answer can have."""
    work: Callable[[AnswerContext], Any]
    """In a thread. Raises InputError for what cannot be answered."""
    parameters: tuple[Parameter, ...] = ()
    body: type | None = None
    """Of what is posted; without one the question is a GET."""
    looks: Callable[[AnswerContext], Collection[str] | None] | None = None
    """In a thread: whether it is to be seen how the pods of the namespace are doing."""
    surveys: bool = False
    """Whether it is to be seen how all nodes and pods are doing."""
    verb: str = ""
    """The right that it takes on the named group, or on groups in all namespaces. Then it changes
    something: `order` says what."""
    order: Callable[[AnswerContext], AnyOrder] | None = None
    """In a thread, from names as they are. The answer is worked out once that has been carried out."""
    misses: Reason = Reason.UNKNOWN_NAME
    """What it means when `work` refuses its input."""

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"

    def read(self, path: Mapping[str, str], query: Sequence[tuple[str, str]]) -> Mapping[str, str]:
        """The values of the parameters. Raises RefusedError for what is not one."""
        known = {one.name: one for one in self.parameters}
        values = dict(path)
        for name, text in query:
            if name not in known or known[name].place != "query":
                raise RefusedError(Reason.BAD_QUESTION, unknown_words(name, self.parameters))
            if name in values:
                raise RefusedError(Reason.BAD_QUESTION, f"{name}: is given twice")
            values[name] = text
        missing = {one.name: one.default for one in self.parameters if one.default is not None}
        return {**missing, **{name: checked(known[name], text) for name, text in values.items()}}


def checked(parameter: Parameter, text: str) -> str:
    try:
        value: str = msgspec.convert(text, parameter.form)
        return value
    except msgspec.ValidationError as error:
        what = str(error)
        raise RefusedError(Reason.BAD_QUESTION, f"{parameter.name}: {what[:1].lower()}{what[1:]}") from None


def unknown_words(name: str, parameters: Sequence[Parameter]) -> str:
    known = [one.name for one in parameters if one.place == "query"]
    meant = get_close_matches(name[:100], known, 1)
    hint = f"did you mean {meant[0]}?" if meant else f"there are: {', '.join(known) or 'none here'}"
    return f"{name[:100]}: there is no such parameter; {hint}"
