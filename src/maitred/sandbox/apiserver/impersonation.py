"""To act as somebody else, as `kubectl --as` does."""

from multidict import MultiMapping

from maitred.sandbox.apiserver.authorization import Authorizer
from maitred.sandbox.apiserver.call import legible
from maitred.sandbox.apiserver.refusals import Refusal
from maitred.sandbox.apiserver.users import User, service_account

ACCOUNT = "system:serviceaccount:"


def impersonated(user: User, headers: MultiMapping[str], authorizer: Authorizer) -> User:
    """Who the request is to count for. It takes the right to be each of them."""
    name = legible(headers.get("Impersonate-User", ""))
    groups = tuple(map(legible, headers.getall("Impersonate-Group", ())))
    if not name:
        if groups:
            raise Refusal(500, "", f"requested {list(groups)} without impersonating a user")
        return user
    for resource, namespace, wanted in (subject(name), *(("groups", "", group) for group in groups)):
        why = authorizer.refusal(user, "impersonate", "", resource, namespace, wanted)
        if why is not None:
            raise why
    return User(name, groups or account_groups(name))


def subject(name: str) -> tuple[str, str, str]:
    """The resource that stands for this name, its namespace, and its name there."""
    if not name.startswith(ACCOUNT):
        return "users", "", name
    namespace, _, account = name.removeprefix(ACCOUNT).partition(":")
    return "serviceaccounts", namespace, account


def account_groups(name: str) -> tuple[str, ...]:
    resource, namespace, account = subject(name)
    return service_account(namespace, account).groups if resource == "serviceaccounts" else ()
