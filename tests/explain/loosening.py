"""Remedies that loosen a constraint, carried out by hand on the specs of pods and on claims."""

import re
from collections.abc import Callable

from tests.oracle.builders import REQUIRED, ZONE, Obj, expr, pv, pvc


def _without_gates(spec: Obj, detail: Obj) -> None:
    spec["schedulingGates"] = [g for g in spec.get("schedulingGates", ()) if g["name"] not in detail["gates"]]


def _select(spec: Obj, detail: Obj) -> None:
    asked, other = detail["requirement"], detail["to"]
    selector = spec.get("nodeSelector", {})
    if asked["operator"] == "In" and [selector.get(asked["key"])] == asked["values"]:
        del selector[asked["key"]]
        if other is not None:
            selector[asked["key"]] = other
    affinity = spec.get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED, {})
    for term in affinity.get("nodeSelectorTerms", ()):
        found = [one for one in term.get("matchExpressions", ()) if {"values": [], **one} == asked]
        for one in found:
            term["matchExpressions"].remove(one)
            if other is not None:
                term["matchExpressions"].append(expr(asked["key"], "In", other))
    if any(not (term.get("matchExpressions") or term.get("matchFields")) for term in _node_terms(affinity)):
        del spec["affinity"]["nodeAffinity"]


def _node_terms(affinity: Obj) -> list[Obj]:
    terms: list[Obj] = affinity.get("nodeSelectorTerms", [])
    return terms


def _tolerate(spec: Obj, detail: Obj) -> None:
    taint = {field: detail[field] for field in ("key", "value", "effect")}
    spec.setdefault("tolerations", []).append({"operator": "Equal", **taint})


def _part(spec: Obj, detail: Obj) -> None:
    field = {"affinity": "podAffinity", "anti-affinity": "podAntiAffinity"}[detail["constraint"]]
    terms = spec.get("affinity", {}).get(field, {}).get(REQUIRED, [])
    place = detail["position"]
    if place < len(terms) and terms[place]["topologyKey"] == detail["topologyKey"]:
        del terms[place]


def _skew(spec: Obj, detail: Obj) -> None:
    every = spec.get("topologySpreadConstraints", [])
    hard = [c for c in every if c["whenUnsatisfiable"] == "DoNotSchedule"]
    place = detail["position"]
    if place >= len(hard) or hard[place]["topologyKey"] != detail["topologyKey"]:
        return
    if detail["to"] is None:
        every.remove(hard[place])
    else:
        hard[place]["maxSkew"] = detail["to"]


def _without_port(spec: Obj, detail: Obj) -> None:
    for container in (*spec.get("initContainers", ()), *spec["containers"]):
        ports = container.get("ports", [])
        container["ports"] = [port for port in ports if port.get("hostPort") != detail["port"]]


LOOSENED: dict[str, Callable[[Obj, Obj], None]] = {
    "gates": _without_gates,
    "selector": _select,
    "taint": _tolerate,
    "pods": _part,
    "spread": _skew,
    "port": _without_port,
}


def with_storage(objects: list[Obj], pods: list[Obj], detail: Obj) -> list[Obj]:
    """The same with volumes for the claims of these pods: those that are not ready, or all, in one zone."""
    mounted = {
        (pod["metadata"].get("namespace", "default"), volume["persistentVolumeClaim"]["claimName"])
        for pod in pods
        for volume in pod["spec"].get("volumes", ())
        if "persistentVolumeClaim" in volume
    }
    unready = {tuple(found.split("/")) for text in detail.get("problems", ()) for found in _claims(text)}
    chosen = mounted & unready if unready else mounted
    for namespace, name in sorted(chosen):
        driver = _driver(objects, namespace, name)
        claim = _found(objects, "PersistentVolumeClaim", name, namespace)
        modes = claim["spec"]["accessModes"] if claim else ("ReadWriteOnce",)
        on = [expr(ZONE, "In", detail["value"])] if detail.get("value") else []
        objects = [obj for obj in objects if obj is not claim]
        objects.append(pvc(name, namespace=namespace, modes=modes, volume=f"new-{name}"))
        objects.append(pv(f"new-{name}", modes=modes, claim=f"{namespace}/{name}", on=on, driver=driver))
    return objects


def _claims(problem: str) -> list[str]:
    return re.findall(r"claim (\S+/\S+)", problem)


def _found(objects: list[Obj], kind: str, name: str, namespace: str | None = None) -> Obj | None:
    here = [o for o in objects if o["kind"] == kind and o["metadata"]["name"] == name]
    return next((o for o in here if namespace in (None, o["metadata"].get("namespace"))), None)


def _driver(objects: list[Obj], namespace: str, name: str) -> str | None:
    """The driver of the volume that a claim has, or would get."""
    claim = _found(objects, "PersistentVolumeClaim", name, namespace)
    if claim is None:
        return None
    volume = _found(objects, "PersistentVolume", claim["spec"].get("volumeName", ""))
    made = _found(objects, "StorageClass", claim["spec"].get("storageClassName", ""))
    driver: str | None = made["provisioner"] if made else None
    if volume is not None:
        driver = volume["spec"].get("csi", {}).get("driver")
    return None if driver == "kubernetes.io/no-provisioner" else driver
