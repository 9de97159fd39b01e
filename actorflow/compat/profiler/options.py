"""`ProfileOptionBuilder`: which nodes a profile counts and shows, their order, and the output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

TRAINABLE_VARIABLES = "_trainable_variables"
"""The type that trainable variables have beside that of their node."""
_COMMON: dict[str, Any] = {
    "max_depth": 10000,
    "min_bytes": 0,
    "min_micros": 0,
    "min_params": 0,
    "min_float_ops": 0,
    "min_occurrence": 0,
    "order_by": "name",
    "account_type_regexes": [".*"],
    "start_name_regexes": [".*"],
    "trim_name_regexes": [],
    "show_name_regexes": [".*"],
    "hide_name_regexes": [],
    "account_displayed_op_only": False,
    "select": ["micros"],
    "step": -1,
    "output": "stdout",
}


class ProfileOptionBuilder:
    """The options of a profile (`tf.profiler.ProfileOptionBuilder`), which `build` gives as a dictionary.

    Args:
        options: options to begin with; those that count all unless given.
    """

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._options = _copied(_COMMON if options is None else options)

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Counts the parameters of trainable variables."""
        own = {"account_type_regexes": [TRAINABLE_VARIABLES], "account_displayed_op_only": True, "select": ["params"]}
        return _copied(_COMMON | own)

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Counts float operations."""
        own = {"min_float_ops": 1, "order_by": "float_ops", "account_displayed_op_only": True, "select": ["float_ops"]}
        return _copied(_COMMON | own)

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> dict[str, Any]:
        """Counts times and memory, which `run_meta` holds.

        Args:
            min_micros, min_bytes: the least that a node has to have to be shown.
            min_accelerator_micros, min_cpu_micros: the same for times of each kind.
            min_peak_bytes, min_residual_bytes, min_output_bytes: the same for memory of each kind.
        """
        least = dict(locals())
        own = {"order_by": "micros", "account_displayed_op_only": True, "select": ["micros", "bytes"]}
        return _copied(_COMMON | own | least)

    def build(self) -> dict[str, Any]:
        """The options."""
        return _copied(self._options)

    def with_max_depth(self, max_depth: int) -> Self:
        """Shows nodes to this depth."""
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self, min_bytes: int = 0, min_peak_bytes: int = 0, min_residual_bytes: int = 0, min_output_bytes: int = 0
    ) -> Self:
        """Shows nodes with at least this memory, in bytes.

        Args:
            min_bytes, min_peak_bytes, min_residual_bytes, min_output_bytes: of each kind.
        """
        return self._with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> Self:
        """Shows nodes with at least this time, in microseconds.

        Args:
            min_micros, min_accelerator_micros, min_cpu_micros: of each kind.
        """
        return self._with(
            min_micros=min_micros, min_accelerator_micros=min_accelerator_micros, min_cpu_micros=min_cpu_micros
        )

    def with_min_parameters(self, min_params: int) -> Self:
        """Shows nodes with at least these parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> Self:
        """Shows types of at least these nodes."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> Self:
        """Shows nodes with at least these float operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Sequence[str]) -> Self:
        """Counts nodes of these types."""
        return self._with(account_type_regexes=list(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: Sequence[str] | None = None,
        show_name_regexes: Sequence[str] | None = None,
        hide_name_regexes: Sequence[str] | None = None,
        trim_name_regexes: Sequence[str] | None = None,
    ) -> Self:
        """Chooses nodes by their names.

        Args:
            start_name_regexes: below these.
            show_name_regexes: these.
            hide_name_regexes: all but these.
            trim_name_regexes: nothing below these.
        """
        chosen = {name: list(value) for name, value in locals().items() if name != "self" and value is not None}
        return self._with(**chosen)

    def account_displayed_op_only(self, is_true: bool) -> Self:
        """Whether totals count shown nodes only."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> Self:
        """Writes nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> Self:
        """Prints the report."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> Self:
        """Writes the report to a file."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> Self:
        """Asks for a trace, which `profile` refuses."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> Self:
        """Asks for a file of pprof, which `profile` refuses."""
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: str) -> Self:
        """Orders nodes by `name`, or by the largest `params`, `float_ops`, `micros`, `bytes` or `occurrence`."""
        return self._with(order_by=attribute)

    def select(self, attributes: Sequence[str]) -> Self:
        """Shows these numbers."""
        return self._with(select=list(attributes))

    def with_step(self, step: int) -> Self:
        """Counts times and memory of this step; -1 for the mean of all."""
        return self._with(step=step)

    def _with(self, **values: Any) -> Self:
        self._options.update(values)
        return self


def _copied(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, list) else value for name, value in options.items()}
