"""Nodes as columns: a table with one writer, and the frozen view of it that decisions read."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from maitred.model.node import ContainerImage, Node, Taint, allocatable, effective_taints
from maitred.model.quantity import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from maitred.model.requests import Amounts
from maitred.model.selector import Labels
from maitred.model.unwell import ANY_NUMBER, UnwellDevices, missing, unwell_devices

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
T = TypeVar("T")

NODE_NAME = " name"
"""The column of node names, which `matchFields` selects by; no label can be called so."""

LARGEST_CACHE = 2000
"""Entries, most of them a mask over nodes. A bound on memory that few clusters come near."""

BASE_RESOURCES = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)

HEAVY = 2**50
"""Amounts of one pod up to this cannot fill a column, however many pods there are; larger ones are
watched."""
MOST_USED = 2**61
"""More than any node has, and little enough that a difference still fits a column."""


def total(amounts: Ints) -> int:
    """The exact sum, which may be more than a column holds."""
    return (int((amounts >> 32).sum()) << 32) + int((amounts & 0xFFFFFFFF).sum())


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """One label over all nodes: codes into the sorted values, -1 where a node lacks it."""

    codes: Codes
    values: tuple[str, ...]

    def select(self, wanted: Callable[[str], bool], missing: bool) -> Mask:
        """Nodes whose value is wanted; `missing` says whether those without the label count."""
        table = np.fromiter((*map(wanted, self.values), missing), dtype=np.bool_, count=len(self.values) + 1)
        selected: Mask = table[self.codes]
        return selected

    def among(self, values: Iterable[str]) -> Mask:
        """Nodes that have one of these values."""
        table = np.zeros(len(self.values) + 1, dtype=np.bool_)
        for value in values:
            place = bisect_left(self.values, value)
            table[place] |= place < len(self.values) and self.values[place] == value
        table[-1] = False
        selected: Mask = table[self.codes]
        return selected


@dataclass(frozen=True)
class NodeView:
    """All nodes as they are at one moment. Rows without a node (`alive` false) are kept out by every mask."""

    names: tuple[str, ...]
    alive: Mask
    resources: tuple[str, ...]
    allocatable: Ints
    labels: tuple[Labels, ...]
    taint_ids: Codes
    taint_sets: tuple[tuple[Taint, ...], ...]
    images: tuple[tuple[ContainerImage, ...], ...]
    feature_ids: Codes
    feature_sets: tuple[tuple[str, ...], ...]
    """What the kubelets declare that they can do; few nodes differ in it."""
    unwell: Mapping[int, Mapping[str, UnwellDevices]] = field(default_factory=dict)
    """Rows of nodes with devices that are unwell, and which; `allocatable` is without them."""
    missing: Ints | None = None
    """How many of every resource are unwell on every node; None where all are well."""
    cache: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)
    """What was derived from this view: filled on demand, it never changes what the view means."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "cache": {}}

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        found: T | None = self.cache.get(key)
        if found is None:
            if len(self.cache) >= LARGEST_CACHE:
                self.cache.clear()
            # Others may read the same view at the same time, and what they find may differ, though equal.
            self.cache[key] = found = make()
        return found

    def derived_with(self, other: object, key: Hashable, make: Callable[[], T]) -> T:
        """What was derived from this view and something else; only the latest other of its kind is
        remembered."""
        last: tuple[object, dict[Hashable, Any]] = self.cache.get(("with", type(other)), (None, {}))
        known = last[1] if last[0] is other else {}
        self.cache["with", type(other)] = (other, known)
        found: T | None = known.get(key)
        if found is None:
            made = make()  # and with it perhaps something else that is remembered here
            if len(known) >= LARGEST_CACHE:
                known.clear()
            known[key] = found = made
        return found

    @property
    def rows(self) -> dict[str, int]:
        return self.derived("rows", lambda: {n: r for r, n in enumerate(self.names) if self.alive[r]})

    @property
    def name_rank(self) -> Codes:
        """Position of each node in the order of names, the last resort of every tie."""
        return self.derived("name_rank", self._name_rank)

    def _name_rank(self) -> Codes:
        rank = np.empty(len(self.names), dtype=np.int32)
        rank[np.argsort(np.array(self.names, dtype=object), kind="stable")] = np.arange(len(self.names))
        return rank

    def column(self, key: str) -> LabelColumn:
        return self.derived(("column", key), lambda: self._column(key))

    def _column(self, key: str) -> LabelColumn:
        if key == NODE_NAME:
            texts: list[str | None] = list(self.names)
        else:
            texts = [labels.get(key) for labels in self.labels]
        for row in np.flatnonzero(~self.alive):
            texts[row] = None
        values = tuple(sorted({text for text in texts if text is not None}))
        code_of = {value: code for code, value in enumerate(values)}
        codes = np.fromiter(
            (-1 if t is None else code_of[t] for t in texts), dtype=np.int32, count=len(texts)
        )
        return LabelColumn(codes, values)

    def resource_column(self, resource: str) -> int | None:
        index = self.derived("resource_index", lambda: {r: i for i, r in enumerate(self.resources)})
        return index.get(resource)

    def without_taints(self, keys: frozenset[str]) -> "NodeView":
        """The same nodes with the taints of these keys lifted."""
        return self.derived(("without_taints", keys), lambda: self._without_taints(keys))

    def _without_taints(self, keys: frozenset[str]) -> "NodeView":
        sets = tuple(tuple(taint for taint in taints if taint.key not in keys) for taints in self.taint_sets)
        return self if sets == self.taint_sets else replace(self, taint_sets=sets, cache={})

    def whole(self) -> "NodeView":
        """The same nodes with the devices that are unwell counted too, as if they were repaired."""
        return self.derived("whole", lambda: self._repaired(0))

    def hoped(self) -> "NodeView":
        """The same, and where nobody says how many devices a node has, as many as anyone may ask for: for
        what is proven to be impossible whatever there is."""
        if self.missing is None or not (self.missing == ANY_NUMBER).any():
            return self.whole()
        return self.derived("hoped", lambda: self._repaired(ANY_NUMBER))

    def _repaired(self, uncounted: int) -> "NodeView":
        if self.missing is None:
            return self
        amounts = np.where(self.missing == ANY_NUMBER, uncounted, self.missing)
        return replace(self, allocatable=self.allocatable + amounts, unwell={}, missing=None, cache={})

    def with_devices_back(self, mended: Mapping[int, Collection[str]]) -> "NodeView":
        """The same nodes, where devices of these kinds are well again, by the rows of their nodes."""
        if self.missing is None:
            return self
        allocatable, missing, unwell = self.allocatable.copy(), self.missing.copy(), dict(self.unwell)
        for row, resources in mended.items():
            columns = [self.resources.index(name) for name in resources]
            allocatable[columns, row] += missing[columns, row]
            missing[columns, row] = 0
            left = {name: one for name, one in unwell.pop(row).items() if name not in resources}
            unwell |= {row: left} if left else {}
        return replace(
            self, allocatable=allocatable, unwell=unwell, missing=missing if unwell else None, cache={}
        )

    def beside_claims(
        self, resources: frozenset[str], published: Callable[[], frozenset[tuple[str, str]]]
    ) -> "NodeView":
        """The same nodes, where devices of a class stand for some resources, and where slices of some nodes
        publish the devices of others. What no plugin offers of these is not amiss: it is had by claims."""
        if self.missing is None:
            return self
        there = published()
        return self.derived(
            ("beside_claims", resources, there), lambda: self._beside_claims(resources, there)
        )

    def _beside_claims(self, resources: frozenset[str], published: frozenset[tuple[str, str]]) -> "NodeView":
        left = {
            row: {
                name: one
                for name, one in unwell.items()
                if not one.label or (name not in resources and (self.names[row], name) not in published)
            }
            for row, unwell in self.unwell.items()
        }
        if left == self.unwell:
            return self
        table = NodeTable.of(self)
        for row, unwell in left.items():
            table.set_unwell(row, unwell)
        return replace(self, unwell=table.unwell, missing=table.missing_view(), cache={})

    def with_nodes(self, added: Iterable[Node]) -> "NodeView":
        """These nodes and some more, at the end of every column."""
        table = NodeTable.of(self)
        for node in added:
            table.put(node)
        return table.view()


