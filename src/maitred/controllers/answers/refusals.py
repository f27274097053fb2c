"""How the service says no: a status, one word, and one line for people."""

from maitred.kube.answers import Reason
from maitred.model.plan import Record
from maitred.model.policy import API_VERSION

STATUSES = {
    Reason.BAD_QUESTION: 400,
    Reason.NO_TOKEN: 401,
    Reason.TOKEN_REFUSED: 401,
    Reason.NOT_YOURS: 403,
    Reason.UNKNOWN_NAME: 404,
    Reason.NO_LEDGER: 404,
    Reason.NO_SUCH_PATH: 404,
    Reason.WRONG_METHOD: 405,
    Reason.TOO_LARGE: 413,
    Reason.BUSY: 429,
    Reason.FAILED: 500,
    Reason.NOT_LEADING: 503,
    Reason.NO_REVIEW: 503,
    Reason.TOO_LONG: 504,
}
RETRY_SECONDS = {Reason.BUSY: 1, Reason.NOT_LEADING: 1, Reason.NO_REVIEW: 2}


class Refusal(Record, frozen=True):
    """In the form in which the API server itself refuses, so that its clients understand it."""

    message: str
    reason: str
    code: int
    api_version: str = API_VERSION
    kind: str = "Status"
    status: str = "Failure"


class RefusedError(Exception):
    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.refusal = Refusal(message, reason.value, STATUSES[reason])

    @property
    def retry_after(self) -> int | None:
        return RETRY_SECONDS.get(self.reason)
