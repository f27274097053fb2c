"""Which programs make up a control plane, where they come from, and what each version must be told."""

from dataclasses import dataclass

PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
ETCD = "v3.7.3"


@dataclass(frozen=True, slots=True)
class Release:
    """A version of Kubernetes, and how its workload API and all of its device API are switched on."""

    name: str
    served: tuple[str, ...]
    """Versions of scheduling.k8s.io with groups."""
    gates: tuple[str, ...]
    device_gates: tuple[str, ...]
    """What devices may have that a server drops, and kube-scheduler does not read, by default."""
    device_versions: tuple[str, ...] = ()
    """Versions of resource.k8s.io that are not served by default."""
    controller_gates: tuple[str, ...] = ("GenericWorkload", "WorkloadWithJob", "DRAWorkloadResourceClaims")

    @property
    def tag(self) -> str:
        return f"v{self.name}"

    @property
    def staging(self) -> str:
        """The version of the modules that are released beside it: v0.37.1 for 1.37.1."""
        return f"v0{self.name.removeprefix('1')}"


RELEASES = {
    release.name: release
    for release in (
        Release(
            "1.37.1",
            served=("v1beta1", "v1alpha3"),
            gates=(
                "GenericWorkload",
                "TopologyAwareWorkloadScheduling",
                "DRAWorkloadResourceClaims",
                "WorkloadWithJob",
                "CompositePodGroup",
                "PodGroupPreemptionPolicy",
            ),
            device_gates=("DRAListTypeAttributes",),
        ),
        Release(
            "1.36.4",
            served=("v1alpha2",),
            gates=(
                "GenericWorkload",
                "GangScheduling",
                "WorkloadAwarePreemption",
                "TopologyAwareWorkloadScheduling",
                "DRAWorkloadResourceClaims",
                "WorkloadWithJob",
            ),
            device_gates=("DRAListTypeAttributes", "DRADeviceTaintRules"),
            device_versions=("v1beta2",),
        ),
    )
}
