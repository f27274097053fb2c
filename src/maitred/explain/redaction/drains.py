"""Requests that pods move: nodes are everybody's, and who moves, and for whom, only counts."""

from maitred.explain.redaction.aliases import Aliases
from maitred.explain.redaction.reports import ReportFields
from maitred.model.drain import Drain, DrainMove, DrainProgress, DrainRequest, Making, MovedGroup


class DrainFields:
    def __init__(self, names: Aliases, reports: ReportFields) -> None:
        self._names, self._reports = names, reports

    def drain(self, drain: Drain) -> Drain:
        progress = drain.progress
        moves = tuple(map(self._move, progress.moves))
        told = DrainProgress(moves=moves, done=progress.done, left=progress.left)
        return Drain(name=drain.name, request=self._request(drain.request), progress=told)

    def _request(self, request: DrainRequest) -> DrainRequest:
        return DrainRequest(
            by=request.by,
            asked=request.asked,
            nodes=request.nodes,
            label=request.label,
            value=request.value,
            cordon=request.cordon,
            force=request.force,
            room=tuple(map(self._making, request.room)),
        )

    def _making(self, making: Making) -> Making:
        return Making(self._names.key(making.group), tuple(map(self._names.key, making.units)))

    def _move(self, move: DrainMove) -> DrainMove:
        if self._names.is_own(move.unit) and all(self._names.is_own(group.key) for group in move.groups):
            return move
        return DrainMove(
            unit=self._names.key(move.unit),
            begun=move.begun,
            pods=move.pods,
            groups=tuple(
                MovedGroup(self._names.key(group.key), self._reports.source(group.source))
                for group in move.groups
            ),
            held_until=move.held_until,
            work_lost_device_hours=move.work_lost_device_hours,
            ended=move.ended,
            how=move.how,
        )
