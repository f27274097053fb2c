"""From what the user has, a kubeconfig or a service account, to a connection."""

import os
import shutil
import ssl
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

from maitred.kube import tls
from maitred.kube.connection import Connection, Credentials
from maitred.kube.connection_errors import Settings
from maitred.kube.credentials import (
    Fixed,
    TokenFile,
    impersonation,
    token_of,
    with_password,
    with_token,
)
from maitred.kube.errors import ConfigError
from maitred.kube.incluster import in_cluster, is_in_cluster
from maitred.kube.kubeconfig import Chosen, ConfigEntry, Exec, KubeCluster, KubeUser, choose
from maitred.kube.plugin import ClusterInfo, Command, CredentialRequest, Plugin, Spec
from maitred.kube.proxies import proxy_from_environment, proxy_of
from maitred.kube.tls import RenewedContext

HOME = "~/.kube/config"
PLUGIN_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
PLUGIN_EXTENSION = "client.authentication.k8s.io/exec"
INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")


def connect(kubeconfig: str | None = None, context: str | None = None) -> Connection:
    """The connection that the user asks for, looked for where kubectl looks. Raises ConfigError."""
    if kubeconfig is not None:
        return from_kubeconfig([kubeconfig], context)
    listed = [path for path in os.environ.get("KUBECONFIG", "").split(os.pathsep) if path]
    if listed:
        present = [path for path in listed if os.path.exists(path)]
        if not present:
            raise ConfigError(f"$KUBECONFIG: no such file: {', '.join(listed)}; correct it or unset it")
        return from_kubeconfig(present, context)
    home = os.path.expanduser(HOME)
    if os.path.exists(home):
        return from_kubeconfig([home], context)
    if not is_in_cluster():
        raise ConfigError(
            f"no cluster to connect to: $KUBECONFIG is not set, there is no {home}, and this is not a pod "
            "with a service account; start a sandbox with `maitred up`, or name a kubeconfig with "
            "--kubeconfig"
        )
    if context is not None:
        raise ConfigError(
            f"--context {context}: there is no kubeconfig, only the service account of this pod"
        )
    return in_cluster()


def from_kubeconfig(paths: list[str], context: str | None) -> Connection:
    chosen = choose(paths, context)
    cluster, user = chosen.cluster, chosen.user
    server = server_of(cluster)
    authority = cluster.bytes_of(
        "certificate-authority", cluster.value.certificate_authority, cluster.value.certificate_authority_data
    )
    proxy, proxy_setting = proxy_for(cluster, server)
    secure = RenewedContext(lambda: context_of(chosen, authority)) if server.startswith("https:") else None
    return Connection(
        server,
        credentials_of(user, cluster, authority, secure),
        ssl=secure,
        tls_server_name=cluster.value.tls_server_name or None,
        proxy=proxy,
        namespace=chosen.context.value.namespace or "default",
        origin=chosen.context.setting(),
        settings=Settings(
            server=cluster.setting("server"),
            authority=cluster.setting("certificate-authority"),
            tls_server_name=cluster.setting("tls-server-name"),
            proxy=proxy_setting,
            user=user.setting(),
        ),
    )


def server_of(cluster: ConfigEntry[KubeCluster]) -> str:
    server = cluster.value.server.rstrip("/")
    try:
        parts = urlsplit(server)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise cluster.wrong("server", f"{server!r} is not a URL such as https://10.0.0.1:6443")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise cluster.wrong("server", "only a scheme, a host, a port and a path are allowed")
    return server


def proxy_for(cluster: ConfigEntry[KubeCluster], server: str) -> tuple[str | None, str]:
    """A proxy, and the setting that asks for it."""
    if not cluster.value.proxy_url:
        return proxy_from_environment(server)
    try:
        return proxy_of(cluster.value.proxy_url), cluster.setting("proxy-url")
    except ValueError as error:
        raise cluster.wrong("proxy-url", error) from None


def context_of(chosen: Chosen, authority: bytes | None) -> ssl.SSLContext:
    context = trust(chosen.cluster, authority)
    show_certificate(chosen.user, context)
    return context


def trust(cluster: ConfigEntry[KubeCluster], authority: bytes | None) -> ssl.SSLContext:
    if cluster.value.insecure_skip_tls_verify:
        if authority is not None:
            raise cluster.wrong("insecure-skip-tls-verify", "contradicts certificate-authority; remove one")
        return tls.trusting_anyone()
    try:
        return tls.trusting(authority)
    except ValueError as error:
        raise cluster.wrong("certificate-authority", error) from None


