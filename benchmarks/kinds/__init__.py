"""Kinds of work as ladders: each kind at several sizes, shapes and types, from where overhead decides to where arithmetic does.

No figure of these is tuned by itself. Both sides get the same values, and have to agree.

- `linalg.py`: factors, solutions, determinants and inverses of batches of matrices, with gradients
- `sparse.py`: products with sparse tensors, embeddings of lists, sums of segments, updates of rows, with gradients
- `strings.py`: parts, hashes, cases, joins and numbers of strings
- `images.py`: batches of images of other sizes, cut, mirrored, standardized
- `fourier.py`: transforms of all lengths, and their gradients
- `parsing.py`: serialized examples and raw bytes
- `places.py`: elements picked, put, counted, mirrored and aligned by numbers
"""

from __future__ import annotations

from benchmarks.harness.definitions import Suite
from benchmarks.kinds import fourier, images, linalg, parsing, places, sparse, strings

BENCHMARKS = (
    Suite("linalg", linalg.CASES, summary=True, processes=1, part=0.25),
    Suite("sparse", sparse.CASES, summary=True, processes=1, part=0.25),
    Suite("strings", strings.CASES, summary=True, processes=1, part=0.25),
    Suite("images", images.CASES, summary=True, processes=1, part=0.25),
    Suite("fourier", fourier.CASES, summary=True, processes=1, part=0.25),
    Suite("parsing", parsing.CASES, summary=True, processes=1, part=0.25),
    Suite("places", places.CASES, summary=True, processes=1, part=0.25),
)
