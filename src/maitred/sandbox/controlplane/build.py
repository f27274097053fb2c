"""The programs of a control plane, built once from their Go modules and kept in the user's cache directory.

`go install` refuses most of these modules. What works is a throwaway module that requires the one, with the
replacements that its own go.mod makes, and builds the programs from there.
"""

import fcntl
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from maitred.sandbox.controlplane.progress_lines import Progress, telling
from maitred.sandbox.controlplane.toolchain import Go, UnavailableError, cache_directory, find_go
from maitred.sandbox.controlplane.versions import ETCD, PROGRAMS, Release

KUBERNETES_MODULE = "k8s.io/kubernetes"
ETCD_MODULE = "go.etcd.io/etcd/server/v3"
CERTIFICATES = "generate-cert"
"""A program of Go's own sources that writes a certificate and its key."""
BESIDE = ("etcd", CERTIFICATES)
"""Built apart, since they are the same for every release."""
STAGED = re.compile(r"^\s*(k8s\.io/\S+) => \./staging/", re.MULTILINE)


def programs(release: Release, say: Progress) -> Path:
    """The directory with kube-apiserver, kubectl, etcd and the rest; built if this is the first time."""
    cache = cache_directory()
    kubernetes, etcd = cache / f"kubernetes-{release.tag}", cache / f"etcd-{ETCD}"
    if not complete(kubernetes, (*PROGRAMS, *BESIDE)):
        with lock(cache / "build.lock", say):
            if not complete(etcd, BESIDE):
                build_etcd(find_go(say), etcd, say)
            if not complete(kubernetes, PROGRAMS):
                build_kubernetes(find_go(say), release, kubernetes, say)
            for name in BESIDE:
                link(kubernetes / name, etcd / name)
    check_starts(kubernetes / "etcd")
    return kubernetes


def complete(directory: Path, names: tuple[str, ...]) -> bool:
    return all((directory / name).is_file() for name in names)


def link(path: Path, target: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


@contextmanager
def lock(path: Path, say: Progress) -> Iterator[None]:
    """One build at a time on this machine; test workers that come later wait for the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with telling(say, lambda: "waiting for another process that builds the control plane"):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build_kubernetes(go: Go, release: Release, into: Path, say: Progress) -> None:
    packages = {f"{KUBERNETES_MODULE}/cmd/{name}": name for name in PROGRAMS}
    title, version = (
        f"Kubernetes {release.name}",
        f"-X k8s.io/component-base/version.gitVersion={release.tag}",
    )
    with module_for(packages) as module:
        with telling(say, lambda: f"{title}: fetching its modules"):
            source = downloaded(go, KUBERNETES_MODULE, release.tag)
            staged = STAGED.findall(Path(source["GoMod"]).read_text())
            replaced = [f"replace {one} => {one} {release.staging}" for one in staged]
            require(go, module, {KUBERNETES_MODULE: release.tag}, replaced)
        build(go, module, packages, into, title, say, version)


def build_etcd(go: Go, into: Path, say: Progress) -> None:
    packages, title = {ETCD_MODULE: "etcd"}, f"etcd {ETCD}"
    with module_for(packages) as module:
        with telling(say, lambda: f"{title}: fetching its modules"):
            require(go, module, {ETCD_MODULE: ETCD}, [])
        build(go, module, packages, into, title, say)
    source = Path(go.run("env", "GOROOT", cwd=into).strip()) / "src/crypto/tls/generate_cert.go"
    go.run("build", "-o", str(into / CERTIFICATES), str(source), cwd=into)


def downloaded(go: Go, module: str, version: str) -> dict[str, str]:
    """A module of the registry: where its go.mod (`GoMod`) and its files (`Dir`) lie now."""
    with tempfile.TemporaryDirectory() as anywhere:
        answer = go.run("mod", "download", "-json", f"{module}@{version}", cwd=Path(anywhere))
    return dict(json.loads(answer))


@contextmanager
def module_for(packages: Iterable[str]) -> Iterator[Path]:
    """A throwaway module that needs these packages."""
    with tempfile.TemporaryDirectory(prefix="maitred-build-") as name:
        module = Path(name)
        imports = "".join(f'import _ "{package}"\n' for package in packages)
        # Programs cannot be imported; behind a tag they only tell `go mod tidy` what is needed.
        (module / "tools.go").write_text(f"//go:build tools\n\npackage tools\n\n{imports}")
        yield module


def require(go: Go, module: Path, requires: dict[str, str], replaced: list[str]) -> None:
    """Write its go.mod, and fetch what that leads to."""
    lines = ["module throwaway", f"go {go.language}", *replaced]
    lines += [f"require {path} {version}" for path, version in requires.items()]
    (module / "go.mod").write_text("\n".join(lines) + "\n")
    go.run("mod", "tidy", "-e", cwd=module)


def build(
    go: Go, module: Path, packages: dict[str, str], into: Path, title: str, say: Progress, ldflags: str = ""
) -> None:
    """Build packages to programs of these names, in a directory that appears whole or not at all."""
    total = len(go.run("list", "-deps", *packages, cwd=module).splitlines())
    partial = into.with_name(f"{into.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    target = f"{partial}/" if len(packages) > 1 else f"{partial}/{next(iter(packages.values()))}"
    command = ["build", "-v", "-trimpath", "-ldflags", f"-s -w {ldflags}", "-o", target, *packages]
    compiled, started = list[str](), time.monotonic()
    with telling(say, lambda: f"{title}: compiling, {len(compiled)} of at most {total} packages"):
        compiled.extend(go.lines(*command, cwd=module))
    if not complete(partial, tuple(packages.values())):
        raise UnavailableError(f"{title} did not build: " + " / ".join(compiled[-5:]))
    shutil.rmtree(into, ignore_errors=True)
    partial.rename(into)
    say(f"{title}: built in {time.monotonic() - started:.0f} s, kept in {into}")


def check_starts(program: Path) -> None:
    """A cache that was copied from another kind of machine has programs that do not."""
    try:
        subprocess.run([program, "--version"], check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        remedy = f"remove {program.parent.parent} to build it again"
        raise UnavailableError(f"{program} does not start ({error}); {remedy}") from None
