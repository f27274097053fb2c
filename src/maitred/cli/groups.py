"""Commands that have commands: a name that none of them has gets the nearest one as an answer."""

from difflib import get_close_matches

import click

LEAST_LIKENESS = 0.6


class CommandGroup(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            ctx.fail(unknown_words(name, self.list_commands(ctx)))
        return super().resolve_command(ctx, args)


def unknown_words(name: str, known: list[str]) -> str:
    said = name[:100].lower()
    begun = [one for one in known if one.startswith(said)]
    near = begun or get_close_matches(said, known, 1, LEAST_LIKENESS)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
    return f"no such command {name[:100]!r}; {hint}"
