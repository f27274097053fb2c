"""Operators that tests run: where each comes from, and what it must be told to run alone on loopback."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maitred.sandbox.controlplane.commands import HOST

Json = dict[str, Any]

BUILT_FIRST = "1.37.1"


@dataclass(frozen=True, slots=True)
class Place:
    """What one operator is given of this machine: two ports, and a folder that it takes for /tmp."""

    health: int
    webhooks: int
    folder: Path

    @property
    def certificates(self) -> Path:
        """Where webhook servers look for them by default."""
        return self.folder / "k8s-webhook-server" / "serving-certs"

    @property
    def probes(self) -> str:
        return f"{HOST}:{self.health}"


Arguments = Callable[[Place], list[str]]


@dataclass(frozen=True, slots=True)
class Pruned:
    """A package of another module, without a generated file that does not build with newer libraries."""

    module: str
    version: str
    package: str
    file: str


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    name: str
    module: str
    version: str
    package: str
    """Of its program, below the module."""
    crds: str
    """A pattern for files of the module."""
    arguments: Arguments
    webhooks: str = ""
    """The file of the module with its webhook configurations. Empty: it works without."""
    resources: tuple[str, ...] = ()
    """Those whose webhooks are registered."""
    pod_label: str = ""
    """What its own pods are known by: its webhooks for pods are asked about no others."""
    libraries: str = ""
    """The release of Kubernetes whose libraries it is built with, as those are compiled already.
    Empty: those that it names itself."""
    changes: Mapping[str, str] = field(default_factory=dict)
    """Text of its main package that is replaced before it is built, where no option does it."""
    pruned: Pruned | None = None
    namespace: str = ""
    """One that must be there before it starts."""


def configured(api_version: str, **more: Any) -> Arguments:
    """Told by a file, as most are."""

    def arguments(place: Place) -> list[str]:
        fields: Json = {
            "apiVersion": api_version,
            "kind": "Configuration",
            "health": {"healthProbeBindAddress": place.probes},
            "metrics": {"bindAddress": "0"},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": False},
            "webhook": {"host": HOST, "port": place.webhooks, "certDir": str(place.certificates)},
            **more,
        }
        file = place.folder / "configuration.json"
        file.write_text(json.dumps(fields))
        return [f"--config={file}"]

    return arguments


def trainer_arguments(place: Place) -> list[str]:
    """Its file is like the others', but for two fields."""
    [flag] = configured("config.trainer.kubeflow.org/v1alpha1", certManagement={"enable": False})(place)
    file = Path(flag.removeprefix("--config="))
    fields = json.loads(file.read_text())
    del fields["internalCertManagement"], fields["webhook"]["certDir"]
    file.write_text(json.dumps(fields))
    return [flag]


def kuberay_arguments(place: Place) -> list[str]:
    probes = f"--health-probe-bind-address={place.probes}"
    return [probes, "--metrics-addr=0", "--enable-leader-election=false"]


def training_arguments(place: Place) -> list[str]:
    kinds = ["--enable-scheme=pytorchjob", "--enable-scheme=mpijob"]
    probes = f"--health-probe-bind-address={place.probes}"
    return [probes, "--metrics-bind-address=0", f"--webhook-server-port={place.webhooks}", *kinds]


JOBSET = Operator(
    name="jobset",
    module="sigs.k8s.io/jobset",
    version="v0.12.0",
    package="",
    libraries=BUILT_FIRST,
    crds="config/components/crd/bases/*.yaml",
    arguments=configured("config.jobset.x-k8s.io/v1alpha1"),
    webhooks="config/components/webhook/manifests.yaml",
    resources=("jobsets", "pods"),
    pod_label="jobset.sigs.k8s.io/jobset-name",
)
LWS = Operator(
    name="lws",
    module="sigs.k8s.io/lws",
    version="v0.9.0",
    package="cmd",
    libraries=BUILT_FIRST,
    crds="config/crd/bases/*.yaml",
    arguments=configured("config.lws.x-k8s.io/v1alpha1"),
    webhooks="config/webhook/manifests.yaml",
    resources=("leaderworkersets", "pods"),
    pod_label="leaderworkerset.sigs.k8s.io/name",
)
TRAINER = Operator(
    name="trainer",
    module="github.com/kubeflow/trainer/v2",
    version="v2.2.0",
    package="cmd/trainer-controller-manager",
    crds="manifests/base/crds/trainer*.yaml",
    arguments=trainer_arguments,
    webhooks="manifests/base/webhook/manifests.yaml",
    resources=("trainjobs", "trainingruntimes", "clustertrainingruntimes"),
)
KUBERAY = Operator(
    name="kuberay",
    module="github.com/ray-project/kuberay/ray-operator",
    version="v1.6.0",
    package="",
    crds="config/crd/bases/*.yaml",
    arguments=kuberay_arguments,
)
KUEUE = Operator(
    name="kueue",
    module="sigs.k8s.io/kueue",
    version="v0.18.3",
    package="cmd/kueue",
    libraries=BUILT_FIRST,
    crds="config/components/crd/bases/*.yaml",
    arguments=configured(
        "config.kueue.x-k8s.io/v1beta2",
        namespace="kueue-system",
        integrations={"frameworks": ["batch/job"]},
        featureGates={"VisibilityOnDemand": False},
    ),
    webhooks="config/components/webhook/manifests.yaml",
    resources=("jobs", "workloads", "clusterqueues", "localqueues", "resourceflavors", "cohorts"),
    changes={
        '"/etc/kueue/metrics/certs"': 'filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs")',
        '_ "sigs.k8s.io/kueue/pkg/controller/jobs"': '_ "sigs.k8s.io/kueue/pkg/controller/jobs/job"',
    },
    pruned=Pruned(
        "github.com/kubeflow/trainer/v2", "v2.2.1", "pkg/apis/trainer/v1alpha1", "zz_generated.openapi.go"
    ),
    namespace="kueue-system",
)
TRAINING = Operator(
    name="training-operator",
    module="github.com/kubeflow/training-operator",
    version="v1.9.2",
    package="cmd/training-operator.v1",
    crds="manifests/base/crds/kubeflow*.yaml",
    arguments=training_arguments,
    # It would make a certificate of its own, and wait until a Secret with it is mounted.
    changes={
        "defer close(certsReady)": "close(certsReady)",
        "cert.ManageCerts(mgr, certGenerationConfig, certsReady)": (
            "func(cert.Config) error { return nil }(certGenerationConfig)"
        ),
    },
)
MADE_BY = {
    "jobset": (JOBSET,),
    "trainjob": (JOBSET, TRAINER),
    "lws": (LWS,),
    "raycluster": (KUBERAY,),
    "rayjob": (KUBERAY,),
    "pytorchjob": (TRAINING,),
    "mpijob": (TRAINING,),
    "kueue": (KUEUE,),
}


def operators_of(manifest: str) -> tuple[Operator, ...]:
    """By what the name of a manifest begins with."""
    return MADE_BY[manifest.partition("-")[0]]
