"""Manifests that an API server takes, and such that it refuses, each for one fault."""

from typing import Any

Obj = dict[str, Any]
GPU = "nvidia.com/gpu"


def container(requests: Obj | None = None, limits: Obj | None = None, **more: Any) -> Obj:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {"name": "main", "image": "example/main:1.0", "resources": resources, **more}


def pod_spec(*containers: Obj, **more: Any) -> Obj:
    return {"restartPolicy": "Never", "containers": list(containers) or [container({"cpu": "1"})], **more}


def job(*containers: Obj, spec: Obj | None = None, labels: Obj | None = None, **pod: Any) -> Obj:
    template = {"metadata": {"labels": labels or {}}, "spec": pod_spec(*containers, **pod)}
    said = {"parallelism": 2, "completions": 2, "template": template, **(spec or {})}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": said}


def deployment(**spec: Any) -> Obj:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec(restartPolicy="Always")}
    said = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": said}


def cron_job(inner: Obj) -> Obj:
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": inner["spec"]}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": spec}


def on_nodes(operator: str, *values: str, key: str = "gpu.model") -> Obj:
    expression = {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
    terms = [{"matchExpressions": [expression]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": required}


POD = "spec.template.spec"
FIRST = f"{POD}.containers[0].resources"
REFUSED: dict[str, tuple[Obj, str]] = {
    "a negative amount": (job(container({"cpu": "-1"})), f"{FIRST}.requests.cpu"),
    "half a device": (job(container({GPU: "0.5"}, {GPU: "0.5"})), f"{FIRST}.limits[{GPU}]"),
    "more than the limit": (job(container({"cpu": "2"}, {"cpu": "1"})), f"{FIRST}.requests"),
    "devices without a limit": (job(container({GPU: "1"})), f"{FIRST}.limits"),
    "fewer devices than the limit": (job(container({GPU: "1"}, {GPU: "2"})), f"{FIRST}.requests"),
    "a resource without a vendor": (job(container({"gpu": "1"}, {"gpu": "1"})), f"{FIRST}.limits[gpu]"),
    "huge pages alone": (job(container({"hugepages-2Mi": "4Mi"}, {"hugepages-2Mi": "4Mi"})), FIRST),
    "a Job whose pods always restart": (job(restartPolicy="Always"), f"{POD}.restartPolicy"),
    "a Job that does not say how its pods restart": (job(restartPolicy=""), f"{POD}.restartPolicy"),
    "less than no pods": (job(spec={"parallelism": -1}), "spec.parallelism"),
    "an index without an end": (
        job(spec={"completionMode": "Indexed", "completions": None}),
        "spec.completions",
    ),
    "a container without an image": (job(container(image="")), f"{POD}.containers[0].image"),
    "a label that is none": (job(labels={"app": "not a value"}), "spec.template.metadata.labels"),
    "a selector that is none": (job(nodeSelector={"gpu model": "h100"}), f"{POD}.nodeSelector"),
    "an operator that is none": (job(affinity=on_nodes("Equals", "h100")), f"{POD}.affinity"),
    "In without values": (job(affinity=on_nodes("In")), f"{POD}.affinity"),
    "Gt with two numbers": (job(affinity=on_nodes("Gt", "1", "2")), f"{POD}.affinity"),
    "a toleration of nothing": (job(tolerations=[{"operator": "Equal"}]), f"{POD}.tolerations[0]"),
    "a toleration of an unknown effect": (
        job(tolerations=[{"key": "a", "operator": "Exists", "effect": "Never"}]),
        f"{POD}.tolerations[0].effect",
    ),
    "a toleration for a while of what does not evict": (
        job(tolerations=[{"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}]),
        f"{POD}.tolerations[0].effect",
    ),
    "spread without a skew": (
        job(
            topologySpreadConstraints=[
                {"maxSkew": 0, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
            ]
        ),
        f"{POD}.topologySpreadConstraints[0].maxSkew",
    ),
    "two containers of one name": (job(container(), container()), f"{POD}.containers[1].name"),
    "a pod with a bad name": (
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "Main_0"}, "spec": pod_spec()},
        "metadata.name",
    ),
    "a Deployment that selects others": (
        deployment(selector={"matchLabels": {"app": "other"}}),
        "spec.template.metadata.labels",
    ),
    "a Deployment without a selector": (deployment(selector=None), "spec.selector"),
    "a Deployment whose pods end": (
        deployment(template={"metadata": {"labels": {"app": "web"}}, "spec": pod_spec()}),
        f"{POD}.restartPolicy",
    ),
    "a Deployment with half a device": (
        deployment(
            template={
                "metadata": {"labels": {"app": "web"}},
                "spec": pod_spec(container({GPU: "0.5"}, {GPU: "0.5"}), restartPolicy="Always"),
            }
        ),
        f"{FIRST}.limits[{GPU}]",
    ),
    "a CronJob whose pods always restart": (
        cron_job(job(restartPolicy="Always")),
        "spec.jobTemplate.spec.template.spec.restartPolicy",
    ),
}
"""What each is refused for, and the field that is named."""

ACCEPTED: dict[str, Obj] = {
    "a plain Job": job(container({"cpu": "1", GPU: "1"}, {GPU: "1"})),
    "limits alone": job(container(limits={"cpu": "2", GPU: "1"})),
    "all operators": job(affinity=on_nodes("Exists")),
    "Gt with a number": job(affinity=on_nodes("Gt", "7")),
    "Gt with a word": job(affinity=on_nodes("Gt", "many")),
    "a toleration of everything": job(tolerations=[{"operator": "Exists"}]),
    "a Deployment": deployment(),
    "a CronJob": cron_job(job()),
    "an indexed Job": job(spec={"completionMode": "Indexed"}),
    "a field that does not exist": job(nodeSelectors={"gpu.model": "h100"}),
}
