"""`search_apart`: a search in a process of its own, so that steps and the event loop go on undisturbed meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import fields
from typing import Any

import msgpack

from actorflow.base.process import machine as machines
from actorflow.base.reports.logs import get_logger
from actorflow.engine.placement.search.codec import decode_problem, encode_problem
from actorflow.engine.placement.search.problem import SearchProblem, SearchResult
from actorflow.engine.placement.search.search import search
from actorflow.errors import InternalError, ResourceExhaustedError

_TRIALS_A_SECOND = 300
_NICE = 10
_POLL = 0.1


def search_apart(
    problem: SearchProblem, seconds: float, *, seed: int = 0, stop: threading.Event | None = None
) -> SearchResult:
    """`search`, in another process, which gives way to others where the processor is busy. Blocks the calling thread.

    A program that can't start processes, as a frozen program, searches on the calling thread; a simulated machine, whose
    clock stands still meanwhile, goes by a number of trials.

    Args:
        seconds: of the search, with the start of the process.
        stop: ends the search when it is set.

    Raises:
        ResourceExhaustedError: no placement that it tries fits into the devices' memory.
    """
    stop = threading.Event() if stop is None else stop
    if not machines.current().is_real:
        return search(problem, trials=int(seconds * _TRIALS_A_SECOND), seed=seed, stop=stop.is_set)
    with tempfile.TemporaryFile() as question:  # a pipe would have to be filled and emptied at a time
        question.write(encode(problem, seconds, seed))
        question.seek(0)
        try:
            if getattr(sys, "frozen", False):
                raise OSError("a frozen program has no Python for another process")
            child = subprocess.Popen(
                [sys.executable, "-P", "-m", "actorflow.engine.placement.search.apart"],
                stdin=question,
                stdout=subprocess.PIPE,
                start_new_session=True,  # a Ctrl-C in the terminal is for the program
            )
        except OSError as error:
            get_logger("placement").info("the search has no process of its own", reason=str(error))
            return search(problem, seconds, seed=seed, stop=stop.is_set)
    answer = _awaited(child, stop)
    if stop.is_set():
        return search(problem, 0.0, seed=seed, stop=stop.is_set)
    if child.returncode:
        raise InternalError(f"The process that searched for a placement ended with status {child.returncode}.")
    answers = msgpack.unpackb(answer)
    if "refused" in answers:
        message, details, hint = answers["refused"]
        raise ResourceExhaustedError(message, details=details, hint=hint)
    improvements = tuple((int(trial), float(seconds)) for trial, seconds in answers.pop("improvements"))
    return SearchResult(**answers, improvements=improvements)


def _awaited(child: subprocess.Popen[bytes], stop: threading.Event) -> bytes:
    """The output of a process, which is killed when `stop` is set."""
    try:
        while True:
            try:
                return child.communicate(timeout=_POLL)[0]
            except subprocess.TimeoutExpired:
                if stop.is_set():
                    child.kill()
    finally:
        child.kill()  # nothing happens if the process has ended
        child.communicate()


def encode(problem: SearchProblem, seconds: float, seed: int) -> bytes:
    """A question to the other process, in msgpack's types. `decode` is the way back."""
    packed: bytes = msgpack.packb([encode_problem(problem), seconds, seed, time.monotonic()])
    return packed


def decode(packed: bytes) -> tuple[SearchProblem, float, int]:
    """The problem, the seconds that are left, and the seed of a question: the process has taken some to start."""
    problem, seconds, seed, sent = msgpack.unpackb(packed)
    return decode_problem(problem), max(seconds - (time.monotonic() - sent), 0.0), seed


def main() -> None:
    """Answers the question on the standard input."""
    os.nice(_NICE)
    problem, seconds, seed = decode(sys.stdin.buffer.read())
    reply: dict[str, Any]
    try:
        result = search(problem, seconds, seed=seed)
        reply = {field.name: getattr(result, field.name) for field in fields(result)}
    except ResourceExhaustedError as error:
        reply = {"refused": [error.message, list(error.details), error.hint]}
    sys.stdout.buffer.write(msgpack.packb(reply))


if __name__ == "__main__":
    main()
