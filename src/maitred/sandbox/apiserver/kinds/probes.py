"""The rules for what a kubelet does to containers: probes, and hooks at their start and end."""

from collections.abc import Iterator
from dataclasses import dataclass

from maitred.sandbox.apiserver.kinds.fielderrors import (
    NOT_NEGATIVE,
    FieldError,
    forbidden,
    invalid,
    required,
    unsupported,
)
from maitred.sandbox.apiserver.kinds.names import check_name, check_port, header
from maitred.sandbox.apiserver.schema.types import Body

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
OF_PROBES = ("exec", "httpGet", "tcpSocket", "grpc")
OF_HOOKS = ("exec", "httpGet", "tcpSocket", "sleep")
COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
SCHEMES = ("HTTP", "HTTPS")


@dataclass(frozen=True, slots=True)
class Hooks:
    """`grace` is how long the pod has to end."""

    grace: int | None

    def check(self, container: Body, path: str) -> Iterator[FieldError]:
        lifecycle = container.get("lifecycle", {})
        for hook in ("postStart", "preStop"):
            if hook in lifecycle:
                here = f"{path}.lifecycle.{hook}"
                yield from self._check_handler(lifecycle[hook], OF_HOOKS, here)
        for name in PROBES:
            if name in container:
                yield from self._check_probe(container[name], name, f"{path}.{name}")

    def _check_probe(self, probe: Body, name: str, path: str) -> Iterator[FieldError]:
        yield from self._check_handler(probe, OF_PROBES, path)
        for count in COUNTS:
            if probe.get(count, 0) < 0:
                yield invalid(f"{path}.{count}", probe[count], NOT_NEGATIVE)
        grace = probe.get("terminationGracePeriodSeconds")
        if grace is not None and grace <= 0:
            yield invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")
        if name == "readinessProbe":
            if grace is not None:
                why = "must not be set for readinessProbes"
                yield invalid(f"{path}.terminationGracePeriodSeconds", grace, why)
        elif probe.get("successThreshold") != 1:
            yield invalid(f"{path}.successThreshold", probe.get("successThreshold", 0), "must be 1")

    def _check_handler(self, handler: Body, kinds: tuple[str, ...], path: str) -> Iterator[FieldError]:
        given = [kind for kind in kinds if kind in handler]
        if not given:
            yield required(path, "must specify a handler type")
            return
        yield from self._check_action(given[0], handler[given[0]], f"{path}.{given[0]}")
        for other in given[1:]:
            yield forbidden(f"{path}.{other}", "may not specify more than 1 handler type")

    def _check_action(self, kind: str, action: Body, path: str) -> Iterator[FieldError]:
        if kind == "exec":
            if not action.get("command"):
                yield required(f"{path}.command")
        elif kind == "httpGet":
            yield from _check_request(action, path)
        elif kind == "sleep":
            yield from self._check_sleep(action.get("seconds", 0), path)
        else:
            yield from check_port(f"{path}.port", action.get("port", 0))

    def _check_sleep(self, seconds: int, path: str) -> Iterator[FieldError]:
        if self.grace is not None and not 0 <= seconds <= self.grace:
            why = f"must be non-negative and less than terminationGracePeriodSeconds ({self.grace})"
            yield invalid(path, seconds, why)


def check_no_hooks(container: Body, path: str) -> Iterator[FieldError]:
    """A container that must end before the next one starts has none."""
    for name in ("lifecycle", *PROBES):
        if name in container:
            yield forbidden(
                f"{path}.{name}", "may not be set for init containers without restartPolicy=Always"
            )


def _check_request(action: Body, path: str) -> Iterator[FieldError]:
    if not action.get("path"):
        yield required(f"{path}.path")
    yield from check_port(f"{path}.port", action.get("port", 0))
    if action.get("scheme") not in SCHEMES:
        yield unsupported(f"{path}.scheme", action.get("scheme", ""), SCHEMES)
    for given in action.get("httpHeaders", ()):
        yield from check_name(f"{path}.httpHeaders", given.get("name", ""), header)
