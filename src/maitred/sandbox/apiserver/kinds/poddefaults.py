"""What pods and templates of pods get where they say nothing, as far as it depends on the rest of them."""

import re
from collections.abc import Iterator

from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.types import Body

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
SOURCES = tuple(name for name, field in struct("core.v1.Volume").fields.items() if field.either)
_HOST = r"[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?"
_PART = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:{_HOST}(?:\.{_HOST})*(?::\d+)?/)?{_PART}(?:/{_PART})*(?::(?P<tag>\w[\w.-]{{0,127}}))?(?P<digest>@.+)?",
    re.ASCII,
)
TOLERATED_SECONDS = 300


def set_pod_defaults(spec: Body) -> None:
    _set_spec_defaults(spec)
    for container in _containers(spec):
        resources = container.get("resources", {})
        if "limits" in resources:
            # A container that is limited and asks for nothing asks for what it is limited to.
            resources["requests"] = {**resources["limits"], **resources.get("requests", {})}
        if spec.get("hostNetwork"):
            for port in container.get("ports", ()):
                if "containerPort" in port:
                    port.setdefault("hostPort", port["containerPort"])
    spec.setdefault("enableServiceLinks", True)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1


def set_pod_template_defaults(template: Body) -> None:
    """Less than pods get: the rest is added to the pods that are made of it."""
    _set_spec_defaults(template.setdefault("spec", {}))


def tolerate_faults(spec: Body) -> None:
    """An admission plugin gives pods some minutes on a node that is not ready."""
    tolerations = spec.get("tolerations", [])
    missing = [key for key in (NOT_READY, UNREACHABLE) if not any(_covers(one, key) for one in tolerations)]
    if missing:
        spec["tolerations"] = [*tolerations, *map(_toleration, missing)]


def _covers(toleration: Body, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


def _toleration(key: str) -> Body:
    return {
        "key": key,
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": TOLERATED_SECONDS,
    }


def _set_spec_defaults(spec: Body) -> None:
    # Where there are none, the schema has null; the rules will say so.
    spec["containers"] = spec.get("containers") or []
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in spec.get("volumes", ()):
        _set_volume_defaults(volume)
    for container in _containers(spec):
        container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
    for container in spec.get("ephemeralContainers", ()):
        container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))


def _set_volume_defaults(volume: Body) -> None:
    if not any(source in volume for source in SOURCES):
        volume["emptyDir"] = {}
    if "image" in volume:
        image = volume["image"]
        image.setdefault("pullPolicy", _pull_policy(image.get("reference", "")))


def _containers(spec: Body) -> Iterator[Body]:
    yield from spec.get("containers", ())
    yield from spec.get("initContainers", ())


def _pull_policy(image: str) -> str:
    """The latest image is another every time; one without tag and digest is the latest."""
    parts = _IMAGE.fullmatch(image)
    latest = parts is not None and (parts["tag"] == "latest" or not (parts["tag"] or parts["digest"]))
    return "Always" if latest else "IfNotPresent"
