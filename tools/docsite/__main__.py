"""`python tools/docsite`: runs the examples of the pages, and makes the site: build/docs/html.

An example that fails, a warning of Sphinx or a dead link is an error.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docsite.blocks import RUN, blocks
from docsite.links import dead_links
from docsite.staging import DOCS, ROOT, stage

AT_ONCE = 2
OUTSIDE = ("actorflow/errors.md",)
"""Pages with examples outside of docs/; README.md and CONTRIBUTING.md have tests of their own."""


def with_examples(pages: Iterable[Path]) -> list[Path]:
    """Those of the pages that have something to run."""
    return [page for page in pages if any(block.kind in RUN for block in blocks(page.read_text(encoding="utf-8")))]


def run_examples(pages: list[Path]) -> list[str]:
    """Runs the examples of pages, each page in a process of its own, and gives what failed."""

    def run(page: Path) -> str:
        begun = time.monotonic()
        command = [sys.executable, str(Path(__file__).with_name("running.py")), str(page.relative_to(ROOT))]
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            print(f"{done.stdout.strip()}, {time.monotonic() - begun:.1f} s", flush=True)
        return "" if done.returncode == 0 else done.stderr or f"{page}: ended with {done.returncode}"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [failure for failure in pool.map(run, pages) if failure]


def make_site(out: Path) -> list[str]:
    """Makes the site below a folder, and gives what is wrong with it."""
    source, html = out / "source", out / "html"
    stage(source)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-n", "-W", "--keep-going", "-q", "-j", "2"]
    done = subprocess.run([*command, "-d", str(out / "doctrees"), str(source), str(html)], check=False)
    return dead_links(html) if done.returncode == 0 else ["Sphinx found the faults above"]


def main() -> int:
    """Does what the command line says; 0 where there was nothing to complain about."""
    reading = argparse.ArgumentParser(prog="docsite", description=__doc__)
    reading.add_argument("--out", type=Path, default=ROOT / "build" / "docs", help="the folder of what is made")
    reading.add_argument("--no-examples", action="store_true", help="make the site alone")
    reading.add_argument("--no-site", action="store_true", help="run the examples alone")
    reading.add_argument("pages", nargs="*", type=Path, help="whose examples are run; all pages unless given")
    arguments = reading.parse_args()
    pages = [page.resolve() for page in arguments.pages] or [
        *sorted(DOCS.rglob("*.md")),
        *(ROOT / page for page in OUTSIDE),
    ]
    faults = [] if arguments.no_examples else run_examples(with_examples(pages))
    if not arguments.no_site:
        faults += make_site(arguments.out.resolve())
        print(f"The site is {arguments.out.resolve()}/html/index.html")
    print(*faults, sep="\n", end="\n" if faults else "", file=sys.stderr)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