class Charge(NamedTuple):
    """What a pod takes of a node."""

    columns: Ints
    amounts: Ints
    """Of every resource up to the last of these columns."""
    heavy: tuple[tuple[int, int], ...]
    """Columns and amounts of which a column may not hold the sum."""
    fits_none: bool
    """It takes something that no node has, for which there is no column: whoever may write a pod may call
    resources what they like, and a column is as long as there are nodes."""


class NodeTable:
    """The nodes that the writer knows, and those that pods speak of before their Node is seen."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.resources: dict[str, int] = {name: column for column, name in enumerate(BASE_RESOURCES)}
        self.allocatable: Ints = np.zeros((8, 64), dtype=np.int64)
        self.used: Ints = np.zeros((8, 64), dtype=np.int64)
        self.fixed: Ints = np.zeros((8, 64), dtype=np.int64)
        self.missing: Ints = np.zeros((8, 64), dtype=np.int64)
        self._names: list[str] = []
        self._alive: list[bool] = []
        self._labels: list[Labels] = []
        self._taints: list[int] = []
        self._images: list[tuple[ContainerImage, ...]] = []
        self._features: list[int] = []
        self.unwell: dict[int, Mapping[str, UnwellDevices]] = {}
        """Only of nodes with devices that are unwell."""
        self.absent: set[str] = set()
        """Those that pods speak of, and of which there is no Node."""
        self._free_rows: list[int] = []
        self._taint_sets: dict[tuple[Taint, ...], int] = {(): 0}
        self._feature_sets: dict[tuple[str, ...], int] = {(): 0}
        self._known_images: dict[ContainerImage, ContainerImage] = {}
        self._heavy: Counter[tuple[int, int]] = Counter()
        self._heavy_fixed: Counter[tuple[int, int]] = Counter()
        self._view: NodeView | None = None

    @classmethod
    def of(cls, view: NodeView) -> "NodeTable":
        table = cls()
        table.rows = {name: row for row, name in enumerate(view.names)}
        table.resources = {name: column for column, name in enumerate(view.resources)}
        table.allocatable = view.allocatable.copy()
        table.used = np.zeros_like(view.allocatable)
        table.fixed = np.zeros_like(view.allocatable)
        table._names, table._alive = list(view.names), view.alive.tolist()
        table._labels, table._taints = list(view.labels), view.taint_ids.tolist()
        table._images = list(view.images)
        table.unwell = dict(view.unwell)
        table.missing = np.zeros_like(view.allocatable) if view.missing is None else view.missing.copy()
        table._taint_sets = {taints: number for number, taints in enumerate(view.taint_sets)}
        table._features = view.feature_ids.tolist()
        table._feature_sets = {features: number for number, features in enumerate(view.feature_sets)}
        return table

    def put(self, node: Node) -> bool:
        """True if anything changed that a decision reads; most updates of a node are heartbeats."""
        row = self.row(node.metadata.name)
        self.absent.discard(node.metadata.name)
        changed = self._set_amounts(row, allocatable(node))
        taints = self._taint_sets.setdefault(effective_taints(node), len(self._taint_sets))
        images = tuple(self._known_images.setdefault(image, image) for image in node.status.images)
        declared = tuple(sorted(set(node.status.declared_features)))
        features = self._feature_sets.setdefault(declared, len(self._feature_sets))
        known = (self._alive[row], self._labels[row], self._taints[row], self._images[row])
        if known != (True, node.metadata.labels, taints, images) or self._features[row] != features:
            self._alive[row], self._labels[row] = True, node.metadata.labels
            self._taints[row], self._images[row] = taints, images
            self._features[row] = features
            changed = True
        changed |= self.set_unwell(row, unwell_devices(node))
        if changed:
            self._view = None
        return changed

    def set_unwell(self, row: int, unwell: Mapping[str, UnwellDevices]) -> bool:
        if unwell == self.unwell.get(row, {}):
            return False
        columns = [self.resource(name) for name in unwell]
        self.missing[:, row] = 0
        self.missing[columns, row] = list(missing(unwell).values())
        if unwell:
            self.unwell[row] = unwell
        else:
            del self.unwell[row]
        return True

    def unwell_on(self, name: str) -> Mapping[str, UnwellDevices]:
        row = self.rows.get(name)
        return {} if row is None else self.unwell.get(row, {})

    def missing_view(self) -> Ints | None:
        if not self.unwell:
            return None
        return self.missing[: len(self.resources), : len(self._names)].copy()

    def delete(self, name: str) -> bool:
        row = self.rows.get(name)
        if row is None or not self._alive[row]:
            return False
        self._alive[row], self._labels[row], self._taints[row], self._images[row] = False, {}, 0, ()
        self._features[row] = 0
        self.set_unwell(row, {})
        self.allocatable[:, row] = 0
        self._view = None
        self.absent.add(name)
        self.release(row)
        return True

    def charge_for(self, requests: Iterable[tuple[str, int]]) -> Charge:
        asked, known = dict(requests), self.resources
        amounts = {known[name]: requested for name, requested in asked.items() if name in known}
        dense = np.zeros(max(amounts, default=-1) + 1, dtype=np.int64)
        dense[list(amounts)] = list(amounts.values())
        heavy = tuple((column, amount) for column, amount in amounts.items() if amount > HEAVY)
        fits_none = any(requested and name not in known for name, requested in asked.items())
        return Charge(np.array(list(amounts), dtype=np.int64), dense, heavy, fits_none)

    def charge(self, row: int, charge: Charge, fixed: bool) -> None:
        """A pod takes these amounts of a node."""
        self.used[: len(charge.amounts), row] += charge.amounts
        if fixed:
            self.fixed[: len(charge.amounts), row] += charge.amounts
        if charge.heavy:
            self._count_heavy(row, charge, +1, fixed)

    def give_back(self, row: int, charge: Charge, fixed: bool) -> None:
        self.used[: len(charge.amounts), row] -= charge.amounts
        if fixed:
            self.fixed[: len(charge.amounts), row] -= charge.amounts
        if charge.heavy:
            self._count_heavy(row, charge, -1, fixed)

    def _count_heavy(self, row: int, charge: Charge, sign: int, fixed: bool) -> None:
        for column, amount in charge.heavy:
            for heavy in (self._heavy, self._heavy_fixed) if fixed else (self._heavy,):
                heavy[column, row] += sign * amount
                if not heavy[column, row]:
                    del heavy[column, row]

    def overloaded(self, row: int) -> bool:
        """Whether more is used of a node than a column can say."""
        return any(where == row and sum_ > MOST_USED for (_, where), sum_ in self._heavy.items())

    def load(self) -> tuple[Ints, Ints]:
        """What is used of every resource on every node, and the part of it that belongs to the nodes.

        Columns add up modulo 2**64, so what is taken back is taken back exactly; where pods that no node
        could hold together add up to more than a column holds, the node counts as full and more.
        """
        height, width = len(self.resources), len(self._names)
        sums = []
        for amounts, heavy in ((self.used, self._heavy), (self.fixed, self._heavy_fixed)):
            known = amounts[:height, :width].copy()
            for place, sum_ in heavy.items():
                if sum_ > MOST_USED:
                    known[place] = MOST_USED
            sums.append(known)
        return sums[0], sums[1]

    def release(self, row: int) -> None:
        """Give a row back once neither a Node nor a pod needs it. To views it is a row without a Node, which
        nothing reads; the next view has the next Node or pod that gets it."""
        if not self._alive[row] and not self.used[:, row].any():
            self.absent.discard(self._names[row])
            del self.rows[self._names[row]]
            self._names[row] = ""
            self._free_rows.append(row)

    def row(self, name: str) -> int:
        """The row of a node; made for it if a pod names it before its Node is seen."""
        row = self.rows.get(name)
        if row is None:
            row = self._free_rows.pop() if self._free_rows else self._new_row()
            self.rows[name] = row
            self._names[row] = name
            self.absent.add(name)
            self._view = None
        return row

    def _new_row(self) -> int:
        self._names.append("")
        self._alive.append(False)
        self._labels.append({})
        self._taints.append(0)
        self._images.append(())
        self._features.append(0)
        if len(self._names) > self.allocatable.shape[1]:
            self._grow(1)
        return len(self._names) - 1

    def resource(self, name: str) -> int:
        """The column of something that a node has."""
        column = self.resources.get(name)
        if column is None:
            column = self.resources[name] = len(self.resources)
            self._view = None
            if column >= self.allocatable.shape[0]:
                self._grow(0)
        return column

    def _grow(self, axis: int) -> None:
        for name in ("allocatable", "used", "fixed", "missing"):
            array: Ints = getattr(self, name)
            more = [(0, 0), (0, 0)]
            more[axis] = (0, max(array.shape[axis], 8))
            setattr(self, name, np.pad(array, more))

    def _set_amounts(self, row: int, have: Amounts) -> bool:
        columns = [self.resource(name) for name in have]
        before = self.allocatable[:, row].copy()
        self.allocatable[:, row] = 0
        self.allocatable[columns, row] = list(have.values())
        return bool((before != self.allocatable[:, row]).any())

    def view(self) -> NodeView:
        if self._view is None:
            height, width = len(self.resources), len(self._names)
            self._view = NodeView(
                names=tuple(self._names),
                alive=np.array(self._alive, dtype=np.bool_),
                resources=tuple(self.resources),
                allocatable=self.allocatable[:height, :width].copy(),
                labels=tuple(self._labels),
                taint_ids=np.array(self._taints, dtype=np.int32),
                taint_sets=tuple(self._taint_sets),
                images=tuple(self._images),
                feature_ids=np.array(self._features, dtype=np.int32),
                feature_sets=tuple(self._feature_sets),
                unwell=dict(self.unwell),
                missing=self.missing_view(),
            )
        return self._view
