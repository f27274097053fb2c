"""Who may speak to a cluster of ours: users with a token each, and kubeconfig files that hold them."""

import base64
import csv
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class User:
    name: str
    groups: tuple[str, ...] = ()


def service_account(namespace: str, name: str) -> User:
    """A user that the server takes for this service account, so that role bindings to it apply."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(f"system:serviceaccount:{namespace}:{name}", groups)


ADMIN = User("admin", ("system:masters",))
MAITRED = service_account("maitred-system", "maitred")
# With one credential for all controllers, its own role is too small: it expects one account for each of them.
CONTROLLER_MANAGER = User("system:kube-controller-manager", ("system:masters",))
KUBE_SCHEDULER = User("system:kube-scheduler")

Tokens = Mapping[User, str]


def make_tokens(users: Iterable[User]) -> Tokens:
    return {user: secrets.token_urlsafe(32) for user in users}


def write_token_file(path: Path, tokens: Tokens) -> None:
    """The server's `--token-auth-file`: token, name, unique id and groups."""
    with private(path).open("w", newline="") as file:
        csv.writer(file).writerows(
            (token, user.name, user.name, ",".join(user.groups)) for user, token in tokens.items()
        )


def write_kubeconfig(path: Path, server: str, authority: bytes, token: str) -> None:
    """As JSON, which is YAML too. `authority`: the certificate that vouches for the server."""
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(authority).decode()}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "maitred",
        "contexts": [{"name": "maitred", "context": {"cluster": "maitred", "user": "maitred"}}],
        "clusters": [{"name": "maitred", "cluster": cluster}],
        "users": [{"name": "maitred", "user": {"token": token}}],
    }
    private(path).write_text(json.dumps(content, indent=2))


def private(path: Path) -> Path:
    path.touch(mode=0o600)
    return path
