"""The loss of connectionist temporal classification of a batch, and its gradient.

Results may differ from those of numpy in the last bits: probabilities are multiplied, not their logarithms added. If states are
too improbable for that, the call is left to numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.registry.kernel import kernel

from ...nn import ctc
from ..library import function

_losses = function("ctc")


def _batched(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) == 3 and all(size > 0 for size in shapes[0])


@kernel(
    "CTCLoss",
    device="CPU",
    library="native",
    dtypes=frozenset((dtypes.float32, dtypes.float64)),
    can=_batched,
)
def ctc_loss(
    xp: Any,
    inputs: Any,
    indices: Any,
    values: Any,
    lengths: Any,
    *,
    preprocess_collapse_repeated: bool,
    ctc_merge_repeated: bool,
    ignore_longer_outputs_than_inputs: bool,
) -> tuple[Any, Any]:
    labels, times = ctc.sequences_of(
        inputs, indices, values, lengths, preprocess_collapse_repeated, ignore_longer_outputs_than_inputs
    )
    starts = np.array([0, *accumulate(map(len, labels))])
    flat = np.array([label for sequence in labels for label in sequence])
    losses: tuple[Any, Any] | None = _losses(np.ascontiguousarray(inputs), times, flat, starts, ctc_merge_repeated)
    return ctc.losses_of(xp, inputs, labels, times, ctc_merge_repeated) if losses is None else losses
