"""The service account of the pod that we run in."""

import os
import ssl
from pathlib import Path

from maitred.kube import files, tls
from maitred.kube.connection import Connection
from maitred.kube.connection_errors import Settings
from maitred.kube.credentials import TokenFile
from maitred.kube.errors import ConfigError
from maitred.kube.proxies import proxy_from_environment

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
HOST, PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


def is_in_cluster() -> bool:
    return bool(os.environ.get(HOST)) and (ACCOUNT / "token").is_file()


def in_cluster() -> Connection:
    host, port = os.environ[HOST], os.environ.get(PORT) or "443"
    server = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    proxy, proxy_setting = proxy_from_environment(server)
    token = str(ACCOUNT / "token")
    return Connection(
        server,
        TokenFile(token, {}),
        ssl=trusting_account(),
        proxy=proxy,
        namespace=account_file("namespace").decode(errors="replace").strip(),
        origin="the service account of this pod",
        in_cluster=True,
        settings=Settings(
            server=f"${HOST}", authority=str(ACCOUNT / "ca.crt"), proxy=proxy_setting, user=token
        ),
    )


def trusting_account() -> ssl.SSLContext:
    try:
        return tls.trusting(account_file("ca.crt"))
    except ValueError as error:
        raise ConfigError(f"{ACCOUNT / 'ca.crt'}: {error}; check the ConfigMap kube-root-ca.crt") from None


def account_file(name: str) -> bytes:
    try:
        return files.content(str(ACCOUNT / name))
    except OSError as error:
        raise ConfigError(
            f"{ACCOUNT / name}: {files.why(error)}; the service account of this pod is not completely mounted"
        ) from None
