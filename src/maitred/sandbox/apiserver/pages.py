"""Everything that is no object: discovery, the description of the API, the version."""

import platform
from dataclasses import dataclass

from maitred.sandbox.apiserver import discovery, openapi
from maitred.sandbox.apiserver.forms import ANYTHING, accepted
from maitred.sandbox.apiserver.media import JSON
from maitred.sandbox.apiserver.refusals import not_acceptable
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.served import GroupVersion, Served
from maitred.sandbox.apiserver.store import encode

EMULATED = ("1", "37", "v1.37.1")
"""What clients see, and choose their dialect by."""
UNDESCRIBED = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""The older description of the API, without a single kind in it. It is where kubectl looks for kinds that the
newer one does not have, to say that there are none."""
AGGREGATED = "apidiscovery.k8s.io"
AGGREGATED_VERSIONS = ("v2", "v2beta1")


@dataclass(frozen=True, slots=True)
class TextPage:
    body: bytes
    media: str = JSON
    tag: str = ""


class Pages:
    def __init__(self, served: Served, address: str) -> None:
        self._served = served
        self._address = address
        self._described: tuple[str, dict[str, bytes]] = ("", {})

    def page(self, path: str, accept: str) -> TextPage | None:
        match [part for part in path.split("/") if part]:
            case []:
                return self._plain({"paths": self._paths()})
            case ["version"]:
                return self._plain(version())
            case ["api"]:
                return self._aggregated(accept, [""]) or self._plain(discovery.core_versions(self._address))
            case ["apis"]:
                return self._aggregated(accept, self._served.groups()) or self._plain(
                    discovery.group_list(self._served)
                )
            case ["apis", group]:
                return self._plain(discovery.group(self._served, group))
            case ["api", name]:
                return self._plain(discovery.resource_list(self._served, GroupVersion("", name)))
            case ["apis", group, name]:
                return self._plain(discovery.resource_list(self._served, GroupVersion(group, name)))
            case ["openapi", "v2"]:
                return TextPage(b"", UNDESCRIBED)
            case ["openapi", "v3", *rest]:
                return self._description(rest)
        return None

    def _plain(self, body: Body | None) -> TextPage | None:
        return None if body is None else TextPage(encode(body))

    def _paths(self) -> list[str]:
        groups = [f"/apis/{name}" for name in self._served.groups()]
        versions = [f"/apis/{v}" for name in self._served.groups() for v in self._served.versions(name)]
        fixed = ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]
        return sorted([*fixed, *groups, *versions])

    def _aggregated(self, accept: str, groups: list[str]) -> TextPage | None:
        """None where the client would rather have it plain."""
        for media in accepted(accept):
            if media.type not in ANYTHING:
                continue
            name = media.params.get("v", "")
            if media.params.get("g") == AGGREGATED and name in AGGREGATED_VERSIONS:
                body = discovery.aggregated(self._served, groups, f"{AGGREGATED}/{name}")
                kind = f"{JSON};g={AGGREGATED};v={name};as=APIGroupDiscoveryList"
                return TextPage(encode(body), kind, self._served.digest())
            if "as" not in media.params:
                return None
        raise not_acceptable((JSON,))

    def _description(self, parts: list[str]) -> TextPage | None:
        documents = self._documents()
        if not parts:
            return self._plain(openapi.index(documents))
        found = documents.get("/".join(parts))
        return TextPage(found) if found is not None else None

    def _documents(self) -> dict[str, bytes]:
        """Made when they are first asked for, and again when other kinds are served."""
        tag = self._served.digest()
        if self._described[0] != tag:
            self._described = tag, {place(version): self._document(version) for version in self._versions()}
        return self._described[1]

    def _document(self, version: GroupVersion) -> bytes:
        return encode(openapi.document(self._served.of(version), ".".join(EMULATED[:2])))

    def _versions(self) -> list[GroupVersion]:
        return [version for group in ["", *self._served.groups()] for version in self._served.versions(group)]


def place(version: GroupVersion) -> str:
    return f"apis/{version}" if version.group else f"api/{version}"


def version() -> Body:
    major, minor, full = EMULATED
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": full,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"none (maitred sandbox, Python {platform.python_version()})",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
