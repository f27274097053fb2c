"""Who may speak to the server."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class User:
    name: str
    groups: tuple[str, ...] = ()


def service_account(namespace: str, name: str) -> User:
    """A user that the server takes for this service account, so that role bindings to it apply."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(f"system:serviceaccount:{namespace}:{name}", groups)


ADMIN = User("admin", ("system:masters",))
