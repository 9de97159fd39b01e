"""Labels of sequences that are not aligned (CTC)."""

from __future__ import annotations

from typing import Any

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor
from keras_actorflow.src.numpy.promotion import floating, kind
from keras_actorflow.src.sizes import size_of, sizes_of, vector


def _wide(scores: Any) -> Any:
    """Scores as float32, or float64."""
    scores = floating(scores)
    return af.cast(scores, "float32") if kind(scores) in ("float16", "bfloat16") else scores


def ctc_loss(target: Any, output: Any, target_length: Any, output_length: Any, mask_index: int = 0) -> Any:
    """The losses of labels; a blank among the labels is a label that has the probability of the blank."""
    target, output, lengths = (
        convert_to_tensor(target, "int32"),
        _wide(output),
        convert_to_tensor(output_length, "int32"),
    )
    classes = int(output.shape[-1])
    logs = af.nn.log_softmax(output)
    mask_index %= classes
    blank = logs[:, :, mask_index : mask_index + 1]
    losses = af.nn.ctc_loss_v2(
        labels=af.where_v2(af.equal(target, mask_index), classes, target),
        logits=af.concat([logs, blank], axis=-1),
        label_length=convert_to_tensor(target_length, "int32"),
        logit_length=lengths,
        logits_time_major=False,
        blank_index=mask_index,
    )
    shares = af.log(1 + af.exp(af.squeeze(blank, [-1])))  # the op takes its softmax with the blank counted twice
    counted = af.sequence_mask(lengths, size_of(output, 1), dtype=shares.dtype)
    return losses - af.reduce_sum(shares * counted, -1)


def ctc_decode(
    inputs: Any,
    sequence_lengths: Any,
    strategy: str = "greedy",
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
    mask_index: int | None = 0,
) -> Any:
    inputs, lengths = _wide(inputs), convert_to_tensor(sequence_lengths, "int32")
    batch, steps, classes = sizes_of(inputs)
    classes = int(classes)
    mask_index = classes - 1 if mask_index is None else mask_index
    order = [number for number in range(classes) if number != mask_index] + [mask_index]
    ours = af.transpose(af.gather(inputs, order, axis=2), [1, 0, 2])  # the blank is the last class there
    if strategy == "greedy":
        paths, score = af.nn.ctc_greedy_decoder(ours, lengths, merge_repeated=merge_repeated)
    elif strategy == "beam_search":
        paths, score = af.nn.ctc_beam_search_decoder(
            ours, lengths, beam_width=beam_width, top_paths=top_paths, merge_repeated=False
        )
    else:
        raise ValueError(f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'.")
    names = af.constant([*order, -1], af.int32)
    dense = []
    for path in paths:
        sparse = af.SparseTensor(path.indices, path.values, af.cast(vector([batch, steps]), "int64"))
        places = af.cast(af.sparse.to_dense(sparse, default_value=classes), "int32")
        dense.append(af.gather(names, places))
    return af.stack(dense), score
