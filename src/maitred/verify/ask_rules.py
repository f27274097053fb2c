"""What the checker reads of a Policy about nodes that are asked for."""

from dataclasses import dataclass

from .fields import Doc
from .times import duration


@dataclass(frozen=True)
class AskRules:
    """Thousandths of a second."""

    kind: str = ""
    """The class of requests; without one nobody asks."""
    after: int = 0
    keep: int = 0


def read_ask_rules(doc: Doc) -> AskRules:
    after, keep = duration(doc.text("after", "30s")), duration(doc.text("keep", "30m"))
    if after is None or keep is None:
        raise doc.error("after", "and keep must be durations such as 30s")
    return AskRules(doc.text("class"), after, keep)


NO_ASKS = AskRules()
