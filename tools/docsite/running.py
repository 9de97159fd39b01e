"""Runs the examples of one page: `python tools/docsite/running.py PAGE` prints what went wrong, and where."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import os
import shlex
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import anyio

from docsite.blocks import RUN, Block, blocks, commands, matches

SECONDS = 240
ROOT = Path(__file__).resolve().parents[2]


class PageError(Exception):
    """A block of a page does not do what the page says."""


async def run_page(page: Path) -> int:
    """Runs all blocks of a page in an empty folder, and gives their number.

    Raises:
        PageError: with the line in the page.
    """
    ran = 0
    names: dict[str, Any] = {"__name__": "page"}
    printed = ""
    text = page.read_text(encoding="utf-8")  # noqa: ASYNC240  (nothing else runs yet)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        sys.path.insert(0, folder)  # files of the page are modules
        for block in blocks(text):
            try:
                with anyio.fail_after(SECONDS):
                    printed = await _run(block, page, names, printed)
            except PageError as error:
                raise PageError(f"{page}:{block.line}: {error}") from None
            except Exception:
                raise PageError(f"{page}:{block.line}: the block raised\n{traceback.format_exc()}") from None
            ran += block.kind in RUN
    return ran


async def _run(block: Block, page: Path, names: dict[str, Any], printed: str) -> str:
    """Runs a block, and gives what it printed."""
    if block.kind in ("python", "setup"):
        if "anyio.run(" in block.text or "asyncio.run(" in block.text:
            _write(Path("example.py"), block.text)
            return await _shell(f"{shlex.quote(sys.executable)} example.py")
        return await _python(block, page, names)
    if block.kind == "file":
        _write(Path(block.argument), block.text)
    elif block.kind == "output":
        if not matches(block.text, printed):
            raise PageError(f"it prints\n{printed}\nand not\n{block.text}")
    elif block.kind == "console":
        for command, expected in commands(block.text):
            printed = await _shell(command)
            if expected.strip() and not matches(expected, printed):
                raise PageError(f"{command} prints\n{printed}\nand not\n{expected}")
        return printed
    elif block.kind == "command":
        check_commands(block.text)
    return printed


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


async def executed(source: str, file: str, names: dict[str, Any], mode: str = "exec") -> str:
    """Runs Python that may `await` at its top level, and gives what it printed."""
    code = compile(source, file, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        made = eval(code, names)
        if inspect.isawaitable(made):
            await made
    return printed.getvalue()


async def _python(block: Block, page: Path, names: dict[str, Any]) -> str:
    source = "\n" * (block.line - 1) + block.text  # lines in errors are those of the page
    try:
        printed = await executed(source, str(page), names)
    except Exception as error:
        if block.kind != "python" or block.argument not in [kind.__name__ for kind in type(error).__mro__]:
            raise
        return str(error)
    if block.argument:
        raise PageError(f"the block does not raise {block.argument}")
    return printed


async def _shell(command: str) -> str:
    """Gives what a command prints; it finds the `python` and the `actorflow` of this environment."""
    here = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}", "COLUMNS": "100"}
    done = await anyio.run_process(
        ["bash", "-c", command],
        stderr=subprocess.STDOUT,
        check=False,
        env={**os.environ, **here},
    )
    output = done.stdout.decode()
    if done.returncode:
        raise PageError(f"{command} ends with status {done.returncode}:\n{output}")
    return output


def check_commands(text: str) -> None:
    """Reads the lines of a text that call `actorflow`, as the command itself would.

    Raises:
        PageError: if one has an option that the command does not know.
    """
    from actorflow.frontends.cli.main import parser

    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[:1] != ["actorflow"] or any("..." in word for word in words):
            continue
        words = words[: words.index("&")] if "&" in words else words
        complaint = io.StringIO()
        try:
            with contextlib.redirect_stderr(complaint), contextlib.redirect_stdout(io.StringIO()):
                parser(words[1:]).parse_args(words[1:])
        except SystemExit as end:
            if end.code:
                raise PageError(f"{line}: {complaint.getvalue()}") from None


if __name__ == "__main__":
    os.environ["REPOSITORY"] = str(ROOT)  # for what only tests have
    try:
        count = anyio.run(run_page, Path(sys.argv[1]).resolve())
    except PageError as failure:
        sys.exit(str(failure))
    print(f"{sys.argv[1]}: {count} examples")
