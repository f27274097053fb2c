"""Traces: a span for each cycle, one for each group from arrival to seats, and a collector gets them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from maitred.cluster.state import ClusterState
from maitred.controllers.scheduling.binding import Order
from maitred.controllers.scheduling.seating import SeatingRecord
from maitred.controllers.scheduling.tracing import Tracing, tracing_to
from maitred.decide import decide
from maitred.kube.outcomes import RefusalReason, Refused
from maitred.model.plan import Plan
from maitred.model.policy import Policy
from tests.cluster.seen import delete, put
from tests.controllers.recording.test_recording import NOON
from tests.oracle.builders import Obj, node, pod

CREATED = "2026-01-31T11:00:00Z"


def waiting(name: str, cpu: str) -> Obj:
    made = pod(name, cpu=cpu)
    made["metadata"]["creationTimestamp"] = CREATED
    return made


def order_of(plan: Plan, group: str) -> Order:
    (verdict,) = [verdict for verdict in plan.groups if verdict.group == group]
    binds = [bind for bind in plan.binds if bind.group == group]
    return Order(verdict, binds, SeatingRecord(NOON, len(binds), 0), 0.0)


def spans_of(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


def decided(state: ClusterState, tracing: Tracing) -> Plan:
    snapshot = state.snapshot()
    plan = decide(snapshot, Policy(), NOON)
    tracing.cycle(plan, snapshot, 0.25)
    return plan


def test_a_group_is_traced_from_its_arrival_over_what_it_waited_for_to_its_seats() -> None:
    exporter = InMemorySpanExporter()
    tracing, state = Tracing(exporter, "maitred"), ClusterState()
    put(state, node("n1", cpu="4"), pod("busy", node="n1", cpu="4"), waiting("a", "2"))
    decided(state, tracing)
    delete(state, pod("busy"))
    order = order_of(decided(state, tracing), "default/a")
    order.bound = 1
    tracing.seated(order)
    tracing.close()
    spans = spans_of(exporter)
    cycle, seat = spans["cycle"], spans["seat default/a"]
    assert cycle.start_time is not None
    assert cycle.end_time is not None
    assert cycle.end_time - cycle.start_time == 250_000_000
    assert cycle.attributes is not None
    assert cycle.attributes["maitred.nodes"] == 1
    assert seat.start_time == (NOON.timestamp() - 3600) * 10**9
    assert [event.name.split(":")[0] for event in seat.events] == ["Waiting", "Scheduled"]
    assert seat.links[0].context.span_id in {
        span.context.span_id for span in exporter.get_finished_spans() if span.context is not None
    }
    assert seat.status.status_code == StatusCode.UNSET


def test_a_bind_that_was_refused_is_an_error() -> None:
    exporter = InMemorySpanExporter()
    tracing, state = Tracing(exporter, None), ClusterState()
    put(state, node("n1", cpu="4"), waiting("a", "2"))
    order = order_of(decided(state, tracing), "default/a")
    order.refused.append((order.binds[0], Refused(RefusalReason.TAKEN, "somebody sits there")))
    tracing.seated(order)
    tracing.close()
    assert spans_of(exporter)["seat default/a"].status.status_code == StatusCode.ERROR


def test_who_is_seated_without_having_been_decided_here_is_not_traced() -> None:
    exporter = InMemorySpanExporter()
    tracing, state = Tracing(exporter, None), ClusterState()
    put(state, node("n1", cpu="4"), waiting("a", "2"))
    order = order_of(decided(state, tracing), "default/a")
    tracing.seated(order)
    tracing.seated(order)
    tracing.close()
    assert len(exporter.get_finished_spans()) == 2


@contextmanager
def collector(received: list[tuple[str, bytes]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_spans_get_to_a_collector() -> None:
    received: list[tuple[str, bytes]] = []
    with collector(received) as endpoint:
        tracing, state = tracing_to(endpoint, "maitred"), ClusterState()
        put(state, node("n1", cpu="4"), waiting("a", "2"))
        decided(state, tracing)
        tracing.close()
    ((path, body),) = received
    assert path == "/v1/traces"
    (resource,) = ExportTraceServiceRequest.FromString(body).resource_spans
    assert [span.name for scope in resource.scope_spans for span in scope.spans] == ["cycle"]
