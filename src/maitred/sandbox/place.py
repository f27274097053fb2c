"""Where the sandbox of this user is, and what tells a sandbox from a cluster that people depend on."""

from pathlib import Path

MARKER_NAMESPACE = "kube-system"
MARKER = "maitred-sandbox"
"""The ConfigMap that every sandbox has, and no other cluster: what breaks nodes looks for it first."""

SCHEDULER = "maitred"
"""The scheduler that runs in every sandbox, by the name that pods give it."""


def sandbox_kubeconfig_path() -> Path:
    """`maitred up` writes it, and everything that looks for the sandbox reads it."""
    return Path.home() / ".maitred" / "sandbox.kubeconfig"
