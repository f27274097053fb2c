"""One record that is changed in place again and again, and never over what somebody else has written.

Records about others' objects are written once, see `records`. This one grows and shrinks, so every write
names the version that it was made from: who has not seen the latest one is refused, and reads it first.
"""

from dataclasses import dataclass

from maitred.kube import bodies
from maitred.kube.client import JSON, Client, decoder
from maitred.kube.errors import ApiError, KubeError
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.records import CONTENT, labels_of, make_namespace, reflector
from maitred.kube.reflector import Reflector, Sink
from maitred.kube.resources import CONFIG_MAPS
from maitred.kube.wire import ConfigMap
from maitred.kube.writes import Writer, refusal


@dataclass(frozen=True, slots=True)
class RecordVersion:
    """The record as the server has it; no version while there is none."""

    version: str = ""
    text: str = ""

    def is_older_than(self, other: "RecordVersion") -> bool:
        """Versions are opaque, but they are numbers that grow, on every server that there is."""
        mine, its = self.version, other.version
        return mine.isdecimal() and its.isdecimal() and int(mine) < int(its)


NO_RECORD = RecordVersion()


class SharedRecord:
    def __init__(self, writer: Writer, namespace: str, kind: str) -> None:
        self.namespace, self.kind, self.name = namespace, kind, f"maitred-{kind}"
        self._writer = writer
        self._path = CONFIG_MAPS.path(namespace, self.name)

    def reflector(self, client: Client, sink: Sink[ConfigMap]) -> Reflector[ConfigMap]:
        return reflector(client, self.namespace, self.kind, sink)

    def is_this(self, found: ConfigMap) -> bool:
        return found.metadata.name == self.name

    async def read(self) -> RecordVersion | Unknown:
        """As it is now, whatever a watch has told so far."""
        try:
            found = await self._writer.read(self._path, ConfigMap)
        except KubeError as error:
            return Unknown(str(error))
        return NO_RECORD if found is None else version_of(found)

    async def write(self, text: str, before: RecordVersion) -> RecordVersion | Refused | Unknown:
        """In the place of `before`. Stale: it is another one by now."""
        body = bodies.config_map(self.name, labels_of(self.kind), {CONTENT: text}, before.version)
        outcome = await self._send(body, before)
        is_gone = isinstance(outcome, Refused) and outcome.why is RefusalReason.GONE
        if not before.version and is_gone:
            made = await make_namespace(self._writer, self.namespace)
            outcome = await self._send(body, before) if isinstance(made, Done) else made
        elif is_gone:
            return Refused(RefusalReason.STALE, f"{self.namespace}/{self.name} was deleted")
        if isinstance(outcome, bytes):
            return version_of(decoder(ConfigMap).decode(outcome))
        assert not isinstance(outcome, Done)
        return outcome

    async def _send(self, body: bytes, before: RecordVersion) -> bytes | Done | Refused | Unknown:
        if before.version:
            return await self._writer.send("PUT", self._path, body, judge, JSON)
        return await self._writer.send("POST", CONFIG_MAPS.path(self.namespace), body, judge, JSON)


def version_of(found: ConfigMap) -> RecordVersion:
    return RecordVersion(found.metadata.resource_version, found.data.get(CONTENT, ""))


async def judge(error: KubeError) -> Refused | None:
    stale = isinstance(error, ApiError) and error.is_conflict
    return Refused(RefusalReason.STALE, str(error)) if stale else refusal(error)
