"""Mistakes that users make, and what Python prints for each: at most 15 lines, none of them a frame of ours, with the line of
the program that is wrong, the reason, and what to do. Each is a script that ends with an uncaught error.

In a script `# <-` marks the line that has to be named. It begins with `import actorflow as af, numpy as np, anyio`, and one that
has an `await` is the body of a coroutine that `anyio.run` runs.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent

import pytest

MOST_LINES = 15
MARK = "# <-"
HEAD = "import actorflow as af, numpy as np, anyio, asyncio\n"
ASYNC_HEAD = "async def main():\n"
RUN = "anyio.run(main)\n"
RUNNER = Path(__file__).with_name("mistakes.py")
JARGON = ("gufunc", "core dimension", "operand", "broadcast together", "site-packages", "/asyncio/", "/anyio/")


@dataclass(frozen=True, slots=True)
class Mistake:
    """A script, and words that have to be in what is printed, in this order."""

    name: str
    source: str
    words: tuple[str, ...]

    @property
    def script(self) -> str:
        body = dedent(self.source).strip() + "\n"
        if re.search(r"\bawait\b|\basync with\b", body) or "af.Session(" in body:
            return f"{HEAD}{ASYNC_HEAD}{indent(body, '    ')}{RUN}"
        return HEAD + body

    @property
    def line(self) -> int | None:
        """The number of the line that has to be named."""
        lines = self.script.splitlines()
        return next((number for number, line in enumerate(lines, 1) if MARK in line), None)


def mistake(name: str, source: str, *words: str) -> Mistake:
    return Mistake(name, source, words)


SESSION = """
x = af.placeholder(af.float32, [None, 3], name="x")
y = af.reduce_sum(x, name="y")
async with af.Session() as session:
    feeds = {x: np.ones((2, 3))}
