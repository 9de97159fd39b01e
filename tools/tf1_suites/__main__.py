"""`make test-tf1`: how many tests of TensorFlow 1's libraries pass over actorflow, of those that pass on TensorFlow 1.15.

The libraries are looked up with pip, into `build/tf1`; nothing of them is kept in the repository.

    python tools/tf1_suites                                     all libraries
    python tools/tf1_suites trfl --only value_ops              some modules of one
    python tools/tf1_suites --peer /path/to/python3.7          compares with TensorFlow 1.15.5, which that Python has
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "tf1"
RUNNER = Path(__file__).with_name("one_module.py")


@dataclass(frozen=True, slots=True)
class Library:
    """A library, what its tests import beside it, and the test files that are left out, as patterns."""

    requirement: str
    needs: tuple[str, ...] = ()
    left_out: str = "^$"
    share: float = 0.9


LIBRARIES = {
    "tf_slim": Library("tf-slim==1.1.0", ("six", "mock", "pynose")),
    "trfl": Library(
        "trfl==1.2",
        ("dm-tree", "six", "wrapt", "decorator", "cloudpickle", "gast==0.2.2", "tensorflow-probability==0.8.0"),
    ),
    "tensor2tensor": Library(
        "tensor2tensor==1.15.7",
        ("six", "future", "gin-config", "mock", "sympy", "mpmath", "tf-slim==1.1.0", "tqdm", "requests"),
        # Of Keras, of TPUs and Mesh TensorFlow, of games and of programs that are to be installed.
        r"tpu|mtf_|keras|/rl/|envs/|gym_|dopamine|serving|insights|trax|v2",
    ),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A test: `passed`, `failed`, `error`, `skipped`, `import` or `unfinished`, and the last error."""

    name: str
    state: str
    cause: str


def main() -> int:
    """Runs the chosen libraries' tests, prints the counts, and returns 1 if a library is below its share."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY", help=", ".join(LIBRARIES))
    parser.add_argument("--only", default="", metavar="WORD", help="the test files whose path has the word")
    parser.add_argument("--peer", default="", metavar="PYTHON", help="a Python that has TensorFlow 1.15")
    parser.add_argument("--limit", type=int, default=600, metavar="SECONDS", help="for each test file")
    parser.add_argument("--causes", type=int, default=25, metavar="COUNT", help="the number of causes to print")
    arguments = parser.parse_args()
    below = False
    for name in arguments.libraries or LIBRARIES:
        below |= judge(name, arguments)
    return int(below)


def judge(name: str, arguments: argparse.Namespace) -> bool:
    """Runs the tests of a library and prints the counts; whether they are below its share."""
    library = LIBRARIES[name]
    folder = prepared(name, library)
    ours: list[Case] = []
    peers: dict[str, str] = {}
    for path in sorted((folder / name).rglob("*_test.py")):
        below = str(path.relative_to(folder))
        if re.search(library.left_out, below) or arguments.only not in below:
            continue
        module = below.removesuffix(".py").replace(os.sep, ".")
        cases = run_module([sys.executable, "-m", "actorflow", "tf"], module, folder, "ours", arguments.limit)
        ours += cases
        print(f"{module}: {counts(cases)}", flush=True)
        if arguments.peer:
            peers |= {case.name: case.state for case in peer_cases(arguments, module, folder)}
    if peers:
        passing = {name for name, state in peers.items() if state == "passed"}
        missing = passing - {case.name for case in ours}
        ours = [case for case in ours if case.name in passing or case.state == "import"]
        ours += [Case(each, "unfinished", "the module was not imported, or its time was up") for each in missing]
    judged = [case for case in ours if case.state not in ("skipped", "import")]
    passed = sum(case.state == "passed" for case in judged)
    share = passed / max(1, len(judged))
    beside = f"that pass on TensorFlow 1.15, of {len(peers)}" if peers else "(no peer)"
    print(f"== {library.requirement}: {passed} of {len(judged)} tests {beside}: {share:.1%}")
    causes = collections.Counter(kind(case.cause) for case in ours if case.state not in ("passed", "skipped"))
    for cause, count in causes.most_common(arguments.causes):
        print(f"{count:5} {cause}")
    return share < library.share


def prepared(name: str, library: Library) -> Path:
    """The folder with the library's files and, in `needs`, what its tests import. Both are looked up once."""
    folder = CACHE / name
    if not (folder / name).is_dir():
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "download", "--no-deps", "--dest", CACHE / "wheels", library.requirement], check=True)
        with zipfile.ZipFile(next((CACHE / "wheels").glob(f"{name}-*.whl"))) as wheel:
            wheel.extractall(folder)
        if library.needs:
            subprocess.run([*pip, "install", "--no-deps", "--target", folder / "needs", *library.needs], check=True)
    return folder


def run_module(command: list[str], module: str, folder: Path, side: str, limit: int) -> list[Case]:
    """The tests of a module, run by `command` in a process of their own."""
    results = CACHE / "results" / side / f"{module}.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)
    results.unlink(missing_ok=True)
    paths = [str(folder), *([str(folder / "needs")] if side == "ours" else [])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "TF_CPP_MIN_LOG_LEVEL": "3"}
    with open(results.with_suffix(".log"), "w") as log:
        words = [*command, str(RUNNER), module, str(results)]
        try:
            subprocess.run(words, cwd=folder, env=environment, stdout=log, stderr=log, timeout=limit)
        except subprocess.TimeoutExpired:
            print(f"{module}: its {limit} s are up", flush=True)
    if not results.exists():
        return [Case(module, "import", f"the process ended at once: see {results.with_suffix('.log')}")]
    rows = map(json.loads, results.read_text().splitlines())
    return [Case(row["test"], row["state"], row["cause"]) for row in rows]


def peer_cases(arguments: argparse.Namespace, module: str, folder: Path) -> list[Case]:
    """The same tests on TensorFlow 1.15, run once."""
    results = CACHE / "results" / "peer" / f"{module}.jsonl"
    if results.exists() and (rows := results.read_text().splitlines()):
        return [Case(row["test"], row["state"], row["cause"]) for row in map(json.loads, rows)]
    return run_module([arguments.peer], module, folder, "peer", arguments.limit)


def counts(cases: list[Case]) -> str:
    """A line such as `12 passed, 1 failed`."""
    return ", ".join(f"{count} {state}" for state, count in collections.Counter(case.state for case in cases).items())


def kind(cause: str) -> str:
    """The first line of an error without its numbers and names, so that errors of one kind are counted together."""
    line = cause.partition("\n")[0]
    return re.sub(r"\d+(\.\d+)?", "N", line)[:160]


if __name__ == "__main__":
    sys.exit(main())
