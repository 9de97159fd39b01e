"""Labels of sequences that are not aligned (CTC)."""

from __future__ import annotations

from typing import Any

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor
from keras_actorflow.src.numpy.promotion import floating, kind


def ctc_loss(target: Any, output: Any, target_length: Any, output_length: Any, mask_index: int = 0) -> Any:
    target, output = convert_to_tensor(target, "int32"), floating(output)
    name = kind(output)
    output = af.cast(output, "float32") if name in ("float16", "bfloat16") else output
    losses = af.nn.ctc_loss_v2(
        labels=target,
        logits=output,
        label_length=convert_to_tensor(target_length, "int32"),
        logit_length=convert_to_tensor(output_length, "int32"),
        logits_time_major=False,
        blank_index=mask_index,
    )
    return af.cast(losses, name)


def ctc_decode(
    inputs: Any,
    sequence_lengths: Any,
    strategy: str = "greedy",
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
    mask_index: int | None = 0,
) -> Any:
    inputs, lengths = floating(inputs), convert_to_tensor(sequence_lengths, "int32")
    name = kind(inputs)
    inputs = af.cast(inputs, "float32") if name in ("float16", "bfloat16") else inputs
    batch, steps, classes = (int(size) for size in inputs.shape)
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
        sparse = af.SparseTensor(path.indices, path.values, [batch, steps])
        places = af.cast(af.sparse.to_dense(sparse, default_value=classes), "int32")
        dense.append(af.gather(names, places))
    return af.stack(dense), af.cast(score, name)