"""
BLOCKING = "session = af.blocking.Session()\n"


def within(body: str) -> str:
    """Lines inside of an open session with a placeholder `x`, a sum `y` and their `feeds`."""
    return SESSION + indent(dedent(body).strip(), "    ")


AWAIT = ("TypeError", "not awaited", "await session.run", "af.blocking.Session")

MISTAKES = [
    # ---- await and with
    mistake("await_add", within("print(session.run(y, feeds) + 1)  # <-"), *AWAIT),
    mistake("await_radd", within("print(1 + session.run(y, feeds))  # <-"), *AWAIT),
    mistake("await_numpy", within("print(np.float32(1) * session.run(y, feeds))  # <-"), *AWAIT),
    mistake("await_compare", within("print(session.run(y, feeds) < 3)  # <-"), *AWAIT),
    mistake("await_format", within("print(f'{session.run(y, feeds):.3f}')  # <-"), *AWAIT),
    mistake("await_index", within("print(session.run([y, y], feeds)[0])  # <-"), *AWAIT),
    mistake("await_unpack", within("a, b = session.run([y, y], feeds)  # <-"), *AWAIT),
    mistake(
        "await_attribute",
        within("print(session.run(x, feeds).shape)  # <-"),
        "AttributeError",
        "not awaited",
        "'shape'",
    ),
    mistake("await_float", within("print(float(session.run(y, feeds)))  # <-"), *AWAIT),
    mistake("await_if", within("if session.run(y, feeds):  # <-\n    pass"), *AWAIT),
    mistake("await_array", within("print(np.mean(session.run(x, feeds)))  # <-"), *AWAIT),
    mistake(
        "run_without_loop",
        "session = af.Session(graph=af.Graph())\ndef train():\n    return session.run('x') * 2  # <-\ntrain()",
        *AWAIT,
    ),
    mistake(
        "with", "with af.Session() as session:  # <-\n    pass", "TypeError", "`async with af.Session(", "blocking"
    ),
    mistake(
        "async_with",
        "async with af.blocking.Session() as session:  # <-\n    pass",
        *("TypeError", "`with af.blocking.Session(", "await session.run"),
    ),
    mistake(
        "await_blocking",
        "x = af.constant(1.0)\nwith af.blocking.Session() as session:\n    print(await session.run(x))  # <-",
        *("TypeError", "at once", "leave `await` out"),
    ),
    # ---- names
    mistake("range", "steps = af.range(10)  # <-", "AttributeError", "It is af.range_ here"),
    mistake("layers", "h = af.layers.dense(1.0, 10)  # <-", "AttributeError", "tf.layers", "af.get_variable"),
    mistake("typo", "loss = af.reduce_mena([1.0])  # <-", "AttributeError", "Did you mean af.reduce_mean"),
    mistake("typo_of_a_class", "session = af.Sesion()  # <-", "AttributeError", "Did you mean af.Session?"),
    mistake("typo_in_nn", "p = af.nn.sofmax([1.0])  # <-", "AttributeError", "Did you mean af.nn.softmax?"),
    mistake(
        "typo_in_math", "p = af.math.reduce_men([1.0])  # <-", "AttributeError", "Did you mean af.math.reduce_mean"
    ),
    mistake(
        "typo_in_train", "o = af.train.AdamOptimiser()  # <-", "AttributeError", "Did you mean af.train.AdamOptimizer"
    ),
    mistake(
        "typo_in_blocking", "s = af.blocking.session()  # <-", "AttributeError", "Did you mean af.blocking.Session?"
    ),
    mistake("capital", "x = af.placeholder(af.Float32)  # <-", "AttributeError", "Did you mean af.float32?"),
    mistake("of_another_namespace", "h = af.relu([1.0])  # <-", "AttributeError", "There is af.nn.relu."),
    mistake("later_name", "o = af.train.Adam()  # <-", "AttributeError", "Did you mean af.train.AdamOptimizer?"),
    mistake("other_spelling", "x = af.placeholder(af.double)  # <-", "AttributeError", "tf.double is af.float64 here"),
    mistake(
        "of_compat_only", "c = af.ConfigProto()  # <-", "AttributeError", "tf.ConfigProto is in actorflow.compat.v1"
    ),
    mistake(
        "error_class", "e = af.InvalidArgumentError  # <-", "AttributeError", "There is af.errors.InvalidArgumentError."
    ),
    mistake(
        "typo_in_compat",
        "import actorflow.compat.v1 as tf\nx = tf.nn.sofmax([1.0])  # <-",
        *("AttributeError", "not in actorflow.compat.v1", "Did you mean tf.nn.softmax?"),
    ),
]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """What each script prints, and its path."""
    folder = tmp_path_factory.mktemp("mistakes")
    paths = {m.name: folder / f"{m.name}.py" for m in MISTAKES}
    for each in MISTAKES:
        paths[each.name].write_text(each.script, encoding="utf-8")
    subprocess.run([sys.executable, RUNNER, *map(str, paths.values())], check=True)
    return {name: (Path(f"{path}.printed").read_text(encoding="utf-8"), str(path)) for name, path in paths.items()}


@pytest.mark.parametrize("each", MISTAKES, ids=lambda m: m.name)
def test_a_mistake_is_told_with_its_line_and_remedy(each: Mistake, printed: dict[str, tuple[str, str]]) -> None:
    text, path = printed[each.name]
    assert len(text.splitlines()) <= MOST_LINES, text
    assert f"{Path(af_folder())}/" not in text and not [word for word in JARGON if word in text], text
    position = 0
    for word in each.words:
        found = text.find(word, position)
        assert found >= 0, f"{word!r} is not there, or not in its place, in\n{text}"
        position = found
    assert each.line is not None, "the script marks no line"
    assert f'{path}", line {each.line}' in text or f"{path}:{each.line}" in text, f"line {each.line} in\n{text}"


def af_folder() -> str:
    return str(Path(__file__).parent.parent / "actorflow")
