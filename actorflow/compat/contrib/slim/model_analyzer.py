"""Tables of variables and of outputs, as `slim.model_analyzer` has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def tensor_description(var: Any) -> str:
    """The type and the shape of a tensor or a variable, such as `(float32_ref 2x3)`."""
    sizes = "x".join("?" if size is None else str(size) for size in var.shape.as_list())
    return f"({var.dtype.name} {sizes})"


def analyze_ops(graph: Any, print_info: bool = False) -> int:
    """The number of all elements of the outputs of a graph's operations, as far as shapes are known."""
    total = 0
    for op in graph.get_operations():
        size = sum(output.shape.num_elements() or 0 for output in op.outputs)
        total += size
        if print_info:
            print(
                op.name,
                "\t->",
                ", ".join(f"{each.name} {tensor_description(each)}" for each in op.outputs),
                f"[{size}]",
            )
    return total


def analyze_vars(variables: Sequence[Any], print_info: bool = False) -> tuple[int, int]:
    """The number of all elements of variables, and that of their bytes.

    Args:
        variables: the variables.
        print_info: whether to print a line for each.
    """
    size = bytes_ = 0
    if print_info:
        print("---------\nVariables: name (type shape) [size]\n---------")
    for each in variables:
        count = each.shape.num_elements() or 0
        own = count * each.dtype.base_dtype.size
        size, bytes_ = size + count, bytes_ + own
        if print_info:
            print(each.name, tensor_description(each), f"[{count}, bytes: {own}]")
    if print_info:
        print("Total size of variables:", size)
        print("Total bytes of variables:", bytes_)
    return size, bytes_