def show_certificate(user: ConfigEntry[KubeUser], context: ssl.SSLContext) -> None:
    value = user.value
    certificate = user.bytes_of("client-certificate", value.client_certificate, value.client_certificate_data)
    key = user.bytes_of("client-key", value.client_key, value.client_key_data)
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        missing = "client-certificate" if certificate is None else "client-key"
        raise user.wrong(missing, "is missing; a certificate and its key come together")
    try:
        tls.show(context, certificate, key)
    except ValueError as error:
        raise user.wrong("client-certificate", error) from None


def credentials_of(
    user: ConfigEntry[KubeUser],
    cluster: ConfigEntry[KubeCluster],
    authority: bytes | None,
    secure: RenewedContext | None,
) -> Credentials:
    """What is written down wins over a plugin, and a file over a token, as in kubectl."""
    value, others = user.value, impersonated(user)
    if (value.token or value.token_file) and value.username:
        raise user.wrong("username", "contradicts token; remove one")
    if value.token_file:
        written_token(user, "tokenFile", user.file_content("tokenFile", value.token_file))
        return TokenFile(user.path(value.token_file), others)
    if value.token:
        return Fixed(with_token(others, written_token(user, "token", value.token.encode())))
    if value.username:
        return Fixed(with_password(others, value.username, value.password))
    if value.auth_provider is not None:
        name = value.auth_provider.get("name", "")
        raise user.wrong("auth-provider", f"{name!r} is no longer supported; use an exec plugin instead")
    if value.exec is not None:
        return Plugin(command_of(user, value.exec, cluster, authority), secure, others)
    return Fixed(others)


def written_token(user: ConfigEntry[KubeUser], field: str, data: bytes) -> str:
    try:
        return token_of(data)
    except ValueError as error:
        raise user.wrong(field, error) from None


def impersonated(user: ConfigEntry[KubeUser]) -> Mapping[str, str]:
    value = user.value
    if not value.as_user and (value.as_uid or value.as_groups or value.as_user_extra):
        raise user.wrong("as", "is required with as-uid, as-groups and as-user-extra")
    headers = impersonation(value.as_user, value.as_uid, value.as_groups, value.as_user_extra)
    for key, text in headers.items():
        if not text.isprintable():
            raise user.wrong("as", f"{key}: has characters that an HTTP header cannot have")
    return headers


def command_of(
    user: ConfigEntry[KubeUser], plugin: Exec, cluster: ConfigEntry[KubeCluster], authority: bytes | None
) -> Command:
    if plugin.api_version not in PLUGIN_VERSIONS:
        known = " or ".join(PLUGIN_VERSIONS)
        raise user.wrong("exec.apiVersion", f"{plugin.api_version!r} is not {known}; update the plugin")
    if not plugin.command:
        raise user.wrong("exec.command", "is required")
    spec = Spec(
        interactive=is_interactive(user, plugin),
        cluster=cluster_info(cluster.value, authority) if plugin.provide_cluster_info else None,
    )
    return Command(
        program_of(user, plugin),
        plugin.args,
        {variable.name: variable.value for variable in plugin.env},
        CredentialRequest(plugin.api_version, spec),
        setting=user.setting("exec"),
        hint=plugin.install_hint,
    )


def program_of(user: ConfigEntry[KubeUser], plugin: Exec) -> str:
    named = user.path(plugin.command) if os.path.dirname(plugin.command) else plugin.command
    program = shutil.which(named)
    if program is None:
        hint = plugin.install_hint or "install it, or correct the name"
        raise user.wrong("exec.command", f"there is no program {named}; {hint}")
    return program


def is_interactive(user: ConfigEntry[KubeUser], plugin: Exec) -> bool:
    """Whether the plugin may ask the person at the terminal."""
    mode = plugin.interactive_mode
    if mode not in INTERACTIVE_MODES:
        raise user.wrong("exec.interactiveMode", f"{mode!r} is not one of {', '.join(INTERACTIVE_MODES)}")
    terminal = sys.stdin is not None and sys.stdin.isatty()
    if mode == "Always" and not terminal:
        raise user.wrong(
            "exec.interactiveMode", "the plugin needs a terminal to ask questions, and there is none"
        )
    return terminal and mode != "Never"


def cluster_info(cluster: KubeCluster, authority: bytes | None) -> ClusterInfo:
    extensions = {extension.name: extension.extension for extension in cluster.extensions}
    return ClusterInfo(
        server=cluster.server,
        tls_server_name=cluster.tls_server_name,
        insecure_skip_tls_verify=cluster.insecure_skip_tls_verify,
        certificate_authority_data=authority or b"",
        proxy_url=cluster.proxy_url,
        config=extensions.get(PLUGIN_EXTENSION),
    )
