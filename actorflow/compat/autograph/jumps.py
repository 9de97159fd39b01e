"""`break`, `continue` and `return` become flags, so that the statements behind them can be parts of a graph.

A `return` behind which nothing follows stays the end of its branch: `if c: return a` takes what follows it as its `else`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from actorflow.compat.autograph.names import has, within

RETURNED, RESULT = "ag_returned", "ag_result"
_LOOPS = (ast.For, ast.While)
_TRIES = (ast.Try, ast.TryStar)


@dataclass
class Jumps:
    """Rewrites the jumps of one function."""

    count: int = 0
    flags: list[str] = field(default_factory=list)
    """The names of all flags."""

    def function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The body of a function, whose result is bound to `RESULT` if it returns within other statements.

        Raises:
            ValueError: a `finally` jumps, which drops an exception.
        """
        for node in within(body):
            if isinstance(node, _TRIES) and (has(node.finalbody, ast.Return) or _own(node.finalbody)):
                raise ValueError(f"The finally in line {node.lineno} jumps, so the function is not rewritten.")
        if not any(has([statement], ast.Return) for statement in body if not isinstance(statement, ast.Return)):
            return self._loops(body)
        self.flags += [RETURNED]
        lowered = self._loops(self._returns(_normal(body)))
        return [*_lines(f"{RETURNED} = False", body[0]), *lowered, *_lines(f"return ag__.result({RESULT})", body[-1])]

    # ---- return

    def _returns(self, block: list[ast.stmt], in_loop: bool = False) -> list[ast.stmt]:
        lowered: list[ast.stmt] = []
        for place, statement in enumerate(block):
            if isinstance(statement, ast.Return):
                value = statement.value or ast.copy_location(ast.Constant(None), statement)
                target = ast.copy_location(ast.Name(RESULT, ast.Store()), statement)
                lowered.append(ast.copy_location(ast.Assign([target], value), statement))
                lowered += _lines(f"{RETURNED} = True", statement)
                if in_loop:
                    lowered.append(ast.copy_location(ast.Break(), statement))
                return lowered
            if not has([statement], ast.Return):
                lowered.append(statement)
                continue
            loop = isinstance(statement, _LOOPS)
            late = not in_loop and _has_late_else(statement, ast.Return)
            for owner, name, inner in _blocks(statement):
                setattr(owner, name, self._returns(inner, in_loop or (loop and name == "body")))
            if late:
                statement.orelse = [_guard(f"not {RETURNED}", statement.orelse, statement)]  # type: ignore[attr-defined]
            lowered.append(statement)
            rest = block[place + 1 :]
            if in_loop and loop:
                lowered.append(_guard(RETURNED, [ast.copy_location(ast.Break(), statement)], statement))
            elif rest and not in_loop:
                return [*lowered, _guard(f"not {RETURNED}", self._returns(rest), statement)]
        return lowered

    # ---- break and continue

    def _loops(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """The statements, in whose loops flags stand for `break` and `continue`."""
        rewritten: list[ast.stmt] = []
        for statement in block:
            for owner, name, inner in _blocks(statement):
                setattr(owner, name, self._loops(inner))
            rewritten += self._loop(statement) if isinstance(statement, _LOOPS) else [statement]
        return rewritten

    def _loop(self, loop: ast.For | ast.While) -> list[ast.stmt]:
        before: list[ast.stmt] = []
        own = _own(loop.body)
        if any(isinstance(node, ast.Continue) for node in own):
            flag = self._flag("continued")
            loop.body = [*_lines(f"{flag} = False", loop.body[0]), *_guarded(loop.body, ast.Continue, flag)]
        if any(isinstance(node, ast.Break) for node in own):
            flag = self._flag("broken")
            before = _lines(f"{flag} = False", loop)
            loop.body = _guarded(loop.body, ast.Break, flag)
            loop.ag_flag = flag  # type: ignore[union-attr]
            if loop.orelse:
                orelse, loop.orelse = loop.orelse, []
                return [*before, loop, _guard(f"not {flag}", orelse, loop)]
        elif loop.orelse:
            orelse, loop.orelse = loop.orelse, []
            return [*before, loop, *orelse]
        return [*before, loop]

    def _flag(self, what: str) -> str:
        self.count += 1
        self.flags.append(f"ag_{what}_{self.count}")
        return self.flags[-1]


def _blocks(statement: ast.stmt) -> list[tuple[ast.AST, str, list[ast.stmt]]]:
    """The blocks of statements within a statement of the same function: the node that has each, its field, and it."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return []
    owners = [statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
    blocks = [(owner, name, getattr(owner, name, None)) for owner in owners for name in ("body", "orelse", "finalbody")]
    return [(owner, name, block) for owner, name, block in blocks if isinstance(block, list) and block]


def _has_late_else(statement: ast.stmt, kind: type[ast.stmt]) -> bool:
    """Whether the body of a `try` has a jump, so that its `else` waits for the flag of the jump."""
    if not isinstance(statement, _TRIES) or not statement.orelse:
        return False
    return has(statement.body, ast.Return) if kind is ast.Return else _jumps(statement.body, kind)


def _jumps(block: Sequence[ast.stmt], kind: type[ast.stmt]) -> bool:
    return any(isinstance(node, kind) for node in _own(block))


def _own(block: Sequence[ast.stmt]) -> list[ast.AST]:
    """The jumps of a loop's own body, without those of inner loops."""
    jumps: list[ast.AST] = []
    for statement in block:
        if isinstance(statement, (ast.Break, ast.Continue)):
            jumps.append(statement)
        elif isinstance(statement, _LOOPS):
            jumps += _own(statement.orelse)
        else:
            for _, _, inner in _blocks(statement):
                jumps += _own(inner)
    return jumps


def _guarded(block: list[ast.stmt], kind: type[ast.stmt], flag: str) -> list[ast.stmt]:
    """The block, in which a flag stands for a jump, and what follows a possible jump waits for the flag."""
    guarded: list[ast.stmt] = []
    for place, statement in enumerate(block):
        if isinstance(statement, kind):
            return [*guarded, *_lines(f"{flag} = True", statement)]
        if not _jumps([statement], kind):
            guarded.append(statement)
            continue
        late = _has_late_else(statement, kind)
        for owner, name, inner in _blocks(statement):
            if not isinstance(statement, _LOOPS) or name == "orelse":
                setattr(owner, name, _guarded(inner, kind, flag))
        if late:
            statement.orelse = [_guard(f"not {flag}", statement.orelse, statement)]  # type: ignore[attr-defined]
        guarded.append(statement)
        if rest := block[place + 1 :]:
            guarded.append(_guard(f"not {flag}", _guarded(rest, kind, flag), statement))
        return guarded
    return guarded


def _normal(block: list[ast.stmt]) -> list[ast.stmt]:
    """The block. If a branch of an `if` returns, the statements behind that `if` stand in its other branch."""
    normal: list[ast.stmt] = []
    for place, statement in enumerate(block):
        normal.append(statement)
        if not isinstance(statement, ast.If):
            continue
        rest = block[place + 1 :]
        if rest and _ends(statement.body) and not _ends(statement.orelse):
            statement.orelse = [*statement.orelse, *rest]
            rest = []
        elif rest and statement.orelse and _ends(statement.orelse) and not _ends(statement.body):
            statement.body = [*statement.body, *rest]
            rest = []
        statement.body, statement.orelse = _normal(statement.body), _normal(statement.orelse)
        if place + 1 < len(block) and not rest:
            return normal
    return normal


def _ends(block: Sequence[ast.stmt]) -> bool:
    """Whether a block returns or raises in any case."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))


def _guard(test: str, body: list[ast.stmt], at: ast.stmt) -> ast.stmt:
    guard = _lines(f"if {test}: pass", at)[0]
    assert isinstance(guard, ast.If)
    guard.body = body
    return guard


def _lines(text: str, at: ast.AST) -> list[ast.stmt]:
    """Statements that stand in the program where another stands."""
    statements = ast.parse(text).body
    for statement in statements:
        for node in ast.walk(statement):
            ast.copy_location(node, at)
    return statements
