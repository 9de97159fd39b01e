"""`standalone`: a model as one module of Python and an `.npz`, which need numpy alone."""

from __future__ import annotations

import contextlib
import keyword
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from actorflow import blocking
from actorflow.base.registry import kernel, opdef, plugins
from actorflow.engine.runtime.kernel_binding import list_position
from actorflow.errors import OpError, UnimplementedError
from actorflow.exchange.export.freezing import freeze
from actorflow.exchange.export.numpy_module.sources import ModuleSources
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.importing import import_graph_def
from actorflow.graph.graphdef.protos import GraphDef
from actorflow.graph.node import Node
from actorflow.public import public

_FLOW = frozenset({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"})


@public("af.export")
def standalone(
    path: str | os.PathLike[str],
    session: Any,
    outputs: Mapping[str, Any],
    inputs: Mapping[str, Any],
    given: Mapping[Any, Any] | None = None,
) -> Any:
    """Writes a model as one module of Python, and its weights as an `.npz` beside it. They need numpy and nothing else.

    The module has a function `predict(images)`, which takes arrays and gives a dict of arrays. It calls the kernels' own
    functions, whose sources are in the module, so its results are those of a session that computes by numpy, bit for bit.
    With a blocking session the call does without `await`.

    Example:
        >>> import runpy
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> y = x * af.Variable(3.0)
        >>> await session.run(af.global_variables_initializer())
        >>> await af.export.standalone("model.py", session, {"y": y}, {"x": x})
        >>> predict = runpy.run_path("model.py")["predict"]  # `from model import predict`, in a program
        >>> predict(np.array([1.0, 2.0], np.float32))
        {'y': [3. 6.]}

    Args:
        path: the module, a name that ends in `.py`. The weights get the ending `.npz`.
        session: a session that has the values.
        outputs: tensors by name.
        inputs: tensors by the names of `predict`'s parameters.
        given: values that replace tensors for good; see `freeze`.

    Raises:
        ValueError: the path or the name of an input is not valid.
        InvalidArgumentError: something that the outputs need writes state; see `freeze`.
        UnimplementedError: nodes can't be written: branches and loops, random numbers, functions of Python, files, and
            element types that numpy alone does not have, such as bfloat16. All of them are named.
    """
    file = Path(path)
    if file.suffix != ".py" or not file.stem.isidentifier():
        raise ValueError(f"The path of a module ends in the name of one, such as model.py, but it is {str(file)!r}.")
    for name in inputs:
        if not name.isidentifier() or keyword.iskeyword(name) or name == "np" or name.startswith("_"):
            raise ValueError(f"The input {name!r} can't be the name of a parameter.")

    def write(frozen: GraphDef) -> None:
        text, arrays = module_of(frozen, _names(outputs), _names(inputs), file.with_suffix(".npz").name)
        weights = file.with_suffix(".npz")
        parts = {f"{weights}.part": weights, f"{file}.part": file}  # the weights first: no module is there without them
        with contextlib.ExitStack() as stack:
            for part in parts:
                stack.callback(Path(part).unlink, missing_ok=True)
            with open(f"{weights}.part", "wb") as stream:
                np.savez(stream, **arrays)
            Path(f"{file}.part").write_text(text, encoding="utf-8")
            for part, whole in parts.items():
                os.replace(part, whole)

    if isinstance(session, blocking.Session):
        write(freeze(session, list(outputs.values()), list(inputs.values()), given))
        return None

    async def finish() -> None:
        write(await freeze(session, list(outputs.values()), list(inputs.values()), given))

    return finish()


def _names(tensors: Mapping[str, Any]) -> dict[str, str]:
    return {name: tensor if isinstance(tensor, str) else tensor.name for name, tensor in tensors.items()}


def module_of(
    frozen: GraphDef, outputs: Mapping[str, str], inputs: Mapping[str, str], weights: str
) -> tuple[str, dict[str, Any]]:
    """The source of the module of a frozen graph, and its arrays by name.

    Args:
        frozen: the graph.
        outputs: names of tensors by name.
        inputs: the same for inputs.
        weights: the name of the file with the arrays.

    Raises:
        UnimplementedError: see `standalone`.
    """
    plugins.load_kernels()
    graph = Graph()
    with graph.as_default():
        import_graph_def(frozen, name="")
    return _CallLine(graph, outputs, inputs).module(weights)


class _CallLine:
    """The straight line of calls of a graph."""

    def __init__(self, graph: Graph, outputs: Mapping[str, str], inputs: Mapping[str, str]) -> None:
        self._graph, self._outputs = graph, outputs
        self._sources = ModuleSources()
        self._arrays: dict[str, Any] = {}
        self._lines: list[str] = []
        self._names = {self._tensor(text): name for name, text in inputs.items()}
        self._inputs = {name: graph.get_tensor_by_name(text) for name, text in inputs.items()}
        for name in (*inputs, "predict", "_arrays"):
            self._sources.fresh(name)

    @staticmethod
    def _tensor(text: str) -> tuple[str, int]:
        name, _, port = text.partition(":")
        return name, int(port or 0)

    def module(self, weights: str) -> tuple[str, dict[str, Any]]:
        refused = []
        fed = {name for name, _ in self._names}
        for node in self._graph.nodes.values():  # each after its inputs
            try:
                for dtype in node.dtypes:
                    if not dtype.is_ref and np.dtype(dtype.numpy_dtype).isbuiltin != 1:
                        raise UnimplementedError(f"its type {dtype.name} is none of numpy's own")
                if node.name not in fed:
                    self._add(node)
            except OpError as error:
                refused.append(f"{node.name} ({node.op}): {error.message}")
                self._names.update({(node.name, port): "None" for port in range(len(node.dtypes))})
        if refused:
            raise UnimplementedError(
                f"{len(refused)} nodes can't be in a standalone module:\n  " + "\n  ".join(refused[:12]),
                hint="Cut the graph behind them with inputs=, or give them values for good with given=.",
            )
        return self._text(weights), self._arrays

    def _add(self, node: Node) -> None:
        if node.op in _FLOW:
            raise UnimplementedError("a branch or a loop is no straight line")
        if node.op in ("NoOp", "Assert"):
            return
        if node.op == "Const":
            self._constant(node)
            return
        entry = kernel.lookup(node.op, "CPU", node.dtypes)
        if entry.takes_context or entry.takes_step or entry.is_async or opdef.lookup(node.op).writes:
            raise UnimplementedError("it needs more than its inputs")
        function = self._sources.expression(entry.function, f"the kernel of {node.op}")
        arguments = [self._names[edge.node, edge.port] for edge in node.inputs]
        definition = opdef.lookup(node.op)
        position = list_position(definition)
        if position is not None:
            end = len(arguments) - (len(definition.inputs) - position - 1)
            arguments = [*arguments[:position], f"[{', '.join(arguments[position:end])}]", *arguments[end:]]
        attrs = [f"{name}={self._sources.expression(node.attrs[name], node.op)}" for name in entry.attrs]
        targets = [self._sources.fresh(f"v{len(self._lines)}") for _ in node.dtypes]
        for port, name in enumerate(targets):
            self._names[node.name, port] = name
        target = f"{targets[0]} = " if len(targets) == 1 else f"{', '.join(targets)} = " if targets else ""
        self._lines.append(f"{target}{function}({', '.join(['np', *arguments, *attrs])})  # {node.name}")

    def _constant(self, node: Node) -> None:
        value = np.asarray(node.attrs["value"])
        if value.dtype.kind == "O":
            raise UnimplementedError("it holds text")
        name = self._sources.fresh(f"c{len(self._arrays)}")
        self._arrays[name] = value
        self._names[node.name, 0] = name

    def _text(self, weights: str) -> str:
        parameters = ", ".join(self._inputs)
        kept = [f"    {name} = _arrays[{name!r}]" for name in self._arrays] or ["    pass"]
        lines = []
        for name, tensor in self._inputs.items():
            dtype = np.dtype(tensor.dtype.numpy_dtype)
            lines.append(f"{name} = np.asarray({name}, np.dtype({dtype.str!r}))")
        results = ", ".join(
            f"{n!r}: np.asarray({self._names[self._tensor(text)]})" for n, text in self._outputs.items()
        )
        body = [*lines, 'with np.errstate(all="ignore"):', *(f"    {line}" for line in self._lines or ["pass"])]
        text = "\n".join(f"    {line}" for line in [*body, f"return {{{results}}}"])
        return (
            f'"""A model, exported by actorflow: `predict({parameters})` gives {", ".join(map(repr, self._outputs))}. '
            f'It needs numpy, and {weights} beside it."""\n\n'
            "import os\n"
            f"{self._sources.text()}\n\n"
            f"with np.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), {weights!r})) as _arrays:\n"
            + "\n".join(kept)
            + f"\n\n\ndef predict({parameters}):\n{text}\n"
        )
