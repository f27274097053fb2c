"""Operators beside a control plane: their CRDs, their processes, and their webhooks on loopback."""

import http.client
import json
import shutil
import ssl
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

import yaml

from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.commands import HOST
from maitred.sandbox.controlplane.process import POLL_SECONDS, READY_SECONDS, Process, ProcessError
from maitred.sandbox.controlplane.progress_lines import Progress
from maitred.sandbox.controlplane.run import ControlPlane, free_ports
from tests.control_plane.waiting import eventually
from tests.operators.build import CRDS, WEBHOOKS, built
from tests.operators.catalogue import Operator, Place

Json = dict[str, Any]


class Operators:
    """Those that tests have needed so far, on one control plane. Each stays until the end."""

    def __init__(self, plane: ControlPlane, say: Progress) -> None:
        self.plane = plane
        self._say = say
        self._running = set[Operator]()
        self._stack = ExitStack()

    def need(self, operators: Iterable[Operator]) -> None:
        """Each has its CRDs, is ready, and is asked as a webhook."""
        missing = [operator for operator in operators if operator not in self._running]
        programs = {operator: built(operator, self._say) for operator in missing}
        if not programs:
            return
        install(self.plane, [directory / CRDS for directory in programs.values()])
        started = [self._stack.enter_context(process(self.plane, *program)) for program in programs.items()]
        for operator, (child, place) in zip(missing, started, strict=True):
            child.wait_ready(f"http://{place.probes}/readyz")
            if operator.webhooks:
                bodies = webhooks(self.plane, operator, programs[operator], place)
                wait_served(self.plane, child, bodies)
                register(self.plane, bodies)
            self._running.add(operator)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def install(plane: ControlPlane, crds: Sequence[Path]) -> None:
    """By the server's apply: some are too large for the annotation that a plain apply leaves."""
    files = [f"--filename={path}" for path in crds]
    plane.kubectl("apply", "--server-side", *files)
    eventually(lambda: all(map(established, json.loads(plane.kubectl("get", "crds", "-o=json"))["items"])))


def established(crd: Json) -> bool:
    conditions = crd.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


@contextmanager
def process(plane: ControlPlane, operator: Operator, directory: Path) -> Iterator[tuple[Process, Place]]:
    if operator.namespace:
        plane.kubectl("create", "namespace", operator.namespace)
    health, webhooks = free_ports(2)
    place = Place(health, webhooks, plane.directory / operator.name)
    place.certificates.mkdir(parents=True)
    shutil.copy(plane.certificate, place.certificates / "tls.crt")
    shutil.copy(plane.key, place.certificates / "tls.key")
    command = [
        f"{directory}/{operator.name}",
        f"--kubeconfig={plane.kubeconfig(ADMIN)}",
        *operator.arguments(place),
    ]
    child = Process(command, place.folder / "log", {"TMPDIR": str(place.folder)})
    child.start()
    try:
        yield child, place
    finally:
        child.stop()


def webhooks(plane: ControlPlane, operator: Operator, directory: Path, place: Place) -> list[Json]:
    """As its manifests say, but for where the server is, and without kinds that tests do not use."""
    bodies: list[Json] = list(yaml.safe_load_all((directory / WEBHOOKS).read_text()))
    for body in bodies:
        body["metadata"]["name"] = operator.name
        body["webhooks"] = [
            at_loopback(operator, webhook, plane, place)
            for webhook in body["webhooks"]
            if set(webhook["rules"][0]["resources"]) <= {*operator.resources}
        ]
    return bodies


def wait_served(plane: ControlPlane, child: Process, bodies: Sequence[Json]) -> None:
    """Some say that they are ready before they listen, and listen before they know every path."""
    trusted = ssl.create_default_context(cadata=plane.authority.decode())
    deadline = time.monotonic() + READY_SECONDS
    for url in (webhook["clientConfig"]["url"] for body in bodies for webhook in body["webhooks"]):
        while not is_served(urlsplit(url), trusted):
            if time.monotonic() > deadline:
                raise ProcessError(f"{child.name} does not serve {url}: {child.last_words()}")
            time.sleep(POLL_SECONDS)


def is_served(url: SplitResult, trusted: ssl.SSLContext) -> bool:
    connection = http.client.HTTPSConnection(url.netloc, timeout=5, context=trusted)
    try:
        connection.request("POST", url.path)
        return connection.getresponse().status != HTTPStatus.NOT_FOUND
    except OSError:
        return False
    finally:
        connection.close()


def register(plane: ControlPlane, bodies: Sequence[Json]) -> None:
    plane.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies}))


def at_loopback(operator: Operator, webhook: Json, plane: ControlPlane, place: Place) -> Json:
    path = webhook["clientConfig"]["service"]["path"]
    url = f"https://{HOST}:{place.webhooks}{path}"
    webhook["clientConfig"] = {"url": url, "caBundle": b64encode(plane.authority).decode()}
    if "pods" in webhook["rules"][0]["resources"]:
        own = {"key": operator.pod_label, "operator": "Exists"}
        webhook["objectSelector"] = {"matchExpressions": [own]}
    return dict(webhook)
