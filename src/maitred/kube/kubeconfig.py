"""kubeconfig files: what they say, several merged into one as kubectl does it, and one context chosen."""

import base64
import binascii
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from maitred.kube import files
from maitred.kube.errors import ConfigError
from maitred.model.manifest import InputError, read_settings
from maitred.model.meta import Lean

T = TypeVar("T")
MOST_NAMES = 10


class Extension(Lean, frozen=True):
    name: str = ""
    extension: Any = None


class KubeCluster(Lean, frozen=True, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: tuple[Extension, ...] = ()


class Variable(Lean, frozen=True):
    name: str
    value: str = ""


class Exec(Lean, frozen=True):
    api_version: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[Variable, ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


class KubeUser(Lean, frozen=True, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    username: str = ""
    password: str = ""
    exec: Exec | None = None
    auth_provider: dict[str, Any] | None = None
    as_user: str = msgspec.field(name="as", default="")
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_user_extra: dict[str, tuple[str, ...]] = {}


class KubeContext(Lean, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = "default"


class NamedCluster(Lean, frozen=True):
    name: str
    cluster: KubeCluster = KubeCluster()


class NamedUser(Lean, frozen=True):
    name: str
    user: KubeUser = KubeUser()


class NamedContext(Lean, frozen=True):
    name: str
    context: KubeContext = KubeContext()


class Kubeconfig(Lean, frozen=True, rename="kebab"):
    clusters: tuple[NamedCluster, ...] = ()
    users: tuple[NamedUser, ...] = ()
    contexts: tuple[NamedContext, ...] = ()
    current_context: str = ""


@dataclass(frozen=True, slots=True)
class ConfigEntry(Generic[T]):
    """A cluster, user or context, and where it stands."""

    kind: str
    name: str
    file: str
    value: T

    def setting(self, name: str = "") -> str:
        """What to call one of its fields, or all of it, in a message."""
        return f"{name} of {self.kind} {self.name} in {self.file}".removeprefix(" of ")

    def wrong(self, field: str, what: object) -> ConfigError:
        return ConfigError(f"{self.file}: {self.kind} {self.name}: {field}: {what}")

    def path(self, text: str) -> str:
        return files.beside(self.file, text)

    def bytes_of(self, field: str, path: str, data: str) -> bytes | None:
        """What is given in base64 as `field`-data, or else by a path as `field`."""
        if data:
            try:
                return base64.b64decode("".join(data.split()), validate=True)
            except (binascii.Error, ValueError):
                raise self.wrong(f"{field}-data", "not base64; was it cut off?") from None
        return self.file_content(field, path) if path else None

    def file_content(self, field: str, path: str) -> bytes:
        try:
            return files.content(self.path(path))
        except OSError as error:
            raise self.wrong(field, f"{self.path(path)}: {files.why(error)}") from None


@dataclass(frozen=True, slots=True)
class Merged:
    """All that the files say; the first that defines a name is right about it."""

    files: Sequence[str]
    clusters: dict[str, ConfigEntry[KubeCluster]] = field(default_factory=dict)
    users: dict[str, ConfigEntry[KubeUser]] = field(default_factory=dict)
    contexts: dict[str, ConfigEntry[KubeContext]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return ", ".join(self.files)


@dataclass(frozen=True, slots=True)
class Chosen:
    context: ConfigEntry[KubeContext]
    cluster: ConfigEntry[KubeCluster]
    user: ConfigEntry[KubeUser]


def choose(paths: Sequence[str], context: str | None) -> Chosen:
    """The context of that name, or the current one, with the cluster and the user that it names."""
    merged, current = Merged(paths), ""
    for path in paths:
        config = read(path)
        current = current or config.current_context
        add(merged.clusters, (ConfigEntry("cluster", c.name, path, c.cluster) for c in config.clusters))
        add(merged.users, (ConfigEntry("user", u.name, path, u.user) for u in config.users))
        add(merged.contexts, (ConfigEntry("context", c.name, path, c.context) for c in config.contexts))
    if not merged.contexts:
        raise ConfigError(f"{merged.title}: it has no context; is it a kubeconfig?")
    name = context if context is not None else current
    if not name:
        raise ConfigError(
            f"{merged.title}: current-context is not set; choose with --context, {listed(merged.contexts)}"
        )
    if name not in merged.contexts:
        where = "there is no" if context is not None else "current-context: there is no"
        raise ConfigError(f"{merged.title}: {where} context {name!r}; {suggestion(name, merged.contexts)}")
    chosen = merged.contexts[name]
    return Chosen(chosen, cluster_of(chosen, merged), user_of(chosen, merged))


def cluster_of(context: ConfigEntry[KubeContext], merged: Merged) -> ConfigEntry[KubeCluster]:
    name = context.value.cluster
    if name not in merged.clusters:
        raise context.wrong("cluster", f"there is no cluster {name!r}; {suggestion(name, merged.clusters)}")
    return merged.clusters[name]


def user_of(context: ConfigEntry[KubeContext], merged: Merged) -> ConfigEntry[KubeUser]:
    name = context.value.user
    if not name:
        return ConfigEntry("context", context.name, context.file, KubeUser())
    if name not in merged.users:
        raise context.wrong("user", f"there is no user {name!r}; {suggestion(name, merged.users)}")
    return merged.users[name]


def read(path: str) -> Kubeconfig:
    try:
        return read_settings(files.content(path), path, Kubeconfig)[0]
    except OSError as error:
        raise ConfigError(f"{path}: {files.why(error)}; name a kubeconfig that can be read") from None
    except InputError as error:
        raise ConfigError(f"{error}; correct this kubeconfig") from None


def add(known: dict[str, ConfigEntry[T]], entries: Iterable[ConfigEntry[T]]) -> None:
    for entry in entries:
        known.setdefault(entry.name, entry)


def suggestion(name: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"did you mean {close[0]}?" if close else listed(known)


def listed(known: Mapping[str, object]) -> str:
    names = sorted(known)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"there are: {', '.join(names[:MOST_NAMES])}{more}" if names else "there are none"
