"""What a document of maitred's own is made of."""

from maitred.model.meta import Lean

NO_LIMIT = "none"


class Setting(Lean, frozen=True, forbid_unknown_fields=True, omit_defaults=False):
    """Part of a Policy. A field that is misspelt is an error, since ignoring it would change decisions."""
