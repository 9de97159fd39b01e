"""Gives mutated files to parsers, within bounds of time and memory: `python fuzz_parsers.py SEED COUNT [NAME...]`.

Each input that ends otherwise than by a value or one of the parser's errors is a line of JSON: the parser, the seed, what came,
and the place. An input may take two seconds of processor time and 256 MiB.
"""

from __future__ import annotations

import json
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any

import anyio

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from base.parsers.parsers import PARSERS, Parser

SECONDS = 2.0
RESIDENT = 256 << 20
VIRTUAL = 3 << 30
"""Bytes that a process may ask for beyond those that it has at its start, whether it writes to them or not."""


class TooLongError(BaseException):
    """An input takes more processor time than it may."""


def _late(*_: Any) -> None:
    raise TooLongError


def _status(field: str, *, again: bool = False) -> int:
    """A size of this process in bytes, as Linux tells it. With `again`, the highest one is counted from now on."""
    if again:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


async def _fault(parser: Parser, data: bytes, folder: Path) -> str | None:
    """The fault of a parser with an input; None where there is none."""
    before, begun = _status("VmHWM", again=True), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, 4 * SECONDS)
    try:
        await parser.parse(data, folder)
    except (Exception, TooLongError) as error:
        if isinstance(error, parser.errors) or isinstance(error, parser.plain) and re.search(parser.says, str(error)):
            return None
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:200]} at {place.filename}:{place.lineno}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if (seconds := time.process_time() - begun) > SECONDS:
        return f"{seconds:.1f} s of processor time"
    if (size := _status("VmHWM") - before) > RESIDENT:
        return f"{size >> 20} MiB"
    return None


async def faults(name: str, seed: int, count: int) -> list[dict[str, Any]]:
    """The faults of a parser over mutated inputs.

    Args:
        name: its name.
        seed: that of the first input; each other one has the next.
        count: how many inputs there are.
    """
    parser, noticed = PARSERS[name], []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        samples = await parser.samples(folder)
        for sample in samples:
            await parser.parse(sample, folder)  # the right ones are read
        for number in range(seed, seed + count):
            random = Random(f"{name} {number}")
            data = parser.mutate(random.choice(samples), random)
            if (fault := await _fault(parser, data, folder)) is not None:
                noticed.append({"parser": name, "seed": number, "fault": fault, "bytes": data[:4000].hex()})
    return noticed


async def main(seed: int, count: int, names: list[str]) -> None:
    """Runs the parsers of these names."""
    signal.signal(signal.SIGPROF, _late)
    await faults(names[0], 0, 1)  # all is imported, and threads are there
    most = _status("VmSize") + VIRTUAL
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for name in names:
        begun = time.process_time()
        noticed = await faults(name, seed, count)
        print(json.dumps({"parser": name, "seconds": time.process_time() - begun, "faults": noticed}), flush=True)


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or list(PARSERS))
