"""`page`: the page of the command `actorflow`, from what its commands say of themselves."""

from __future__ import annotations

from actorflow.frontends.cli.main import parser
from actorflow.frontends.cli.shell.manual import sections


def page() -> str:
    """The page, with a section for each command."""
    parts = ["# The command `actorflow`", "This page is made from `actorflow --help`."]
    for one in sections(parser()):
        parts.append(f"## `{one.name}`\n\n{one.about}\n\n```text\n{one.usage}\n```")
        for title, rows in one.groups:
            listed = "\n".join(f"- `{head}`: {text}" if text else f"- `{head}`" for head, text in rows)
            parts.append(f"**{title}**\n\n{listed}")
    return "\n\n".join(parts) + "\n"
