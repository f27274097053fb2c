"""Traces for OpenTelemetry: a span for each cycle, and one for each group from its arrival to its seats.

An extra: nothing here is imported unless traces are asked for. Spans go out from a thread of the exporter.
"""

import time
from dataclasses import dataclass, field

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Link, SpanContext, Status, StatusCode

from maitred import __version__
from maitred.cluster.snapshot import Snapshot
from maitred.controllers.scheduling.binding import Order
from maitred.explain.verdicts import head_of
from maitred.model.plan import GroupVerdict, Plan

NANOSECONDS = 10**9
MOST_WAITING = 10_000
"""Groups whose wait is remembered. Of more than that, the others are not traced."""
MOST_CHANGES = 64
"""Of one group that are told, the last ones."""
PATH = "/v1/traces"


@dataclass(slots=True)
class TracedWait:
    since: int
    head: str = ""
    changes: list[tuple[int, str, str]] = field(default_factory=list)
    """When, and the verdict then, in short and in words."""
    cycle: SpanContext | None = None


class Tracing:
    def __init__(self, exporter: SpanExporter, scheduler: str | None) -> None:
        resource = Resource.create({"service.name": scheduler or "maitred", "service.version": __version__})
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("maitred", __version__)
        self._waits: dict[str, TracedWait] = {}

    def cycle(self, plan: Plan, snapshot: Snapshot, seconds: float) -> None:
        """It has just ended, and took so long."""
        ended = time.time_ns()
        span = self._tracer.start_span(
            "cycle",
            start_time=ended - int(seconds * NANOSECONDS),
            attributes={
                "maitred.nodes": len(snapshot.nodes.names),
                "maitred.groups": len(plan.decisions),
                "maitred.binds": len(plan.binds),
                "maitred.evictions": len(plan.evictions),
                "maitred.search_exhausted": plan.search_exhausted,
            },
        )
        span.end(ended)
        self._note(plan, snapshot, ended, span.get_span_context())

    def seated(self, order: Order) -> None:
        """The binds of a group have come to their end."""
        wait = self._waits.pop(order.group, None)
        if wait is None:
            return
        span = self._tracer.start_span(
            f"seat {order.group}",
            start_time=wait.since,
            links=[Link(wait.cycle)] if wait.cycle is not None else [],
            attributes={
                "maitred.group": order.group,
                "maitred.members": order.verdict.members,
                "maitred.quorum": order.verdict.quorum,
                "maitred.bound": order.bound,
                **{f"maitred.domain.{level}": name for level, name in order.verdict.domains.items()},
            },
        )
        for at, head, words in wait.changes:
            span.add_event(head, {"maitred.blockers": words}, at)
        if order.refused:
            bind, refusal = order.refused[0]
            span.set_status(Status(StatusCode.ERROR, f"{bind.pod} to {bind.node}: {refusal.why}"))
        span.end()

    def close(self) -> None:
        self._provider.shutdown()

    def _note(self, plan: Plan, snapshot: Snapshot, now: int, cycle: SpanContext) -> None:
        created = {view.group.key: view.arrived for view in snapshot.groups}
        if len(self._waits) > MOST_WAITING // 2:
            self._waits = {group: wait for group, wait in self._waits.items() if group in created}
        for verdict in plan.decisions:
            wait = self._waits.get(verdict.group)
            if wait is None:
                if len(self._waits) >= MOST_WAITING:
                    continue
                since = min(now, int(created.get(verdict.group, 0) * NANOSECONDS) or now)
                wait = self._waits[verdict.group] = TracedWait(since)
            wait.cycle = cycle
            if (head := head_of(verdict)) != wait.head:
                wait.head = head
                wait.changes = [*wait.changes[1 - MOST_CHANGES :], (now, head, blockers_of(verdict))]


def blockers_of(verdict: GroupVerdict) -> str:
    return "; ".join(f"{blocker.category}: {blocker.message}" for blocker in verdict.blockers)


def tracing_to(endpoint: str, scheduler: str | None) -> Tracing:
    """`endpoint`: where a collector takes OTLP over HTTP, such as http://127.0.0.1:4318."""
    return Tracing(OTLPSpanExporter(endpoint=endpoint.rstrip("/").removesuffix(PATH) + PATH), scheduler)
