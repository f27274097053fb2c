"""What maitred must remember about others' objects, kept where no tenant can write: in its own namespace.

A record is a ConfigMap with the label `maitred.dev/record`, whose value is the kind of record. Its name is
made of the kind and of the UID of the object that it is about, so there is one of each kind for each object,
and an object of the same name that comes later has none. What is in it is one text, and means what whoever
keeps records of that kind makes of it.
"""

import logging
from collections.abc import Callable

from maitred.kube import bodies
from maitred.kube.client import Client
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.reflector import Reflector, Sink
from maitred.kube.resources import CONFIG_MAPS, NAMESPACES
from maitred.kube.wire import ConfigMap
from maitred.kube.writes import Writer

log = logging.getLogger(__name__)

RECORD = "maitred.dev/record"
CONTENT = "record"
"""The entry of the ConfigMap that holds the text."""
ATTEMPTS = 4


class Records:
    """The records of one kind."""

    def __init__(self, writer: Writer, namespace: str, kind: str) -> None:
        self.namespace = namespace
        self.kind = kind
        self._writer = writer

    def reflector(self, client: Client, sink: Sink[ConfigMap]) -> Reflector[ConfigMap]:
        return reflector(client, self.namespace, self.kind, sink)

    def name(self, uid: str) -> str:
        return f"maitred-{self.kind}-{uid}"

    async def keep(self, uid: str, text: str) -> Done | Refused | Unknown:
        """In the place of an earlier record about the same object, which is out of date by now."""
        labels = labels_of(self.kind)
        body = bodies.config_map(self.name(uid), labels, {CONTENT: text})
        for _ in range(ATTEMPTS):
            outcome = await self._writer.create(CONFIG_MAPS, self.namespace, body)
            if not isinstance(outcome, Refused):
                return outcome
            if outcome.why is RefusalReason.TAKEN:
                prepared = await self.drop(uid)
            elif outcome.why is RefusalReason.GONE:
                prepared = await self._make_namespace()
            else:
                return outcome
            if not isinstance(prepared, Done):
                return prepared
        return Unknown(f"record {self.namespace}/{self.name(uid)}: another writer keeps changing it")

    async def drop(self, uid: str) -> Done | Refused | Unknown:
        return await self._writer.delete(CONFIG_MAPS, self.namespace, self.name(uid))

    async def _make_namespace(self) -> Done | Refused | Unknown:
        return await make_namespace(self._writer, self.namespace)


def reflector(client: Client, namespace: str, kind: str, sink: Sink[ConfigMap]) -> Reflector[ConfigMap]:
    """Of the records of one kind."""
    selector = {"labelSelector": f"{RECORD}={kind}"}
    return Reflector(client, CONFIG_MAPS, ConfigMap, sink, namespace=namespace, selector=selector)


def labels_of(kind: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": "maitred", RECORD: kind}


async def make_namespace(writer: Writer, namespace: str) -> Done | Refused | Unknown:
    """In a cluster it is there, since maitred runs in it. Beside a cluster it may not be."""
    outcome = await writer.create(NAMESPACES, "", bodies.namespace(namespace))
    taken = isinstance(outcome, Refused) and outcome.why is RefusalReason.TAKEN
    if isinstance(outcome, Done):
        log.info("created namespace %s, in which maitred keeps its records", namespace)
    return Done() if taken else outcome


class TextSink:
    """The end of the watch of one kind of records: hands their texts over, by the names of the ConfigMaps."""

    def __init__(
        self, put: Callable[[str, str], None], gone: Callable[[str], None], settled: Callable[[], None]
    ) -> None:
        self._put = put
        self.gone = gone
        self.settled = settled

    def put(self, item: ConfigMap) -> None:
        self._put(f"{item.metadata.namespace}/{item.metadata.name}", item.data.get(CONTENT, ""))
