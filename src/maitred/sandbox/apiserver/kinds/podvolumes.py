"""The rules for the volumes of pods, and for how containers mount them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from maitred.sandbox.apiserver.kinds.amounts import nano
from maitred.sandbox.apiserver.kinds.claims import check_claim_template
from maitred.sandbox.apiserver.kinds.environment import (
    OF_PODS_IN_FILES,
    check_container_field,
    check_pod_field,
)
from maitred.sandbox.apiserver.kinds.fielderrors import (
    Fault,
    FieldError,
    check_choice,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)
from maitred.sandbox.apiserver.kinds.names import LONGEST_LABEL, check_name, label, subdomain
from maitred.sandbox.apiserver.kinds.paths import check_no_way_up, check_relative, check_unreserved
from maitred.sandbox.apiserver.schema.types import Body

SourceCheck: TypeAlias = Callable[[Body, str], Iterator[FieldError]]

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
RECURSIVE = ("Disabled", "Enabled", "IfPossible")
LARGEST_MODE = 0o777
SHORTEST_TOKEN = 600
LONGEST_TOKEN = 2**32


def check_volumes(
    volumes: Sequence[Body], pod_name: str, path: str
) -> tuple[list[FieldError], dict[str, Body]]:
    """What is wrong, and the volumes without fault by name: mounts can refer to these.

    `pod_name` is empty in templates: claims of pods are named after them.
    """
    errors, usable = list[FieldError](), dict[str, Body]()
    claims = {f"{pod_name}-{volume.get('name', '')}" for volume in volumes if "ephemeral" in volume}
    for index, volume in enumerate(volumes):
        here, name = f"{path}[{index}]", volume.get("name", "")
        problems = [*_check_source(volume, here), *_check_volume_name(volume, pod_name, here)]
        if name in usable:
            problems.append(duplicate(f"{here}.name", name))
        if not problems:
            usable[name] = volume
        errors += problems
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        if pod_name and claim in claims:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(f"{here}.persistentVolumeClaim.claimName", claim, why))
    return errors, usable


def check_mounts(container: Body, volumes: Mapping[str, Body], path: str) -> Iterator[FieldError]:
    devices = {
        item.get("name", ""): item.get("devicePath", "") for item in container.get("volumeDevices", ())
    }
    seen = set[str]()
    for index, mount in enumerate(container.get("volumeMounts", ())):
        here, name, where = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{here}.name")
        if name not in volumes:
            yield FieldError(Fault.NOT_FOUND, f"{here}.name", name)
        if not where:
            yield required(f"{here}.mountPath")
        if where in seen:
            yield invalid(f"{here}.mountPath", where, "must be unique")
        seen.add(where)
        if name in devices:
            yield invalid(f"{here}.name", name, "must not already exist in volumeDevices")
        if where in devices.values():
            yield invalid(f"{here}.mountPath", where, "must not already exist as a path in volumeDevices")
        yield from _check_mount_options(mount, container, path, here)


def check_devices(container: Body, volumes: Mapping[str, Body], path: str) -> Iterator[FieldError]:
    mounts = {item.get("name", ""): item.get("mountPath", "") for item in container.get("volumeMounts", ())}
    names, paths = set[str](), set[str]()
    for index, device in enumerate(container.get("volumeDevices", ())):
        here, name, where = f"{path}[{index}]", device.get("name", ""), device.get("devicePath", "")
        yield from _check_device_name(name, names, volumes, f"{here}.name")
        if not where:
            yield required(f"{here}.devicePath")
        if where in paths:
            yield invalid(f"{here}.devicePath", where, "must be unique")
        if ".." in where.split("/"):
            yield invalid(f"{here}.devicePath", where, "can not contain backsteps ('..')")
        if name in mounts:
            yield invalid(f"{here}.name", name, "must not already exist in volumeMounts")
        if where in mounts.values():
            yield invalid(f"{here}.devicePath", where, "must not already exist as a path in volumeMounts")
        names.add(name)
        paths.add(where)


def check_pull_policy(policy: str, path: str) -> Iterator[FieldError]:
    return check_choice(path, policy, PULL_POLICIES)


def check_driver(name: str, path: str) -> Iterator[FieldError]:
    if not name:
        yield required(path)
        return
    if len(name) > LONGEST_LABEL:
        yield too_long(path, LONGEST_LABEL)
    for message in subdomain(name.lower()):
        yield invalid(path, name, message)


def check_host_path(source: Body, path: str) -> Iterator[FieldError]:
    if not source.get("path"):
        yield required(f"{path}.path")
        return
    yield from check_no_way_up(source["path"], f"{path}.path")
    if source.get("type", "") not in HOST_PATH_TYPES:
        yield unsupported(f"{path}.type", source["type"], HOST_PATH_TYPES)


def check_nfs(source: Body, path: str) -> Iterator[FieldError]:
    if not source.get("server"):
        yield required(f"{path}.server")
    if not source.get("path"):
        yield required(f"{path}.path")
    if not source.get("path", "").startswith("/"):
        yield invalid(f"{path}.path", source.get("path", ""), "must be an absolute path")


def _check_device_name(
    name: str, names: set[str], volumes: Mapping[str, Body], path: str
) -> Iterator[FieldError]:
    volume = volumes.get(name)
    if not name:
        yield required(path)
    elif name in names:
        yield invalid(path, name, "must be unique")
    if volume is None:
        yield FieldError(Fault.NOT_FOUND, path, name)
    elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
        why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        yield invalid(path, name, why)


def _check_mount_options(mount: Body, container: Body, path: str, here: str) -> Iterator[FieldError]:
    """The server leaves the number of the mount out of some paths."""
    below, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    yield from check_relative(below, f"{path}.subPath")
    if below and expression:
        why = "subPathExpr and subPath are mutually exclusive"
        yield invalid(f"{here}.subPathExpr", expression, why)
    yield from check_relative(expression, f"{path}.subPathExpr")
    propagation = mount.get("mountPropagation", "None")
    if propagation not in PROPAGATIONS:
        yield unsupported(f"{path}.mountPropagation", propagation, PROPAGATIONS)
    elif propagation == "Bidirectional" and not container.get("securityContext", {}).get("privileged"):
        why = "Bidirectional mount propagation is available only to privileged containers"
        yield forbidden(f"{path}.mountPropagation", why)
    yield from _check_recursive(mount, propagation, f"{path}.recursiveReadOnly")


def _check_recursive(mount: Body, propagation: str, path: str) -> Iterator[FieldError]:
    mode = mount.get("recursiveReadOnly", "Disabled")
    if mode not in RECURSIVE:
        yield unsupported(path, mode, RECURSIVE)
    elif mode != "Disabled":
        if not mount.get("readOnly"):
            yield forbidden(path, "may only be specified when readOnly is true")
        if propagation != "None":
            why = "may only be specified when mountPropagation is None or not specified"
            yield forbidden(path, why)


def _check_volume_name(volume: Body, pod_name: str, path: str) -> Iterator[FieldError]:
    name = volume.get("name", "")
    if "ephemeral" in volume and pod_name and name:
        claim = f"{pod_name}-{name}"
        for message in subdomain(claim):
            yield invalid(f"{path}.name", name, f'PVC name "{claim}": {message}')
    if not name:
        yield required(f"{path}.name")
    else:
        yield from check_name(f"{path}.name", name, label)


def _check_source(volume: Body, path: str) -> Iterator[FieldError]:
    given = [kind for kind in SOURCES if kind in volume]
    if not given:
        yield required(path, "must specify a volume type")
        return
    yield from SOURCES[given[0]](volume[given[0]], f"{path}.{given[0]}")
    for kind in given[1:]:
        yield forbidden(f"{path}.{kind}", "may not specify more than 1 volume type")


def _check_empty_dir(source: Body, path: str) -> Iterator[FieldError]:
    if nano(source.get("sizeLimit", "0")) < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _check_secret(source: Body, path: str) -> Iterator[FieldError]:
    if not source.get("secretName"):
        yield required(f"{path}.secretName")
    yield from _check_mode(source, "defaultMode", path)
    yield from _check_items(source, path)


def _check_config_map(source: Body, path: str) -> Iterator[FieldError]:
    yield from _check_named(source, path)
    yield from _check_mode(source, "defaultMode", path)
    yield from _check_items(source, path)


def _check_claim(source: Body, path: str) -> Iterator[FieldError]:
    if not source.get("claimName"):
        yield required(f"{path}.claimName")


def _check_downward(source: Body, path: str) -> Iterator[FieldError]:
    yield from _check_mode(source, "defaultMode", path)
    for item in source.get("items", ()):
        yield from _check_downward_file(item, path)


def _check_csi(source: Body, path: str) -> Iterator[FieldError]:
    yield from check_driver(source.get("driver", ""), f"{path}.driver")
    if "nodePublishSecretRef" in source:
        name = source["nodePublishSecretRef"].get("name", "")
        if not name:
            yield required(f"{path}.nodePublishSecretRef.name")
        else:
            yield from check_name(f"{path}.name", name, subdomain)


def _check_ephemeral(source: Body, path: str) -> Iterator[FieldError]:
    if "volumeClaimTemplate" not in source:
        yield required(f"{path}.volumeClaimTemplate")
    else:
        yield from check_claim_template(source["volumeClaimTemplate"], f"{path}.volumeClaimTemplate")


def _check_image(source: Body, path: str) -> Iterator[FieldError]:
    if not source.get("reference"):
        yield required(f"{path}.reference")
    yield from check_pull_policy(source.get("pullPolicy", ""), f"{path}.pullPolicy")


def _check_projected(source: Body, path: str) -> Iterator[FieldError]:
    yield from _check_mode(source, "defaultMode", path)
    seen = set[str]()
    for index, part in enumerate(source.get("sources") or ()):
        yield from _check_projection(part, seen, path, f"{path}.sources[{index}]")


def _check_projection(part: Body, seen: set[str], path: str, here: str) -> Iterator[FieldError]:
    given = 0
    for kind in ("secret", "configMap"):
        if kind in part:
            given += 1
            yield from _check_named(part[kind], f"{here}.{kind}")
            for index, item in enumerate(part[kind].get("items", ())):
                yield from _check_item(item, f"{here}.{kind}.items[{index}]")
                yield from _check_unseen(item, part[kind].get("name", ""), seen, path)
    if "downwardAPI" in part:
        given += 1
        for item in part["downwardAPI"].get("items", ()):
            yield from _check_downward_file(item, f"{here}.downwardAPI")
            yield from _check_unseen(item, item.get("path", ""), seen, path)
    if "serviceAccountToken" in part:
        given += 1
        yield from _check_token(part["serviceAccountToken"], path, f"{here}.serviceAccountToken")
    if given > 1:
        yield forbidden(here, "may not specify more than 1 volume type per source")


def _check_unseen(item: Body, name: str, seen: set[str], path: str) -> Iterator[FieldError]:
    where = item.get("path", "")
    if where and where in seen:
        yield invalid(path, name, "conflicting duplicate paths")
    seen.add(where)


def _check_token(token: Body, path: str, here: str) -> Iterator[FieldError]:
    seconds = token.get("expirationSeconds", 0)
    if seconds < SHORTEST_TOKEN:
        why = "may not specify a duration less than 10 minutes"
        yield invalid(f"{here}.expirationSeconds", seconds, why)
    if seconds > LONGEST_TOKEN:
        why = "may not specify a duration larger than 2^32 seconds"
        yield invalid(f"{here}.expirationSeconds", seconds, why)
    if not token.get("path"):
        yield required(f"{path}.path")
    yield from check_unreserved(token.get("path", ""), f"{path}.path")


def _check_named(source: Body, path: str) -> Iterator[FieldError]:
    if not source.get("name"):
        yield required(f"{path}.name")


def _check_items(source: Body, path: str) -> Iterator[FieldError]:
    for index, item in enumerate(source.get("items", ())):
        yield from _check_item(item, f"{path}.items[{index}]")


def _check_item(item: Body, path: str) -> Iterator[FieldError]:
    if not item.get("key"):
        yield required(f"{path}.key")
    if not item.get("path"):
        yield required(f"{path}.path")
    yield from check_unreserved(item.get("path", ""), f"{path}.path")
    yield from _check_mode(item, "mode", path)


def _check_downward_file(item: Body, path: str) -> Iterator[FieldError]:
    if not item.get("path"):
        yield required(f"{path}.path")
    yield from check_unreserved(item.get("path", ""), f"{path}.path")
    if "fieldRef" in item:
        yield from check_pod_field(item["fieldRef"], OF_PODS_IN_FILES, f"{path}.fieldRef")
        if "resourceFieldRef" in item:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid(path, "resource", why)
    elif "resourceFieldRef" in item:
        yield from check_container_field(item["resourceFieldRef"], f"{path}.resourceFieldRef", in_file=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _check_mode(item, "mode", path)


def _check_mode(source: Body, name: str, path: str) -> Iterator[FieldError]:
    mode = source.get(name, 0)
    if not 0 <= mode <= LARGEST_MODE:
        why = "must be a number between 0 and 0777 (octal), both inclusive"
        yield invalid(f"{path}.{name}", mode, why)


def _unchecked(source: Body, path: str) -> Iterator[FieldError]:
    return iter(())


SOURCES: dict[str, SourceCheck] = {
    "emptyDir": _check_empty_dir,
    "hostPath": check_host_path,
    "gitRepo": _unchecked,
    "gcePersistentDisk": _unchecked,
    "awsElasticBlockStore": _unchecked,
    "secret": _check_secret,
    "nfs": check_nfs,
    "iscsi": _unchecked,
    "glusterfs": _unchecked,
    "flocker": _unchecked,
    "persistentVolumeClaim": _check_claim,
    "rbd": _unchecked,
    "cinder": _unchecked,
    "cephfs": _unchecked,
    "quobyte": _unchecked,
    "downwardAPI": _check_downward,
    "fc": _unchecked,
    "flexVolume": _unchecked,
    "configMap": _check_config_map,
    "azureFile": _unchecked,
    "vsphereVolume": _unchecked,
    "photonPersistentDisk": _unchecked,
    "portworxVolume": _unchecked,
    "azureDisk": _unchecked,
    "storageos": _unchecked,
    "projected": _check_projected,
    "scaleIO": _unchecked,
    "csi": _check_csi,
    "ephemeral": _check_ephemeral,
    "image": _check_image,
}
"""In the order of the server. Sources that nobody has in a sandbox are taken as they are."""
