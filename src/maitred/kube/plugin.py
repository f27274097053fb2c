"""Credentials from a program: the exec plugins of a kubeconfig, as cloud providers use them."""

import asyncio
import os
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from maitred.kube import files
from maitred.kube.credentials import token_of, with_token
from maitred.kube.errors import NoCredentials
from maitred.kube.tls import RenewedContext
from maitred.model.meta import Lean, Timestamp

PLUGIN_SECONDS = 60.0
DIALOGUE_SECONDS = 300.0
"""A person who is asked to log in takes longer."""
RETRY_SECONDS = 1.0
"""When the plugin fails, all who waited for it are told so; it is not run once for each of them."""
LARGEST_ANSWER = 2**20
LONGEST_COMPLAINT = 500


class ClusterInfo(Lean, frozen=True, rename="kebab"):
    """What a plugin may be told about the server."""

    server: str
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority_data: bytes = b""
    proxy_url: str = ""
    config: Any = None


class Spec(Lean, frozen=True):
    interactive: bool
    cluster: ClusterInfo | None = None


class CredentialRequest(Lean, frozen=True, omit_defaults=False):
    api_version: str
    spec: Spec
    kind: str = "ExecCredential"


class CredentialStatus(Lean, frozen=True):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: Timestamp | None = None


class CredentialResponse(Lean, frozen=True):
    api_version: str = ""
    kind: str = ""
    status: CredentialStatus | None = None


_ANSWER = msgspec.json.Decoder(CredentialResponse)


@dataclass(frozen=True, slots=True)
class Command:
    program: str
    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    question: CredentialRequest
    setting: str
    """Where the kubeconfig has it, for messages."""
    hint: str = ""

    @property
    def is_dialogue(self) -> bool:
        return self.question.spec.interactive


class Plugin:
    """Runs the command when there are no credentials, when they expired, and when they were refused."""

    def __init__(self, command: Command, context: RenewedContext | None, others: Mapping[str, str]) -> None:
        self._command = command
        self._context = context
        self._others = others
        self._headers: Mapping[str, str] = others
        self._good_until = 0.0
        self._running = asyncio.Lock()
        self._failure = ""
        self._failed_at = -RETRY_SECONDS

    async def headers(self) -> Mapping[str, str]:
        if time.time() >= self._good_until:
            async with self._running:
                if time.time() >= self._good_until:
                    await self._renew()
        return self._headers

    def invalidate(self) -> None:
        self._good_until = 0.0

    async def _renew(self) -> None:
        if time.monotonic() < self._failed_at + RETRY_SECONDS:
            raise NoCredentials(self._failure)
        try:
            self._take(await run(self._command))
        except (OSError, ValueError) as error:
            what = files.why(error) if isinstance(error, OSError) else str(error)
            self._failure = f"{self._command.setting}: {self._command.program}: {what}"
            if self._command.hint:
                self._failure += f"; {self._command.hint}"
            self._failed_at = time.monotonic()
            raise NoCredentials(self._failure) from None

    def _take(self, answer: CredentialResponse) -> None:
        status = answer.status
        if answer.api_version != self._command.question.api_version or answer.kind != "ExecCredential":
            wanted = f"ExecCredential of {self._command.question.api_version}"
            raise ValueError(f"the plugin did not print an {wanted}")
        if status is None or not (status.token or status.client_certificate_data):
            raise ValueError("the plugin gave neither a token nor a certificate")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise ValueError("the plugin gave only one of clientCertificateData and clientKeyData")
        headers = with_token(self._others, token_of(status.token.encode())) if status.token else self._others
        if self._context and status.client_certificate_data and status.client_key_data:
            self._context.show(status.client_certificate_data.encode(), status.client_key_data.encode())
        self._headers = headers
        expires = status.expiration_timestamp
        self._good_until = expires.timestamp() if expires else float("inf")


async def run(command: Command) -> CredentialResponse:
    """What the plugin answers. Raises OSError if it cannot be started, ValueError if it does not do well."""
    dialogue = command.is_dialogue
    asked = {"KUBERNETES_EXEC_INFO": msgspec.json.encode(command.question).decode()}
    process = await asyncio.create_subprocess_exec(
        command.program,
        *command.arguments,
        env={**os.environ, **command.variables, **asked},
        stdin=None if dialogue else DEVNULL,
        stdout=PIPE,
        stderr=None if dialogue else PIPE,
        start_new_session=not dialogue,
    )
    try:
        printed, complaint = await ended(process, DIALOGUE_SECONDS if dialogue else PLUGIN_SECONDS)
    except BaseException:
        kill(process, whole_session=not dialogue)
        await process.wait()
        raise
    if process.returncode != 0:
        raise ValueError(f"the plugin ended with status {process.returncode}{last_line(complaint)}")
    try:
        return _ANSWER.decode(printed)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"the plugin did not print an ExecCredential: {error}") from None


async def ended(process: Process, seconds: float) -> tuple[bytes, bytes]:
    """What a process printed, once it has ended."""
    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            printed = group.create_task(last(process.stdout, LARGEST_ANSWER))
            complaint = group.create_task(last(process.stderr, LONGEST_COMPLAINT))
            await process.wait()
    except TimeoutError:
        raise ValueError(f"the plugin did not end within {seconds:g} s") from None
    return printed.result(), complaint.result()


def kill(process: Process, whole_session: bool) -> None:
    with suppress(ProcessLookupError):
        if whole_session:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


async def last(stream: asyncio.StreamReader | None, size: int) -> bytes:
    """All that is printed there; of too much, the end."""
    kept = b""
    while stream is not None and (chunk := await stream.read(2**16)):
        kept = (kept + chunk)[-size:]
    return kept


def last_line(printed: bytes) -> str:
    lines = printed.decode(errors="replace").strip().split("\n")
    return f": {lines[-1]}" if lines[-1] else ""
