"""The command lines of a control plane: what each program must be told to run alone on loopback."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from maitred.sandbox.controlplane.versions import Release

HOST = "127.0.0.1"
ETCD_QUOTA = 8 * 2**30
"""Four times the default: 100,000 pods that change a few times between compactions."""
CLIENT_QPS = 5000
"""Of kube-scheduler and the controllers: with the limits that they have by default, those would be all that
a benchmark measures."""
CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "daemonset-controller",
    "deployment-controller",
    "device-taint-eviction-controller",
    "disruption-controller",
    "ephemeral-volume-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "persistentvolume-binder-controller",
    "pod-garbage-collector-controller",
    "podgroup-protection-controller",
    "replicaset-controller",
    "resourceclaim-controller",
    "statefulset-controller",
    "taint-eviction-controller",
    "ttl-after-finished-controller",
)
"""Those whose work a scheduler sees, and one that gives roles their rights."""

Command = list[str]


@dataclass(frozen=True, slots=True)
class Server:
    """How a program serves: where, and with which certificate."""

    port: int
    certificate: Path
    key: Path

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.port}"

    def flags(self) -> Command:
        return [
            f"--bind-address={HOST}",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self.certificate}",
            f"--tls-private-key-file={self.key}",
        ]


def etcd(programs: Path, data: Path, client: str, peer: str) -> Command:
    return [
        f"{programs}/etcd",
        "--name=maitred",
        f"--data-dir={data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=maitred={peer}",
        f"--quota-backend-bytes={ETCD_QUOTA}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def apiserver(programs: Path, server: Server, etcd: str, tokens: Path, workloads: Release | None) -> Command:
    """`workloads`: the release, if its workload API and all of its device API are to be served."""
    command = [
        f"{programs}/kube-apiserver",
        *server.flags(),
        f"--etcd-servers={etcd}",
        f"--token-auth-file={tokens}",
        "--authorization-mode=RBAC",
        f"--service-account-key-file={server.certificate}",
        f"--service-account-signing-key-file={server.key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.0.0.0/16",
        # Without these it wants a network beyond loopback. Nobody looks for it by its Endpoints.
        f"--advertise-address={HOST}",
        "--endpoint-reconciler-type=none",
        # Pods need no account: nothing runs in them.
        "--disable-admission-plugins=ServiceAccount",
    ]
    if workloads is not None:
        served = [f"scheduling.k8s.io/{version}" for version in workloads.served]
        served += [f"resource.k8s.io/{version}" for version in workloads.device_versions]
        command += [
            f"--runtime-config={','.join(f'{version}=true' for version in served)}",
            gates(workloads.gates + workloads.device_gates),
        ]
    return command


def controllers(
    programs: Path,
    server: Server,
    kubeconfig: Path,
    workloads: Release | None,
    names: Sequence[str] = CONTROLLERS,
) -> Command:
    command = [
        f"{programs}/kube-controller-manager",
        *server.flags(),
        f"--kubeconfig={kubeconfig}",
        f"--controllers={','.join(names)}",
        f"--kube-api-qps={CLIENT_QPS}",
        f"--kube-api-burst={CLIENT_QPS}",
        "--leader-elect=false",
        # Claims wait for their volumes no longer than they must.
        "--pvclaimbinder-sync-period=1s",
        "--authentication-skip-lookup=true",
    ]
    return (
        command
        if workloads is None
        else [*command, gates(workloads.controller_gates + workloads.device_gates)]
    )


def scheduler(programs: Path, server: Server, config: Path, workloads: Release | None) -> Command:
    command = [
        f"{programs}/kube-scheduler",
        *server.flags(),
        f"--config={config}",
        "--authentication-skip-lookup=true",
    ]
    return command if workloads is None else [*command, gates(workloads.gates + workloads.device_gates)]


def gates(names: tuple[str, ...]) -> str:
    return "--feature-gates=" + ",".join(f"{name}=true" for name in names)
