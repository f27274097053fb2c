"""Device selectors of DRA: expressions in CEL, evaluated as Kubernetes 1.37 does.

The pieces, from the text on: `checking` parses and checks types, by the CEL library; `tree` is what comes
out; `reading` finds what of a device it can depend on; `evaluating` turns it into closures over
`functions`, which work on `values`; `selecting` puts them together. `comparing` finds what an expression
compares with a constant, so that another constant can be tried.
"""

from maitred.model.cel.comparing import ComparedConstant, comparisons, drivers_named, with_values
from maitred.model.cel.facts import AttributeValue, DeviceFacts
from maitred.model.cel.reading import Reads
from maitred.model.cel.selecting import Selector, SelectorError, selector
from maitred.model.cel.values import Quantity, Version, is_version

__all__ = [
    "AttributeValue",
    "ComparedConstant",
    "DeviceFacts",
    "Quantity",
    "Reads",
    "Selector",
    "SelectorError",
    "Version",
    "comparisons",
    "drivers_named",
    "is_version",
    "selector",
    "with_values",
]
