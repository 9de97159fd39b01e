"""Familiar names are where a TensorFlow user looks first: declaration, kernel and row of each in one family.

The guess is the family of the module in which TensorFlow 1.15 defines a name (`array_ops`, `math_ops`, `nn_impl`, ...), or of a
namespace that exports it there (`tf.linalg`, `tf.math`, ...). Of all these names at most three may be elsewhere.
"""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

import actorflow as af
from actorflow.base.registry import kernel, opdef, plugins

HERE = Path(__file__).parent
GUESSES = {
    "array": "shape reshape rank size transpose concat stack unstack split strided_slice gather gather_nd tile pad reverse"
    " reverse_sequence roll one_hot where unique boolean_mask expand_dims squeeze zeros ones fill scatter_nd"
    " space_to_batch_nd sequence_mask meshgrid repeat searchsorted identity",
    "math": "add multiply divide argmax argmin cumsum reduce_sum reduce_mean reduce_logsumexp matmul cast range_ linspace"
    " unsorted_segment_sum bincount clip_by_value math.nextafter math.xdivy math.top_k math.zero_fraction",
    "linalg": "norm cross cholesky matrix_inverse matrix_band_part qr svd trace",
    "nn": "nn.moments nn.conv2d nn.max_pool nn.softmax nn.relu nn.l2_normalize nn.bias_add nn.dropout nn.ctc_loss"
    " nn.batch_normalization nn.sigmoid_cross_entropy_with_logits nn.embedding_lookup nn.softsign",
    "flow": "check_numerics py_func no_op",  # of tf.debugging, and of script_ops and control_flow_ops
    "strings": "as_string strings.join strings.substr",
    "sparse": "sparse.to_dense sparse.reorder",
    "random": "random_uniform random_shuffle",
    "state": "assign_add scatter_update",
    "io": "decode_csv read_file",
    "signal": "signal.fft",
}
NAMES = [(name, family) for family, names in GUESSES.items() for name in names.split()]
OPS = {
    "range_": "Range",
    "linspace": "LinSpace",
    "check_numerics": "CheckNumerics",
    "nn.conv2d": "Conv2D",
    "nn.max_pool": "MaxPool",
    "nn.relu": "Relu",
    "nn.softmax": "Softmax",
    "nn.bias_add": "BiasAdd",
    "nn.softsign": "Softsign",
    "argmax": "ArgMax",
    "argmin": "ArgMin",
    "cumsum": "Cumsum",
    "where": "Where",
    "matmul": "MatMul",
    "math.top_k": "TopKV2",
    "strings.join": "StringJoin",
    "strings.substr": "Substr",
    "signal.fft": "FFT",
    "concat": "ConcatV2",
    "stack": "Pack",
    "unstack": "Unpack",
    "cross": "Cross",
    "multiply": "Mul",
    "divide": "RealDiv",
    "add": "Add",
    "reverse": "ReverseV2",
    "reduce_sum": "Sum",
    "reduce_mean": "Mean",
    "math.nextafter": "NextAfter",
    "space_to_batch_nd": "SpaceToBatchND",
    "nn.ctc_loss": "CTCLoss",
    "decode_csv": "DecodeCSV",
    "norm": "",
}
"""The ops of functions whose names differ from their op's; none for those that are made of several ops."""


@cache
def rows() -> dict[str, set[str]]:
    """The families whose tables have rows of an op."""
    found: dict[str, set[str]] = {}
    for path in sorted(HERE.rglob("rows_*.py")):
        family = path.parent.name
        for case in importlib.import_module(f"graph.ops.{family}.{path.stem}").CASES:
            if case.ops:
                found.setdefault(case.ops.split()[0], set()).add(family)
    return found


def family_of(module: str) -> str:
    """The folder of `actorflow.graph.ops` or `actorflow.kernels` in which a module lies."""
    return module.removeprefix("actorflow.graph.").removeprefix("actorflow.").split(".")[1]


def place(name: str, family: str) -> set[str]:
    """The families in which a function, the declaration of its op, its kernels and its row are."""
    function: object = af
    for part in name.split("."):
        function = getattr(function, part)
    found = {family_of(function.__module__)}
    op = OPS.get(name, "".join(word.capitalize() for word in name.rpartition(".")[2].split("_")))
    if op in opdef.registered():
        found.add(family_of(opdef.registered()[op].module))
        found |= {family_of(one.function.__module__) for one in kernel.registered()[op] if not one.library}
        where = rows().get(op, {family})
        found |= {family} if family in where else where  # further rows of it may be elsewhere
    return found - {"cuda", "cudnn"}


def test_the_ops_of_the_table_are_registered() -> None:
    """The names in `OPS` are those of ops, or empty."""
    plugins.import_ops()
    assert [op for op in OPS.values() if op and op not in opdef.registered()] == []


def test_familiar_names_are_where_one_looks() -> None:
    """At most three of more than seventy are elsewhere."""
    plugins.load_kernels()
    elsewhere = {name: sorted(found) for name, family in NAMES if (found := place(name, family)) != {family}}
    assert len(NAMES) >= 70 and len(elsewhere) <= 3, elsewhere
