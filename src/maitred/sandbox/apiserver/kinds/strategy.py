"""How objects of a kind come to be and change. A kind with rules of its own overrides what it needs."""

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError
from maitred.sandbox.apiserver.schema.types import Body


class Strategy:
    """Bodies that come in are fresh and conform to the schema: what is unknown, null or empty is gone.

    What is common to all kinds, the server does itself: metadata and its rules, the defaults that the schema
    has, keeping `status` out of writes to the object and all else out of writes to `status`.
    """

    def understand(self, body: Body) -> list[str]:
        """Rewrite what people say in other words, before the body is made to conform; and warn of it."""
        return []

    def set_defaults(self, body: Body) -> None:
        """Those that depend on other fields. Called for every body that comes in, also for updates."""

    def before_create(self, body: Body) -> None:
        """Set or drop what is not the creator's to say, such as the status of a pod."""

    def check(self, body: Body) -> list[FieldError]:
        """The rules for a whole object, metadata left out. Called for new objects."""
        return []

    def before_store(self, body: Body) -> None:
        """Complete a new object that was found good, as the API server does when it reads it back."""

    def before_update(self, new: Body, old: Body) -> None:
        """Restore what an update cannot change, without a word, as the API server does."""

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        """All rules for an update: those for the new object too, as far as the API server repeats them."""
        return self.check(new)

    def before_status(self, new: Body, old: Body) -> None:
        """As `before_update`, for a write to `status`."""

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        """The rules for a write to `status`."""
        return []

    def warnings(self, body: Body, old: Body | None) -> list[str]:
        """What the server would rather not have seen, but takes."""
        return []


PLAIN = Strategy()


def is_true(body: Body, kind: str) -> bool:
    """Whether the status of an object has this condition."""
    conditions: list[Body] = body.get("status", {}).get("conditions") or []
    return any(found.get("type") == kind and found.get("status") == "True" for found in conditions)
