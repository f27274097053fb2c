"""`maitred import --check`, as a command."""

import json
from typing import Any

from click.testing import CliRunner

from maitred.cli import cli


def import_check(*arguments: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(cli, ["import", "--check", "-o", "json", *arguments])
    return result.exit_code, json.loads(result.stdout)
