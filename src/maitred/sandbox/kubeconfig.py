"""Kubeconfig files of clusters of ours: for one user only, known again, and nobody else's overwritten."""

import base64
import json
import os
from pathlib import Path

from maitred.kube import files
from maitred.kube.kubeconfig import Extension, Kubeconfig
from maitred.model.manifest import InputError, read_settings

NAME = "maitred"
"""Of the only context, cluster and user."""
MARK = "sandbox.maitred.dev"
"""Of the extension by which a file of ours is known, wherever the cluster that it leads to is now."""


class Marked(Kubeconfig, frozen=True, rename="kebab"):
    extensions: tuple[Extension, ...] = ()


def write_kubeconfig(path: Path, server: str, authority: bytes, token: str) -> None:
    """As JSON, which is YAML too. `authority`: the certificate that vouches for the server."""
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(authority).decode()}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": NAME,
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": {"token": token}}],
        "extensions": [{"name": MARK, "extension": {"writtenBy": NAME}}],
    }
    write_private(path, json.dumps(content, indent=2))


def write_private(path: Path, text: str) -> None:
    """A new file that only its owner can read. Raises FileExistsError if anything is there, even a link."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(file, "w") as writing:
            writing.write(text)
    except OSError:
        path.unlink()  # Half a file would be nobody's.
        raise


def token_of_ours(path: Path) -> str | None:
    """What it lets in with; None for whatever was not written here, or holds anything else besides."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        found, _ = read_settings(files.content(str(path)), str(path), Marked)
    except (OSError, InputError):
        return None
    entries = ({entry.name for entry in part} for part in (found.contexts, found.clusters, found.users))
    if not (any(one.name == MARK for one in found.extensions) and all(names == {NAME} for names in entries)):
        return None
    return found.users[0].user.token


def remove_ours(path: Path, token: str) -> None:
    """Unless someone has put another in its place."""
    if token_of_ours(path) == token:
        path.unlink(missing_ok=True)
