"""The choice of a next token by its logits, as generation needs it."""

from __future__ import annotations

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import float32, int32, int64
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge, show
from actorflow.graph.ops.declare import op
from actorflow.graph.tensor import Tensor, TensorLike

_RULES = {"temperature": float32, "top_k": int32, "top_p": float32, "seed": int64, "place": int64}


def _chosen(c: Inference) -> Shape:
    logits, *rules = c.shapes
    if logits is not None and len(logits) != 2:
        raise ValueError(f"Logits are [rows, tokens], but their shape is {show(logits)}.")
    rows: Shape = None if logits is None else logits[:1]
    for shape in rules:
        rows = merge(rows, shape)
    return rows


@op(
    "SampleTokens",
    shape=_chosen,
    dtypes=frozenset((dt.float32, dt.float64)),
    types=_RULES,
    result=int32,
    gradient=None,
    work=40,
)
def sample_tokens(
    logits: TensorLike,
    temperature: TensorLike,
    top_k: TensorLike,
    top_p: TensorLike,
    seed: TensorLike,
    place: TensorLike,
    *,
    name: str | None = None,
) -> Tensor:
    """A token for each row of `logits` [rows, tokens], by rules of its own, each of shape [rows].

    `temperature` divides the logits; at 0 the likeliest token is chosen, the first of equals. Of the others only the `top_k`
    likeliest count (0: all), and of these the fewest that have the share `top_p` together. The random number of a row is a
    function of its `seed` and `place`: it depends on no other row. A row that is empty, or whose largest logit is no number or
    infinite, has no token: -1.
    """
