# `make names` writes this file from the marks in the sources.

from actorflow.compat.ragged.text import bytes_split as bytes_split
from actorflow.compat.ragged.text import ngrams as ngrams
from actorflow.compat.ragged.text import unicode_decode as unicode_decode
from actorflow.compat.ragged.text import unicode_decode_with_offsets as unicode_decode_with_offsets
from actorflow.compat.ragged.text import unicode_encode as unicode_encode
from actorflow.compat.ragged.text import unicode_split as unicode_split
from actorflow.compat.ragged.text import unicode_split_with_offsets as unicode_split_with_offsets
from actorflow.graph.ops.strings.elementwise import as_string as as_string
from actorflow.graph.ops.strings.elementwise import regex_full_match as regex_full_match
from actorflow.graph.ops.strings.elementwise import regex_replace as regex_replace
from actorflow.graph.ops.strings.elementwise import string_join as join
from actorflow.graph.ops.strings.elementwise import string_length as length
from actorflow.graph.ops.strings.elementwise import string_lower as lower
from actorflow.graph.ops.strings.elementwise import string_strip as strip
from actorflow.graph.ops.strings.elementwise import string_to_number as to_number
from actorflow.graph.ops.strings.elementwise import string_upper as upper
from actorflow.graph.ops.strings.elementwise import substr as substr
from actorflow.graph.ops.strings.elementwise import unicode_transcode as unicode_transcode
from actorflow.graph.ops.strings.hash import string_to_hash_bucket as to_hash_bucket
from actorflow.graph.ops.strings.hash import string_to_hash_bucket_fast as to_hash_bucket_fast
from actorflow.graph.ops.strings.hash import string_to_hash_bucket_strong as to_hash_bucket_strong
from actorflow.graph.ops.strings.split import reduce_join as reduce_join
from actorflow.graph.ops.strings.split import string_format as format
from actorflow.graph.ops.strings.split import strings_split as split
from actorflow.graph.ops.strings.split import unsorted_segment_join as unsorted_segment_join

__all__ = [
    "as_string",
    "bytes_split",
    "format",
    "join",
    "length",
    "lower",
    "ngrams",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]
