"""`profile` and `Profiler`: what a graph's nodes have and take."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from actorflow.compat.profiler.flops import float_operations
from actorflow.compat.profiler.options import TRAINABLE_VARIABLES, ProfileOptionBuilder
from actorflow.compat.profiler.tree import GraphNodeProto, by_names, by_types, report
from actorflow.graph.default_graph import get_default_graph

_VIEWS = {"scope": by_names, "op": by_types}


def profile(graph: Any = None, run_meta: Any = None, op_log: Any = None, cmd: str = "scope", options: Any = 0) -> Any:
    """Parameters, float operations, times and memory of a graph's nodes.

    Args:
        graph: the graph; the default graph unless given.
        run_meta: a `tf.RunMetadata` that a traced run has filled, for times and memory: that of outputs of a known shape.
        op_log: must be None.
        cmd: `scope`: by the scopes of names; `op`: by types.
        options: what a `ProfileOptionBuilder` gives; the parameters of trainable variables unless given.

    Returns:
        A node with `children` and totals, such as `total_parameters` and `total_float_ops`.

    Raises:
        ValueError: another `cmd`, a log, or another output than a text.
    """
    if op_log is not None:
        raise ValueError("op_log must be None: the operations of nodes are counted by their types.")
    profiler = Profiler(get_default_graph() if graph is None else graph)
    if run_meta is not None:
        profiler.add_step(0, run_meta)
    return profiler._profile(cmd, options)


class Profiler:
    """Profiles of a graph over several steps (`tf.profiler.Profiler`).

    Args:
        graph: the graph; the default graph unless given.
        op_log: must be None.

    Raises:
        ValueError: a log is given.
    """

    def __init__(self, graph: Any = None, op_log: Any = None) -> None:
        if op_log is not None:
            raise ValueError("op_log must be None: the operations of nodes are counted by their types.")
        self._graph = get_default_graph() if graph is None else graph
        self._steps: dict[int, Any] = {}

    def add_step(self, step: int, run_meta: Any) -> None:
        """Adds the metadata of a traced run.

        Args:
            step: its number.
            run_meta: a `tf.RunMetadata`.
        """
        self._steps[step] = run_meta

    def profile_name_scope(self, options: Mapping[str, Any]) -> Any:
        """The profile by scopes; see `profile`."""
        return self._profile("scope", options)

    def profile_operations(self, options: Mapping[str, Any]) -> Any:
        """The profile by types; see `profile`."""
        return self._profile("op", options)

    def profile_graph(self, options: Mapping[str, Any]) -> Any:
        """Raises ValueError: profiles go by scopes or types."""
        return self._profile("graph", options)

    def profile_python(self, options: Mapping[str, Any]) -> Any:
        """Raises ValueError: profiles go by scopes or types."""
        return self._profile("code", options)

    def advise(self, options: Any = None) -> Any:
        """Raises NotImplementedError: `actorflow trace` says what a step waits for."""
        raise NotImplementedError("There are no checkers here: `actorflow trace` says what a step waits for.")

    def serialize_to_string(self) -> bytes:
        """Raises NotImplementedError: a profile has no file of its own."""
        raise NotImplementedError(
            "A profile has no file of its own: keep the RunMetadata, which has SerializeToString()."
        )

    def _profile(self, cmd: str, options: Any) -> Any:
        if cmd not in _VIEWS:
            raise ValueError(f"A profile goes by cmd='scope' or cmd='op' here, not by {cmd!r}.")
        chosen = ProfileOptionBuilder(options or ProfileOptionBuilder.trainable_variables_parameter()).build()
        output = chosen["output"]
        if output not in ("none", "stdout") and not output.startswith("file:outfile="):
            raise ValueError(
                f"A profile is printed or written as text, not as {output.partition(':')[0]}. The trace of a step is written by "
                "`tensorflow.python.client.timeline.Timeline`."
            )
        root = _VIEWS[cmd](self._nodes(chosen["step"]), chosen)
        if output == "stdout":
            print(report(root, chosen), end="")
        elif output != "none":
            with open(output.partition("=")[2], "w", encoding="utf-8") as file:
                file.write(report(root, chosen))
        return root

    def _nodes(self, step: int) -> list[GraphNodeProto]:
        """The nodes of the graph; times and memory are those of a step, or the mean of all."""
        variables = {variable.op.name: variable for variable in self._graph.get_collection("trainable_variables")}
        others = {variable.op.name: variable for variable in self._graph.get_collection("variables")}
        metadata = list(self._steps.values()) if step < 0 else [self._steps[step]] if step in self._steps else []
        times, runs = _measured(metadata)
        nodes: list[GraphNodeProto] = []
        for operation in self._graph.get_operations():
            name = operation.name
            types = {operation.type} | ({TRAINABLE_VARIABLES} if name in variables else set())
            node = GraphNodeProto(name, frozenset(types), float_ops=float_operations(operation))
            variable = variables.get(name, others.get(name))
            if variable is not None and variable.shape.is_fully_defined():
                node.parameters = prod(variable.shape.as_list())
            node.exec_micros, node.run_count = times.get(name, 0), runs.get(name, 0)
            node.requested_bytes = sum(map(_bytes, operation.outputs)) if name in runs else 0
            nodes.append(node)
        return nodes


def _measured(metadata: list[Any]) -> tuple[dict[str, int], dict[str, int]]:
    """The microseconds and the number of runs of nodes, by their names: of several steps the mean time."""
    times: dict[str, int] = {}
    runs: dict[str, int] = {}
    for run_meta in metadata:
        for device in run_meta.step_stats.dev_stats:
            for node in device.node_stats:
                name = node.node_name.partition(":")[0]
                times[name] = times.get(name, 0) + node.all_end_rel_micros
                runs[name] = runs.get(name, 0) + 1
    return {name: time // max(1, len(metadata)) for name, time in times.items()}, runs


def _bytes(output: Any) -> int:
    shape = output.static_shape
    return 0 if shape is None or None in shape else prod(shape) * int(output.dtype.base_dtype.size)
