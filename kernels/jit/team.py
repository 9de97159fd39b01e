"""A second thread for generated code, which needs no interpreter: the caller leaves it a job, and does the same job meanwhile.

A job says what to do and counts the pieces that are taken. Both threads take pieces until none is left, so neither waits for the
other's start: where the helper has not begun by then, the caller takes the job back. Only a helper's last piece may have to be
waited for, in a loop as long as pieces take, and then asleep: that thread has lost its core.

The helper looks for another job for a moment, then sleeps where the next caller wakes it, and after a while it ends. On a system
without futexes it is Python that wakes it, and no one sleeps in the middle of a job.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
import threading
from collections.abc import Callable, Sequence

from actorflow.runtime.codegen import llvm

from ..shared.apart import Apart
from ..shared.helping import Helper

_IDLE_NS = 200_000_000
_SPIN = 6_000
"""How often the helper looks for another job before it sleeps: some 150 µs, in which a graph comes to its next large node.
To wake it takes as long as a third of that."""
_TURNS = 1_000
"""How often the caller looks whether the helper is through, for each piece of its own and once more: some 25 µs."""
_FUTEX = {"x86_64": 202, "aarch64": 98}.get(platform.machine()) if sys.platform == "linux" else None
_WAIT, _WAKE = 128, 129  # among the threads of this process
_PAUSES = {"x86_64": ("@llvm.x86.sse2.pause", "", ""), "aarch64": ("@llvm.aarch64.hint", "i32", " 1")}
_PAUSE = _PAUSES.get(platform.machine())
_LINE = 8  # words of a line of the cache
# Words of the desk, and of a job: its function, its state, how many pieces are taken, then count, piece and parameters.
_JOB, _SLEEPS, _SERVED = 0, 1, 2
_STATE, _TAKEN, _COUNT, _PIECE, _GIVEN = 1, 2, 3, 4, 5
_RUNS, _OVER, _AWAITED = 0, 1, 2


def _libc(name: str) -> str:
    """The address of a function of the C library."""
    return f"inttoptr (i64 {ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value} to ptr)"


def _pause(declares: bool = False) -> list[str]:
    """Leaves the core to its other thread, where it has two, while this one looks again and again."""
    if _PAUSE is None:
        return []
    name, kind, value = _PAUSE
    return [f"declare void {name}({kind})"] if declares else [f"  call void {name}({kind}{value})"]


def _wake(place: str) -> str:
    given = f"i64 {_FUTEX}, ptr {place}, i64 {_WAKE}, i64 1"
    return f"  call i64 (i64, ...) {_libc('syscall')}({given})"


def _wait(place: str, value: int, most: str) -> str:
    given = f"i64 {_FUTEX}, ptr {place}, i64 {_WAIT}, i64 {value}, ptr {most}, i64 0, i64 0"
    return f"call i64 (i64, ...) {_libc('syscall')}({given})"


def _serve_text() -> str:
    """`@serve(desk)`: does the jobs on the desk until there has been none for a while."""
    lines = [*_pause(declares=True), f"@idle = internal constant {{ i64, i64 }} {{ i64 0, i64 {_IDLE_NS} }}"]
    lines += ["define i32 @serve(ptr %desk) {", "entry:", f"  %sleeps = getelementptr i64, ptr %desk, i64 {_SLEEPS}"]
    lines += [f"  %served = getelementptr i64, ptr %desk, i64 {_SERVED}", "  br label %fresh", "fresh:"]
    lines += ["  br label %look", "look:", "  %turn = phi i64 [ 0, %fresh ], [ %turn.next, %again ]"]
    lines += ["  %seen = load atomic i64, ptr %desk seq_cst, align 8", "  %none = icmp eq i64 %seen, 0"]
    lines += ["  br i1 %none, label %again, label %take", "take:"]
    lines += ["  %number = atomicrmw xchg ptr %desk, i64 0 seq_cst", "  %gone = icmp eq i64 %number, 0"]
    lines += ["  br i1 %gone, label %fresh, label %work", "work:", "  %job = inttoptr i64 %number to ptr"]
    lines += ["  %function = load ptr, ptr %job", "  %pieces = call i64 %function(ptr %job)"]
    lines += [f"  %state = getelementptr i64, ptr %job, i64 {_STATE}"]
    lines += [f"  %before = atomicrmw xchg ptr %state, i64 {_OVER} seq_cst"]
    if _FUTEX is not None:
        lines += [f"  %awaited = icmp eq i64 %before, {_AWAITED}", "  br i1 %awaited, label %tell, label %fresh"]
        lines += ["tell:", _wake("%state")]
    lines += ["  br label %fresh", "again:", *_pause(), "  %turn.next = add i64 %turn, 1"]
    lines += [f"  %tired = icmp eq i64 %turn.next, {_SPIN}", "  br i1 %tired, label %rest, label %look", "rest:"]
    if _FUTEX is not None:
        lines += ["  store atomic i64 1, ptr %sleeps seq_cst, align 8"]
        lines += ["  %last = load atomic i64, ptr %desk seq_cst, align 8", "  %still = icmp eq i64 %last, 0"]
        lines += ["  br i1 %still, label %sleep, label %up", "sleep:", f"  %woken = {_wait('%sleeps', 1, '@idle')}"]
        # Who leaves a job also says that no one sleeps any more, perhaps before the system has heard of the sleep.
        lines += ["  %slept = atomicrmw xchg ptr %sleeps, i64 0 seq_cst", "  %unasked = icmp ne i64 %slept, 0"]
        lines += ["  %late = icmp ne i64 %woken, 0", "  %leaves = and i1 %late, %unasked"]
        lines += ["  br i1 %leaves, label %leave, label %fresh", "up:"]
        lines += ["  store atomic i64 0, ptr %sleeps seq_cst, align 8", "  br label %fresh", "leave:"]
    lines += ["  store atomic i64 0, ptr %served seq_cst, align 8"]
    return "\n".join([*lines, "  ret i32 0", "}"])


def share_text(parameters: Sequence[str], name: str = "share") -> str:
    """`@share(desk, count, piece, parameters...)`, for a `@part(begin, count, parameters...)` with parameters of these
    types. Where the desk is 0, or has a job already, the caller does it all."""
    declared = "".join(f", {kind} %x{i}" for i, kind in enumerate(parameters))
    words = [("ptr", "@pieces"), ("i64", f"{_RUNS}"), ("i64", "0"), ("i64", "%count"), ("i64", "%piece")]
    words += [(kind, f"%x{i}") for i, kind in enumerate(parameters)]
    lines = [*_pause(declares=True), *_pieces(parameters)]
    lines += [f"define i32 @{name}(ptr %desk, i64 %count, i64 %piece{declared}) {{", "entry:"]
    lines += [f"  %job = alloca [{len(words) + _LINE} x i64], align 64"]
    for i, (kind, value) in enumerate(words):
        lines += [f"  %word{i} = getelementptr i64, ptr %job, i64 {i}", f"  store {kind} {value}, ptr %word{i}"]
    lines += ["  %alone = icmp eq ptr %desk, null", "  br i1 %alone, label %all, label %post", "all:"]
    lines += ["  %every = call i64 @pieces(ptr %job)", "  br label %done", "post:"]
    lines += ["  %number = ptrtoint ptr %job to i64"]
    lines += ["  %posting = cmpxchg ptr %desk, i64 0, i64 %number seq_cst seq_cst"]
    lines += ["  %posted = extractvalue { i64, i1 } %posting, 1", "  br i1 %posted, label %call, label %all", "call:"]
    if _FUTEX is not None:
        lines += [f"  %sleeps = getelementptr i64, ptr %desk, i64 {_SLEEPS}"]
        lines += ["  %asleep = load atomic i64, ptr %sleeps seq_cst, align 8", "  %deaf = icmp ne i64 %asleep, 0"]
        lines += ["  br i1 %deaf, label %rouse, label %both", "rouse:"]
        lines += ["  %slept = atomicrmw xchg ptr %sleeps, i64 0 seq_cst", _wake("%sleeps")]
    lines += ["  br label %both", "both:", "  %mine = call i64 @pieces(ptr %job)"]
    lines += ["  %taking = cmpxchg ptr %desk, i64 %number, i64 0 seq_cst seq_cst"]
    lines += ["  %back = extractvalue { i64, i1 } %taking, 1", "  br i1 %back, label %done, label %begun", "begun:"]
    lines += [f"  %more = add i64 %mine, 1\n  %turns = mul i64 %more, {_TURNS}", "  br label %look", "look:"]
    lines += ["  %turn = phi i64 [ 0, %begun ], [ %turn.next, %again ]"]
    lines += [f"  %state = load atomic i64, ptr %word{_STATE} seq_cst, align 8"]
    lines += [f"  %over = icmp eq i64 %state, {_OVER}", "  br i1 %over, label %done, label %again", "again:"]
    lines += [*_pause(), "  %turn.next = add i64 %turn, 1", "  %tired = icmp eq i64 %turn.next, %turns"]
    lines += ["  br i1 %tired, label %late, label %look", "late:"]
    if _FUTEX is None:
        lines += [f"  call i32 {_libc('usleep')}(i32 20)", "  br label %begun"]
    else:
        lines += [f"  %saying = cmpxchg ptr %word{_STATE}, i64 {_RUNS}, i64 {_AWAITED} seq_cst seq_cst"]
        lines += ["  br label %nap", "nap:", f"  %after = load atomic i64, ptr %word{_STATE} seq_cst, align 8"]
        lines += [f"  %ended = icmp eq i64 %after, {_OVER}", "  br i1 %ended, label %done, label %sleep", "sleep:"]
        lines += [f"  %woken = {_wait(f'%word{_STATE}', _AWAITED, 'null')}", "  br label %nap"]
    return "\n".join([*lines, "done:", "  ret i32 0", "}"])


def _pieces(parameters: Sequence[str]) -> list[str]:
    """`@pieces(job)`: takes pieces of a job until none is left, and gives how many they were."""
    lines = ["define internal i64 @pieces(ptr %job) noinline {", "entry:"]
    lines += [f"  %taken = getelementptr i64, ptr %job, i64 {_TAKEN}"]
    given = ""
    for i, (kind, name) in enumerate([("i64", "count"), ("i64", "piece"), *((k, "") for k in parameters)]):
        name = name or f"x{i - 2}"
        lines.append(f"  %{name}.at = getelementptr i64, ptr %job, i64 {_COUNT + i}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}.at")
        given += f", {kind} %{name}" if i >= 2 else ""
    lines += ["  br label %claim", "claim:", "  %done = phi i64 [ 0, %entry ], [ %done.next, %work ]"]
    lines += ["  %begin = atomicrmw add ptr %taken, i64 %piece seq_cst", "  %left = icmp slt i64 %begin, %count"]
    lines += ["  br i1 %left, label %work, label %over", "work:", "  %rest = sub i64 %count, %begin"]
    lines += ["  %short = icmp slt i64 %piece, %rest", "  %some = select i1 %short, i64 %piece, i64 %rest"]
    lines += [f"  call void @part(i64 %begin, i64 %some{given})", "  %done.next = add i64 %done, 1"]
    return [*lines, "  br label %claim", "over:", "  ret i64 %done", "}"]


class Team:
    """The desk on which a caller leaves a job, and the thread that looks there."""

    def __init__(self) -> None:
        memory = (ctypes.c_char * 256)()
        start = -ctypes.addressof(memory) % 64
        self._words = (ctypes.c_int64 * 3).from_buffer(memory, start)
        self._address = ctypes.addressof(self._words)
        self._helper = Helper(idle=0.02)
        self._thread: int | None = None
        self._apart = Apart()

    def desk(self) -> int:
        """Where to leave a job. There is a thread that serves it, or there will be one."""
        if not self._words[_SERVED]:
            self._words[_SERVED] = 1
            self._thread = None
            self._helper.add([(self._work, ())])
        self._apart.keep(self._thread)
        return self._address

    @property
    def looks(self) -> bool:
        """Whether that thread looks for a job: one that sleeps needs some 40 µs first."""
        return self._thread is not None and not self._words[_SLEEPS]

    def _work(self) -> None:
        self._thread = threading.get_native_id()
        _serve()(self._address)

    def forget(self) -> None:
        """In a child process no thread is left."""
        self._words[:] = [0, 0, 0]
        self._thread = None
        self._helper = Helper(idle=0.02)


@functools.cache
def _serve() -> Callable[..., int]:
    code = llvm.compiled(_serve_text())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))  # a thread may be in it when the interpreter ends
    return code.bind("serve", ctypes.c_void_p, releases=True)


def prepare() -> None:
    """Compiles what the helper runs, in good time."""
    _serve()


team = Team()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=team.forget)
