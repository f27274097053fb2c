"""Reading raw documents: every wrong type is an error that names the object and the field."""

from datetime import UTC, date, datetime
from typing import Any


class Doc:
    """One JSON object inside a larger one, which remembers where it stands so that errors can say so."""

    def __init__(self, raw: Any, name: str, path: str = "") -> None:
        if raw is not None and not isinstance(raw, dict):
            raise ValueError(f"{name}: {path or 'object'}: must be an object")
        self.raw: dict[str, Any] = raw or {}
        self.name = name
        self.path = path

    def where(self, field: str) -> str:
        return f"{self.path}.{field}" if self.path else field

    def error(self, field: str, problem: str) -> ValueError:
        return ValueError(f"{self.name}: {self.where(field)}: {problem}")

    def given(self, field: str) -> bool:
        """Whether the field is there; null counts as absent, as it does for an API server."""
        return self.raw.get(field) is not None

    def doc(self, field: str) -> "Doc":
        """The object in a field; an absent one reads as empty."""
        return Doc(self.raw.get(field), self.name, self.where(field))

    def docs(self, field: str) -> list["Doc"]:
        """The list of objects in a field; an absent one reads as empty."""
        return [Doc(item, self.name, f"{self.where(field)}[{i}]") for i, item in enumerate(self.items(field))]

    def items(self, field: str) -> list[Any]:
        value = self.raw.get(field)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.error(field, "must be a list")
        return value

    def texts(self, field: str) -> list[str]:
        values = self.items(field)
        if not all(isinstance(value, str) for value in values):
            raise self.error(field, "must be a list of strings")
        return list(values)

    def text(self, field: str, default: str = "") -> str:
        value = self.raw.get(field)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.error(field, "must be a string")
        return value

    def integer(self, field: str, default: int = 0) -> int:
        value = self.raw.get(field)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(field, "must be a whole number")
        return value

    def flag(self, field: str) -> bool:
        value = self.raw.get(field)
        if value is not None and not isinstance(value, bool):
            raise self.error(field, "must be true or false")
        return bool(value)

    def strings(self, field: str) -> dict[str, str]:
        """A map of strings, such as labels."""
        value = self.doc(field).raw
        for key, text in value.items():
            if not all(isinstance(part, str) for part in (key, text)):
                raise self.error(field, f"{key!r} must be a string with a string value")
        return dict(value)

    def moment(self, field: str) -> float | None:
        """A timestamp as seconds since the epoch. YAML hands out dates already parsed, JSON as text."""
        value = self.raw.get(field)
        if value is None:
            return None
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                raise self.error(field, "must be a timestamp (RFC 3339)") from None
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        if not isinstance(value, datetime):
            raise self.error(field, "must be a timestamp (RFC 3339)")
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
