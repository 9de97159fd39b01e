"""Mutants made from the syntax tree: each differs from the source in one expression or statement.

Comparisons are turned or moved by one, conditions negated, `and` and `or` exchanged, numbers and booleans changed, signs and
shifts turned, `min` and `max` exchanged, results replaced by None, statements removed (with their `await`). Nothing is changed
in texts, annotations, decorators of classes, and what only goes to the log or into an error's words: two sources with one
`normal_form` do the same.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

from mutants.mutant import ROOT, Mutant, function_at

MODULES = {
    "protocol": (
        "transports/shm/arena.py",
        "transports/zmq/auth.py",
        "transports/protocol/clocks.py",
        "transports/protocol/leases.py",
        "transports/channel.py",
        "transports/protocol/credit.py",
        "transports/endpoint.py",
        "transports/protocol/events.py",
        "transports/protocol/frames.py",
        "transports/protocol/handshake.py",
        "transports/protocol/inbox.py",
        "transports/protocol/receiver.py",
        "transports/local.py",
        "transports/local_endpoint.py",
        "transports/zmq/monitor.py",
        "transports/protocol/outbox.py",
        "transports/protocol/connection.py",
        "transports/protocol/sender.py",
        "transports/shm/endpoint.py",
        "transports/shm/channel.py",
        "transports/zmq/sockets.py",
        "transports/protocol/tensors.py",
        "transports/zmq/endpoint.py",
        "transports/zmq/channel.py",
        "transports/zmq/accepted_channel.py",
        "transports/zmq/connected_channel.py",
        "transports/zmq/sealing.py",
        "actorflow/cluster/wire/rpc.py",
    ),
    "supervisor": (
        "actorflow/training/supervisor/recovery/attempts.py",
        "actorflow/training/supervisor/blocking.py",
        "actorflow/training/supervisor/recovery/epochs.py",
        "actorflow/training/supervisor/events.py",
        "actorflow/training/supervisor/recovery/run_gate.py",
        "actorflow/training/supervisor/recovery/failure_classifier.py",
        "actorflow/training/supervisor/recovery/manager.py",
        "actorflow/training/supervisor/liveness.py",
        "actorflow/training/supervisor/model_state.py",
        "actorflow/training/supervisor/monitor.py",
        "actorflow/training/supervisor/recovery/restarts.py",
        "actorflow/training/supervisor/saves.py",
        "actorflow/training/supervisor/supervisor.py",
        "actorflow/training/supervisor/watch.py",
    ),
    "checkpoint": (
        "checkpoint/command.py",
        "actorflow/engine/formats/compare.py",
        "checkpoint/stores/files.py",
        "checkpoint/kernels.py",
        "checkpoint/format/layout.py",
        "checkpoint/format/manifest.py",
        "checkpoint/reading.py",
        "actorflow/engine/formats/regions.py",
        "checkpoint/stores/remote.py",
        "checkpoint/snapshot.py",
        "checkpoint/standard.py",
        "checkpoint/stores/store.py",
        "checkpoint/writing.py",
        "actorflow/models/train/saving/checkpoints.py",
        "actorflow/models/train/saving/saver.py",
    ),
}
"""The modules that are mutated, by their part."""

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_LOGGED = frozenset({"debug", "info", "warning", "error", "exception", "critical"})
_FACTS = frozenset({"hint", "details"})  # words of an error


# ---- what a change makes


def _other_expressions(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions that may stand in the place of one."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=right):
            for other in _COMPARISONS[type(op)]:
                yield ast.Compare(left, [other()], right)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield operand
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS and not (
            _is_text(left) or _is_text(right)
        ):
            yield ast.BinOp(left, _OPERATORS[type(op)](), right)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(value + 1.0)
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=args, keywords=keywords):
            yield ast.Call(ast.Name("max" if name == "min" else "min", ast.Load()), args, keywords)


def _other_statements(node: ast.stmt) -> Iterator[ast.stmt]:
    """The statements that may stand in the place of one."""
    match node:
        case ast.If(test=test):
            if not isinstance(test, ast.Compare):  # a comparison is turned by itself
                yield ast.If(ast.UnaryOp(ast.Not(), test), node.body, node.orelse)
        case ast.Return(value=value) if value is not None and not _is_nothing(value):
            yield ast.Return(ast.Constant(None))
        case ast.AugAssign(target=target, op=op, value=value):
            yield ast.Pass()
            if type(op) in _OPERATORS:
                yield ast.AugAssign(target, _OPERATORS[type(op)](), value)
        case ast.Expr(value=value) if not isinstance(value, ast.Constant | ast.Yield):
            yield ast.Pass()
        case ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()


def _is_nothing(node: ast.expr) -> bool:
    """Whether it is None, or False, which those who ask take for the same."""
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, str)


# ---- what counts


def _is_log(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="_LOG"), attr=attr)):
            return attr in _LOGGED
    return False


class _Bare(ast.NodeTransformer):
    """Leaves out what does nothing: documentation, annotations, words for people."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Constant) or _is_log(node.value):
            return ast.Pass()
        return self.generic_visit(node)

    def visit_Pass(self, node: ast.Pass) -> ast.AST | None:
        return ast.Pass()

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        if node.name in ("__repr__", "__str__") or "abstractmethod" in map(ast.unparse, node.decorator_list):
            node.body = [ast.Pass()]
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = []  # that records are frozen and slotted is for those who write code
        if any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases):
            node.body = [ast.Pass()]
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return ast.Pass()
        return self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return ast.Constant("") if self._in_words else self.generic_visit(node)

    _in_words = False

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call):
            node.exc.args = [ast.Constant("") for _ in node.exc.args]
            node.exc.keywords = [word for word in node.exc.keywords if word.arg not in _FACTS]
        return self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        if node.arg in _FACTS:
            node.value = ast.Constant("")
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = (
            node.func.id
            if isinstance(node.func, ast.Name)
            else node.func.attr
            if isinstance(node.func, ast.Attribute)
            else ""
        )
        if name.endswith("Error") or name in ("PeerLost", "Differences"):
            node.args = [ast.Constant("") for _ in node.args]
        return self.generic_visit(node)


