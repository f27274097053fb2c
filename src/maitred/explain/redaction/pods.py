"""What pods of strangers ask of nodes and of each other, what their labels are, and how they stand."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from maitred.cluster.snapshot import NAMESPACE_NAME, GroupRank, LabelClass, Snapshot, Standing
from maitred.decide.scoring import with_tag
from maitred.explain.redaction.aliases import MARK, Aliases
from maitred.explain.redaction.reports import wish
from maitred.explain.redaction.vocabulary import Vocabulary
from maitred.model.devices.extended import ExtendedResource
from maitred.model.needs import HostPort, Needs, NodeRequirements, PodTerm, SpreadTerm
from maitred.model.pod import PreferredNodeTerm
from maitred.model.policy import Policy
from maitred.model.protection import FIELDS, Protection
from maitred.model.queues import QUEUE, Payer
from maitred.model.runtime import LIMIT_MARKS, NO_STAY, Runtime, Stay
from maitred.model.selector import Labels, LabelSelector, Requirement, Selector, selector_of
from maitred.model.timing import WantedTimes

T = TypeVar("T")
U = TypeVar("U")
Amounts = tuple[tuple[str, int], ...]

UNREADABLE = "it cannot be read"
PREEMPTION_POLICIES = ("", "PreemptLowerPriority", "Never")
PROTOCOLS = ("TCP", "UDP", "SCTP")
ANY_ADDRESS = "0.0.0.0"


class LabelWords:
    """Keys and values of labels of pods and namespaces, as they are called in selectors and on objects."""

    def __init__(self, snapshot: Snapshot, policy: Policy, names: Aliases, words: Vocabulary) -> None:
        self._cluster, self._names, self._words = snapshot, names, words
        self._read = [*requirements(snapshot.needs), *(protecting(policy) or ()), *admitting(policy)]
        self._sought = {value: words.told(value) for one in self._read for value in one.values}
        """Values that some selector names. No other value matters."""

    def selector(self, selector: Selector | None) -> Selector | None:
        return None if selector is None else tuple(map(self.requirement, selector))

    def requirement(self, one: Requirement) -> Requirement:
        values = tuple(self._value(one.key, value) for value in one.values)
        return Requirement(self.key(one.key), one.operator, values)

    def label_selector(self, selector: LabelSelector) -> LabelSelector:
        return LabelSelector(match_expressions=self.selector(selector_of(selector)) or ())

    def key(self, key: str) -> str:
        return key if key == NAMESPACE_NAME else self._words.told(key)

    def _value(self, key: str, value: str) -> str:
        return self._names.namespace(value) if key == NAMESPACE_NAME else self._sought[value]

    def labels(self, labels: Labels) -> Labels:
        return {self.key(key): self._sought.get(value, MARK) for key, value in labels.items()}

    def classes(self) -> tuple[LabelClass, ...]:
        """Many are alike once their labels have no values: those that no selector names."""
        names, alike = self._names, dict[tuple[str, ...], LabelClass]()
        named = {number for numbers in self._classes_with().values() for number in numbers}
        found = list[LabelClass]()
        for number, one in enumerate(self._cluster.classes):
            if names.owns(one.namespace):
                found.append(one)
            elif number in named:
                found.append(LabelClass(names.namespace(one.namespace), self.labels(one.labels)))
            else:
                kind = (one.namespace, *one.labels)
                if kind not in alike:
                    labels = dict.fromkeys(map(self.key, one.labels), MARK)
                    alike[kind] = LabelClass(names.namespace(one.namespace), labels)
                found.append(alike[kind])
        return tuple(found)

    def classes_with(self) -> Mapping[tuple[str, str], Sequence[int]]:
        return {
            (self.key(key), self._sought[value]): numbers
            for (key, value), numbers in self._classes_with().items()
        }

    def _classes_with(self) -> Mapping[tuple[str, str], Sequence[int]]:
        known = self._cluster.classes_with
        return {
            (one.key, value): known.get((one.key, value), ()) for one in self._read for value in one.values
        }

    def namespace(self, name: str) -> Labels:
        labels = self._cluster.namespaces[name]
        if self._names.owns(name):
            return labels
        queue = {QUEUE: self._words.told(labels[QUEUE])} if QUEUE in labels else {}
        return {**self.labels(labels), **queue, NAMESPACE_NAME: self._names.namespace(name)}


class PodFields:
    def __init__(self, names: Aliases, words: Vocabulary, labels: LabelWords) -> None:
        self._names, self._words, self._labels = names, words, labels

    def needs(self, needs: Needs) -> Needs:
        term = self._term
        return Needs(
            namespace=self._names.namespace(needs.namespace),
            requests=self.amounts(needs.requests),
            node=self._node(needs.node),
            preferred_nodes=each(self._preferred, needs.preferred_nodes),
            tolerations=each(self._words.toleration, needs.tolerations),
            host_ports=each(self._port, needs.host_ports),
            affinity=each(term, needs.affinity),
            anti_affinity=each(term, needs.anti_affinity),
            preferred_pods=tuple((weight, term(one)) for weight, one in needs.preferred_pods),
            spread=each(self._spread, needs.spread),
            preferred_spread=each(self._spread, needs.preferred_spread),
            images=each(self.image, needs.images),
            device_claims=each(self._names.other, needs.device_claims),
            extended=each(self._extended, needs.extended),
            aside=self.amounts(needs.aside),
        )

    def amounts(self, amounts: Amounts) -> Amounts:
        return tuple((self._words.told(resource), amount) for resource, amount in amounts)

    def _extended(self, one: ExtendedResource) -> ExtendedResource:
        """The requests are named by numbers; containers are named by their users."""
        return ExtendedResource(self._words.told(one.resource), one.requests)

    def image(self, image: str) -> str:
        """With a tag, as the images of nodes are called."""
        return image if self._words.is_known(image) else f"{self._names.other(with_tag(image))}:{MARK}"

    def _node(self, node: NodeRequirements) -> NodeRequirements:
        return NodeRequirements(
            selector=each(self._words.requirement, node.selector),
            terms=None if node.terms is None else each(self._words.term, node.terms),
            features=node.features,
        )

    def _preferred(self, preferred: PreferredNodeTerm) -> PreferredNodeTerm:
        return PreferredNodeTerm(preferred.weight, self._words.term(preferred.preference))

    def _port(self, one: HostPort) -> HostPort:
        protocol = one.protocol if one.protocol in PROTOCOLS else self._names.other(one.protocol)
        ip = one.ip if one.ip == ANY_ADDRESS else self._words.told(one.ip)
        return HostPort(one.port, protocol, ip)

    def _term(self, term: PodTerm) -> PodTerm:
        return PodTerm(
            selector=self._labels.selector(term.selector),
            namespaces=each(self._names.namespace, term.namespaces),
            namespace_selector=self._labels.selector(term.namespace_selector),
            topology_key=self._words.key(term.topology_key),
        )

    def _spread(self, spread: SpreadTerm) -> SpreadTerm:
        return SpreadTerm(
            pods=self._term(spread.pods),
            max_skew=spread.max_skew,
            min_domains=spread.min_domains,
            honor_affinity=spread.honor_affinity,
            honor_taints=spread.honor_taints,
        )

    def standing(self, standing: Standing) -> Standing:
        return Standing(
            rank=self.rank(standing.rank),
            scheduler=self._words.told(standing.scheduler),
            protection=protection(standing.protection),
            runtime=runtime(standing.runtime),
            on_failure=wish(standing.on_failure),
        )

    def payer(self, payer: Payer) -> Payer:
        """Who share a queue, or a user, do so under the new names too."""
        return Payer(
            namespace=self._names.namespace(payer.namespace),
            queue=self._words.told(payer.queue),
            user=self._words.told(payer.user),
            problem=payer.problem and MARK,
        )

    def rank(self, rank: GroupRank) -> GroupRank:
        return GroupRank(
            priority=rank.priority,
            class_name=self._words.told(rank.class_name),
            preemption_policy=preemption_policy(rank.preemption_policy),
        )


def each(make: Callable[[U], T], items: tuple[U, ...]) -> tuple[T, ...]:
    """Most are empty."""
    return tuple(map(make, items)) if items else ()


def preemption_policy(text: str) -> str:
    return text if text in PREEMPTION_POLICIES else MARK


def protection(said: Protection) -> Protection:
    """Marks that cannot be read protect as well; what they say is told to nobody."""
    return Protection(
        last_checkpoint=said.last_checkpoint,
        checkpoint_interval=said.checkpoint_interval,
        min_runtime=said.min_runtime,
        non_preemptible=said.non_preemptible,
        unread=tuple((mark, UNREADABLE) for mark, _ in said.unread if mark in FIELDS),
    )


def runtime(said: Runtime) -> Runtime:
    return Runtime(
        expected=said.expected,
        limit=said.limit,
        grace=said.grace,
        unread=None if said.unread is None else MARK,
        endable=said.endable,
        stay=stay(said.stay),
    )


def stay(said: Stay) -> Stay:
    """The mark that asks for a limit is one of ours, or of the few others that are read."""
    if said is NO_STAY:
        return NO_STAY
    key = said.key if said.key in LIMIT_MARKS else ""
    wanted = said.timing
    timing = WantedTimes(wanted.deadline, wanted.not_before, (MARK,) if wanted.unread else ())
    return Stay(said.asked, key, said.deadline, said.endable, said.unread and MARK, timing)


def requirements(needs: Iterable[Needs]) -> Iterator[Requirement]:
    """All that is asked of the labels of pods and of their namespaces."""
    for one in needs:
        for term in one.pod_terms():
            yield from term.selector or ()
            yield from term.namespace_selector or ()


def protecting(policy: Policy) -> Selector | None:
    """Which namespaces may protect pods. Beside that, a policy says of namespaces only which queues they may
    use."""
    return selector_of(policy.preemption.protection.namespaces)


def admitting(policy: Policy) -> Iterator[Requirement]:
    """What queues ask of the labels of namespaces that use them."""
    for queue in policy.queues:
        yield from selector_of(queue.namespaces) or ()
