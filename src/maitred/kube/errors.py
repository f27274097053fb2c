"""What can go wrong between us and an API server. Every message is one line that says what to do."""


class KubeError(Exception):
    """Base of everything that this package raises on purpose.

    Messages repeat what servers, plugins and files say, so line breaks and what a terminal would obey are
    taken out here, for all of them.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join("".join(c if c.isprintable() else " " for c in message).split()))


class ConfigError(KubeError):
    """The connection cannot even be attempted: no kubeconfig, or something in it is wrong."""


class Unreachable(KubeError):
    """No answer, or half of one. A write may or may not have been executed; only a read can tell."""


class NoCredentials(Unreachable):
    """We could not say who we are, so nothing was sent. Another attempt may go better."""


class ApiError(KubeError):
    """The API server answered, and the answer is no."""

    def __init__(
        self,
        verb: str,
        path: str,
        status: int,
        reason: str,
        message: str,
        *,
        retry_after: float | None = None,
        hint: str = "",
    ) -> None:
        told = f"{verb} {path}: {status} {reason}: {message}".rstrip(": \r\n")
        super().__init__(f"{told}; {hint}" if hint else told)
        self.verb = verb
        self.path = path
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after

    @property
    def is_gone(self) -> bool:
        """The object, or the whole resource, is not there."""
        return self.status == 404

    @property
    def is_conflict(self) -> bool:
        return self.status == 409

    @property
    def is_expired(self) -> bool:
        """The resource version is too old to go on from (410), or too new for a server that was restored."""
        return self.status == 410 or (self.status == 504 and "Too large resource version" in self.message)

    @property
    def is_passing(self) -> bool:
        """Another attempt may go better: the server is busy, or starting, or not itself."""
        return self.status == 429 or (self.status >= 500 and self.status != 501)

    @property
    def is_final(self) -> bool:
        """Neither time, nor new credentials, nor a look at what is there by now will change it."""
        return not self.is_passing and self.status not in (401, 408, 409)


def first_of(error: BaseException) -> BaseException:
    """What went wrong, out of the groups that tasks wrap it in."""
    return first_of(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