def normal_form(source: str) -> str:
    """The syntax tree without documentation, annotations and words for people, as text."""
    return ast.dump(_Bare().visit(ast.parse(source)))


# ---- all changes, and some of them


def sites(file: str) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Each node of a file that can be changed, with what stands in its place."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            yield from ((node, other) for other in _other_statements(node))
        if isinstance(node, ast.While):
            yield node.test, ast.UnaryOp(ast.Not(), node.test)
        for other in _other_expressions(node):
            yield node, other


def _written(other: ast.AST, node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(other))
    return f"({text})" if isinstance(node, ast.expr) and not isinstance(other, ast.Constant | ast.Call) else text


def _replaced(source: bytes, node: ast.AST, other: ast.AST) -> tuple[str, str, str]:
    """The source with another node in the place of one, and the first line of that place before and after."""
    lines = source.splitlines(keepends=True)
    begin = sum(map(len, lines[: node.lineno - 1])) + node.col_offset  # type: ignore[attr-defined]
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset  # type: ignore[attr-defined]
    if isinstance(node, ast.If):  # only its head, so that comments and formatting stay
        end = sum(map(len, lines[: node.test.end_lineno - 1])) + node.test.end_col_offset  # type: ignore[operator]
        is_elif = source[begin : begin + 4] == b"elif"
        text = f"{'elif' if is_elif else 'if'} not ({ast.unparse(node.test)})"
    else:
        text = _written(other, node).replace("\n", "\n" + " " * node.col_offset)  # type: ignore[attr-defined]
    first = source.rfind(b"\n", 0, begin) + 1
    last = source.find(b"\n", end)
    changed = source[:begin] + text.encode() + source[end:]
    was = " ".join(source[first:last].decode().split())
    becomes = " ".join((source[first:begin] + text.encode() + source[end:last]).decode().split())
    return changed.decode(), was, becomes


def changes(file: str) -> Iterator[Mutant]:
    """All changes of a file, also those that change no more than words."""
    source = (ROOT / file).read_bytes()
    tree = ast.parse(source)
    for node, other in sites(file):
        changed, was, becomes = _replaced(source, node, other)
        line: int = node.lineno  # type: ignore[attr-defined]
        yield Mutant("", file, function_at(tree, line), line, was, becomes, changed)


def chosen(seed: int, first: int, count: int, files: Iterable[str] | None = None) -> list[Mutant]:
    """`count` mutants from the one of number `first` on, in an order that the seed makes. It depends on the mutants' text
    alone, so that an edit elsewhere leaves it as it is."""

    def rank(mutant: Mutant) -> bytes:
        return hashlib.sha256(repr((seed, mutant.key)).encode()).digest()

    every = list(files or (file for part in MODULES.values() for file in part))
    known = {normal_form((ROOT / file).read_text(encoding="utf-8")) for file in every}
    found: list[Mutant] = []
    for mutant in sorted((mutant for file in every for mutant in changes(file)), key=rank):
        try:
            form = normal_form(mutant.source)
        except SyntaxError:  # an exchange inside of an f-string, say, that has no place of its own
            continue
        if form not in known:
            known.add(form)
            found.append(replace(mutant, name=f"seed {seed}, number {len(found)}"))
            if len(found) == first + count:
                break
    return found[first:]
