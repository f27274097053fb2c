"""Which cluster a verb talks to: the one that kubectl would, or else the sandbox of this user."""

import os
from functools import cache
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from maitred.kube.connection import Connection


def connection(kubeconfig: str | None, context: str | None) -> "Connection":
    """Whatever is configured wins. Where nothing is, a sandbox that `maitred up` has started is meant."""
    from maitred.kube.connect import connect
    from maitred.sandbox.place import sandbox_kubeconfig_path

    usual = sandbox_kubeconfig_path()
    if kubeconfig is not None or is_configured() or not usual.exists():
        return connect(kubeconfig, context)
    found = connect(str(usual), context)
    say_so(found.server, str(usual))
    return found


def is_configured() -> bool:
    from maitred.kube.connect import HOME
    from maitred.kube.incluster import is_in_cluster

    return bool(os.environ.get("KUBECONFIG")) or os.path.exists(os.path.expanduser(HOME)) or is_in_cluster()


@cache
def say_so(server: str, path: str) -> None:
    """Once in a command, however often it connects."""
    click.echo(f"using the sandbox at {server}: there is no other kubeconfig than {path}", err=True)
