"""Operators, built once from their Go modules and kept beside the programs of Kubernetes."""

import re
from pathlib import Path
from shutil import copyfile

from maitred.sandbox.controlplane.build import (
    KUBERNETES_MODULE,
    STAGED,
    build,
    complete,
    downloaded,
    lock,
    module_for,
    require,
)
from maitred.sandbox.controlplane.progress_lines import Progress, telling
from maitred.sandbox.controlplane.toolchain import Go, UnavailableError, cache_directory, find_go
from maitred.sandbox.controlplane.versions import RELEASES
from tests.operators.catalogue import Operator, Pruned

CRDS, WEBHOOKS = "crds.yaml", "webhooks.yaml"
NEEDED = re.compile(r"^\s+([\w.-]+/\S+) (v\S+)", re.MULTILINE)


def built(operator: Operator, say: Progress) -> Path:
    """The directory with its program and its manifests; built if this is the first time."""
    cache = cache_directory()
    directory = cache / f"{operator.name}-{operator.version}"
    parts = (operator.name, CRDS, WEBHOOKS)
    if not complete(directory, parts):
        with lock(cache / "build.lock", say):
            if not complete(directory, parts):
                build_operator(find_go(say), operator, directory, say)
    return directory


def build_operator(go: Go, operator: Operator, into: Path, say: Progress) -> None:
    title = f"{operator.name} {operator.version}"
    package = "/".join(part for part in (operator.module, operator.package) if part)
    source = Path(downloaded(go, operator.module, operator.version)["Dir"])
    packages = {"throwaway/changed" if operator.changes else package: operator.name}
    with module_for(packages) as module:
        if operator.changes:
            copy_changed(operator, source / operator.package, module / "changed")
        with telling(say, lambda: f"{title}: fetching its modules"):
            needed = {**libraries(go, operator), operator.module: operator.version}
            require(go, module, needed, [prune(go, operator.pruned, module)] if operator.pruned else [])
        build(go, module, packages, into, title, say)
    crds = sorted(source.glob(operator.crds))
    (into / CRDS).write_text("\n---\n".join(path.read_text() for path in crds))
    (into / WEBHOOKS).write_text((source / operator.webhooks).read_text() if operator.webhooks else "")


def libraries(go: Go, operator: Operator) -> dict[str, str]:
    """What its module must need at least, so that most of what it imports is in Go's cache: minutes less."""
    if not operator.libraries:
        return {}
    release = RELEASES[operator.libraries]
    text = Path(downloaded(go, KUBERNETES_MODULE, release.tag)["GoMod"]).read_text()
    needed = {path: version for path, version in NEEDED.findall(text) if version != "v0.0.0"}
    return {**needed, **dict.fromkeys(STAGED.findall(text), release.staging)}


def prune(go: Go, pruned: Pruned, module: Path) -> str:
    """Copies the package into the throwaway module; what its go.mod says of it."""
    source, into = Path(downloaded(go, pruned.module, pruned.version)["Dir"]), module / "pruned"
    (into / pruned.package).mkdir(parents=True)
    copyfile(source / "go.mod", into / "go.mod")
    for file in (source / pruned.package).glob("*.go"):
        if file.name != pruned.file:
            copyfile(file, into / pruned.package / file.name)
    return f"replace {pruned.module} => ./pruned"


def copy_changed(operator: Operator, source: Path, into: Path) -> None:
    """Its main package, with the texts replaced that no option can change."""
    into.mkdir()
    text = (source / "main.go").read_text()
    for old, new in operator.changes.items():
        if text.count(old) != 1:
            raise UnavailableError(f"{operator.name}: its main.go has not exactly one {old!r}")
        text = text.replace(old, new)
    (into / "main.go").write_text(text)
