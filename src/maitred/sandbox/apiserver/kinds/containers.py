"""The rules for containers, in pods and in templates of pods."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from maitred.sandbox.apiserver.kinds.environment import check_env, check_env_from
from maitred.sandbox.apiserver.kinds.fielderrors import (
    Fault,
    FieldError,
    check_choice,
    duplicate,
    forbidden,
    invalid,
    required,
    too_many,
    unsupported,
)
from maitred.sandbox.apiserver.kinds.names import check_name, check_range, label, port_name
from maitred.sandbox.apiserver.kinds.podvolumes import check_devices, check_mounts, check_pull_policy
from maitred.sandbox.apiserver.kinds.probes import PROBES, Hooks, check_no_hooks
from maitred.sandbox.apiserver.kinds.resources import check_requirements
from maitred.sandbox.apiserver.kinds.security import check_container_security
from maitred.sandbox.apiserver.schema.types import Body

PROTOCOLS = ("SCTP", "TCP", "UDP")
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
RESTART_POLICIES = ("Always", "Never", "OnFailure")
RESTART_ACTIONS = ("Restart", "RestartAllContainers")
EXIT_CODE_OPERATORS = ("In", "NotIn")
RESIZABLE = ("cpu", "memory")
RESIZE_POLICIES = ("NotRequired", "RestartContainer")
MOST_RULES = 20
MOST_EXIT_CODES = 255
NOT_EPHEMERAL = ("ports", "resources", *PROBES, "lifecycle", "resizePolicy", "restartPolicy")


@dataclass(frozen=True, slots=True)
class Containers:
    """Those of one pod. What they are checked against: the rest of the pod."""

    volumes: Mapping[str, Body]
    claims: Sequence[str]
    grace: int | None
    restart_policy: str
    host_users: bool

    def check_main(self, containers: Sequence[Body], path: str) -> Iterator[FieldError]:
        if not containers:
            yield required(path)
            return
        names = set[str]()
        for index, container in enumerate(containers):
            here, name = f"{path}[{index}]", container.get("name", "")
            yield from self._check(container, here)
            if name in names:
                yield duplicate(f"{here}.name", name)
            names.add(name)
            yield from Hooks(self.grace).check(container, here)
            yield from _check_restarts(container, here)
        yield from _check_host_ports(containers, path)

    def check_init(self, containers: Sequence[Body], main: Sequence[Body], path: str) -> Iterator[FieldError]:
        names = {container.get("name", "") for container in main}
        for index, container in enumerate(containers):
            here, name = f"{path}[{index}]", container.get("name", "")
            yield from self._check(container, here)
            yield from _check_restarts(container, here)
            if name in names:
                yield duplicate(f"{here}.name", name)
            elif name:
                names.add(name)
            # The server numbers a container that it looks at alone as the first.
            yield from _check_host_ports([container], path)
            if container.get("restartPolicy") == "Always":
                yield from Hooks(self.grace).check(container, here)
            else:
                yield from check_no_hooks(container, here)
                yield from _check_no_resize_restart(container, here)

    def check_ephemeral(
        self, containers: Sequence[Body], others: Sequence[Body], path: str
    ) -> Iterator[FieldError]:
        targets = {container.get("name", "") for container in others}
        names = set(targets)
        for index, container in enumerate(containers):
            here, name = f"{path}[{index}]", container.get("name", "")
            yield from self._check(container, here)
            yield from check_image(container, here)
            if name in names:
                yield duplicate(f"{here}.name", name)
            names.add(name)
            target = container.get("targetContainerName", "")
            if target and target not in targets:
                yield FieldError(Fault.NOT_FOUND, f"{here}.targetContainerName", target)
            for field in NOT_EPHEMERAL:
                if container.get(field):
                    yield forbidden(f"{here}.{field}", "cannot be set for an Ephemeral Container")

    def _check(self, container: Body, path: str) -> Iterator[FieldError]:
        if not container.get("name"):
            yield required(f"{path}.name")
        else:
            yield from check_name(f"{path}.name", container["name"], label)
        if not container.get("image"):
            yield required(f"{path}.image")
        yield from _check_message_policy(container.get("terminationMessagePolicy", ""), path)
        yield from _check_ports(container.get("ports", ()), f"{path}.ports")
        yield from check_env(container.get("env", ()), f"{path}.env")
        yield from check_env_from(container.get("envFrom", ()), f"{path}.envFrom")
        yield from check_mounts(container, self.volumes, f"{path}.volumeMounts")
        yield from check_devices(container, self.volumes, f"{path}.volumeDevices")
        yield from check_pull_policy(container.get("imagePullPolicy", ""), f"{path}.imagePullPolicy")
        yield from check_requirements(container.get("resources", {}), self.claims, f"{path}.resources")
        yield from self._check_resizes(container.get("resizePolicy", ()), f"{path}.resizePolicy")
        yield from check_container_security(
            container.get("securityContext", {}), f"{path}.securityContext", host_users=self.host_users
        )

    def _check_resizes(self, policies: Sequence[Body], path: str) -> Iterator[FieldError]:
        seen = set[str]()
        for index, policy in enumerate(policies):
            resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
            if resource in seen:
                yield duplicate(f"{path}[{index}]", resource)
            seen.add(resource)
            yield from check_choice(path, resource, RESIZABLE)
            yield from check_choice(path, restart, RESIZE_POLICIES)
            if self.restart_policy == "Never" and restart != "NotRequired":
                why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
                yield invalid(path, restart, why)


def check_image(container: Body, path: str) -> Iterator[FieldError]:
    """Templates may have such images, pods may not."""
    image = container.get("image", "")
    if image != image.strip():
        yield invalid(f"{path}.image", image, "must not have leading or trailing whitespace")


def _check_message_policy(policy: str, path: str) -> Iterator[FieldError]:
    return check_choice(f"{path}.terminationMessagePolicy", policy, MESSAGE_POLICIES)


def _check_ports(ports: Sequence[Body], path: str) -> Iterator[FieldError]:
    names = set[str]()
    for index, port in enumerate(ports):
        here, name = f"{path}[{index}]", port.get("name", "")
        if name:
            problems = list(check_name(f"{here}.name", name, port_name))
            if not problems and name in names:
                problems.append(duplicate(f"{here}.name", name))
            yield from problems
            names.add(name)
        if not port.get("containerPort"):
            yield required(f"{here}.containerPort")
        else:
            yield from check_range(f"{here}.containerPort", port["containerPort"], 1, 65535)
        if port.get("hostPort"):
            yield from check_range(f"{here}.hostPort", port["hostPort"], 1, 65535)
        yield from check_choice(f"{here}.protocol", port.get("protocol", ""), PROTOCOLS)


def _check_host_ports(containers: Sequence[Body], path: str) -> Iterator[FieldError]:
    taken = set[str]()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports", ())):
            if port.get("hostPort"):
                key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if key in taken:
                    yield duplicate(f"{path}[{index}].ports[{number}].hostPort", key)
                taken.add(key)


def _check_restarts(container: Body, path: str) -> Iterator[FieldError]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    if policy is None:
        if rules:
            why = "must specify restartPolicy when restart rules are used"
            yield required(f"{path}.restartPolicy", why)
    elif policy not in RESTART_POLICIES:
        yield unsupported(f"{path}.restartPolicy", policy, RESTART_POLICIES)
    if len(rules) > MOST_RULES:
        yield too_many(f"{path}.restartPolicyRules", len(rules), MOST_RULES)
    for index, rule in enumerate(rules):
        yield from _check_rule(rule, f"{path}.restartPolicyRules[{index}]")


def _check_rule(rule: Body, path: str) -> Iterator[FieldError]:
    if rule.get("action") not in RESTART_ACTIONS:
        yield unsupported(f"{path}.action", rule.get("action", ""), RESTART_ACTIONS)
    codes = rule.get("exitCodes")
    if codes is None:
        yield required(f"{path}.exitCodes", "must be specified")
        return
    if codes.get("operator") not in EXIT_CODE_OPERATORS:
        yield unsupported(f"{path}.exitCodes.operator", codes.get("operator", ""), EXIT_CODE_OPERATORS)
    values = codes.get("values", ())
    if len(values) > MOST_EXIT_CODES:
        yield too_many(f"{path}.exitCodes.values", len(values), MOST_EXIT_CODES)


def _check_no_resize_restart(container: Body, path: str) -> Iterator[FieldError]:
    for index, policy in enumerate(container.get("resizePolicy", ())):
        if policy.get("restartPolicy") == "RestartContainer":
            why = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            yield invalid(f"{path}.resizePolicy[{index}].restartPolicy", "RestartContainer", why)
