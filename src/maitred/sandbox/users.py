"""Who may speak to a cluster of ours: users with a token each."""

import csv
import io
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from maitred.sandbox.apiserver.users import User, service_account
from maitred.sandbox.kubeconfig import write_private

MAITRED = service_account("maitred-system", "maitred")
# With one credential for all controllers, its own role is too small: it expects one account for each of them.
CONTROLLER_MANAGER = User("system:kube-controller-manager", ("system:masters",))
KUBE_SCHEDULER = User("system:kube-scheduler")

Tokens = Mapping[User, str]


def make_tokens(users: Iterable[User]) -> Tokens:
    return {user: secrets.token_urlsafe(32) for user in users}


def write_token_file(path: Path, tokens: Tokens) -> None:
    """The server's `--token-auth-file`: token, name, unique id and groups."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(
        (token, user.name, user.name, ",".join(user.groups)) for user, token in tokens.items()
    )
    write_private(path, text.getvalue())
