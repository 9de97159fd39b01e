"""`tf.ragged`: rows of several lengths, as the values of all rows and the places at which rows begin.

combining.py  rows put together, chosen, and computed with
factories.py  ragged tensors of lists, ranges and placeholders
rows.py       the factories of ragged tensors
tensor.py     `RaggedTensor`
text.py       `tf.strings`: characters, bytes and runs of words
values.py     `RaggedTensorValue`: what a session gives
"""

from __future__ import annotations

from actorflow.compat.ragged.combining import boolean_mask as boolean_mask
from actorflow.compat.ragged.combining import map_flat_values as map_flat_values
from actorflow.compat.ragged.combining import stack as stack
from actorflow.compat.ragged.combining import stack_dynamic_partitions as stack_dynamic_partitions
from actorflow.compat.ragged.factories import constant as constant
from actorflow.compat.ragged.factories import constant_value as constant_value
from actorflow.compat.ragged.factories import placeholder as placeholder
from actorflow.compat.ragged.factories import range as range
from actorflow.compat.ragged.factories import row_splits_to_segment_ids as row_splits_to_segment_ids
from actorflow.compat.ragged.factories import segment_ids_to_row_splits as segment_ids_to_row_splits
from actorflow.compat.ragged.values import RaggedTensorValue as RaggedTensorValue
from actorflow.public import public

public("tf:ragged")
