"""`maitred manifest`: what to apply to a cluster, from the very files that kustomize builds from."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import yaml

import maitred
from maitred.cli import output
from maitred.model.manifest import InputError

NAMESPACE = "maitred-system"
LONGEST_IMAGE = 512
UNPUBLISHED = f"maitred:{maitred.__version__}"
WITHOUT_IMAGE = (
    f"there is no public image of maitred, so {UNPUBLISHED} runs only on nodes that already have it. "
    f"Build the image in a checkout with `podman build -f deploy/Containerfile -t "
    f"YOUR-REGISTRY/{UNPUBLISHED} .` (or docker), push it, and run this command with --image "
    f"YOUR-REGISTRY/{UNPUBLISHED}"
)

_PACKAGE = Path(maitred.__file__).parent
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@click.command()
@click.option(
    "--namespace", metavar="NAME", default=NAMESPACE, show_default=True, help="Namespace that it runs in."
)
@click.option(
    "--image",
    metavar="REF",
    help=f"Image that you built, by the name that your nodes pull.  [default: {UNPUBLISHED}]",
)
@click.option(
    "--admission",
    is_flag=True,
    help="Also print admission policies: they set schedulerName in the pods of labelled namespaces, limit "
    "what maitred may change in Jobs, and note who makes a workload.",
)
@click.option(
    "--pod-deadlines",
    is_flag=True,
    help="Also print the right to set deadlines of pods, with a policy that limits it to that. Queues with "
    "runtime.enforcePods need it.",
)
@output.output("yaml", "json")
@output.refuses_bad_input
def command(namespace: str, image: str | None, admission: bool, pod_deadlines: bool, form: str) -> None:
    """Print the Kubernetes objects that install the scheduler in a cluster, for kubectl to apply.

    Build the image first, from deploy/Containerfile: there is no public image. A cluster can have only one
    installation, because the ClusterRole and its binding have fixed names.

    \b
    Examples:
      maitred manifest --image YOUR-REGISTRY/maitred:0.1.0 | kubectl apply -f -
      maitred manifest --image YOUR-REGISTRY/maitred:0.1.0 --admission \\
        > maitred.yaml
    """
    check_namespace(namespace)
    if image is None:
        image = UNPUBLISHED
        output.warn((WITHOUT_IMAGE,))
    if not image or len(image) > LONGEST_IMAGE or not image.isprintable() or " " in image:
        raise InputError("--image", "", "", f"{image[:80]!r} is not an image reference")
    parts = ["base", *(["admission"] if admission else []), *(["pods"] if pod_deadlines else [])]
    items = [in_place(item, namespace, image) for part in parts for item in objects(part)]
    if form == "json":
        output.write_data({"apiVersion": "v1", "kind": "List", "items": items}, form)
        return
    for item in items:
        click.echo("---")
        output.write_data(item, form)


def objects(part: str) -> Iterator[dict[str, Any]]:
    """What the kustomization of this name consists of, in the order in which it lists it."""
    folder = manifests() / part
    for name in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
        yield from yaml.safe_load_all((folder / name).read_text())


def manifests() -> Path:
    """They are in the package where it was built, and beside its sources in a checkout."""
    packaged = _PACKAGE / "deploy"
    return packaged if packaged.is_dir() else _PACKAGE.parents[1] / "deploy"


def check_namespace(name: str) -> None:
    if not _LABEL.fullmatch(name):
        raise InputError("--namespace", "", "", f"{name[:63]!r} is not a valid name for a namespace")


def in_place(item: dict[str, Any], namespace: str, image: str) -> dict[str, Any]:
    if "AdmissionPolicy" in item["kind"]:
        return limited_to(item, namespace)
    return placed(item, namespace, image)


def limited_to(item: dict[str, Any], namespace: str) -> dict[str, Any]:
    """The policy, for the service account of maitred in this namespace."""
    for part in ("matchConditions", "validations"):
        for rule in item["spec"].get(part, ()):
            rule["expression"] = rule["expression"].replace(NAMESPACE, namespace)
    return item


def placed(item: dict[str, Any], namespace: str, image: str) -> dict[str, Any]:
    """The object in this namespace, and with this image if it runs one."""
    if item["kind"] == "Namespace":
        item["metadata"]["name"] = namespace
    for place in (item["metadata"], *item.get("subjects", ())):
        if "namespace" in place:
            place["namespace"] = namespace
    if item["kind"] == "Deployment":
        item["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return item
