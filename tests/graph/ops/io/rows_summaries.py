"""Rows of summary ops. The literals are TensorFlow 2.21's answers; `tests/models/summary/answers.json` has more of them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from graph.ops.table import Case, Literal, Reject

from actorflow import errors
from actorflow.graph.ops.io import summaries as af

INVALID = errors.InvalidArgumentError
REALS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64"
LOSS = b"\n\x0b\n\x04loss\x15\x00\x00\xc0?"
HISTOGRAM = (
    b"\n\xc7\x01\n\x01h*\xc1\x01\t\x00\x00\x00\x00\x00\x00\x0c\xc0\x11\x00\x00\x00\x00\x00\x00\x00@\x19\x00\x00"
    b"\x00\x00\x00\x00\x14@!\x00\x00\x00\x00\x00\x00\xe0\xbf)\x00\x00\x00\x00\x00@1@2H\x81DK\xf8"
    b"\x0b\xa7\x0e\xc0u\xf8r\xca\xad\xdd\x0b\xc0\x00\x00\x00\x00\x00\x00\x00\x00\x11\xea-\x81\x99\x97q=\x08\x99"
    b"i\x19\x15Z\xed?+\x14\xfa\xcd\xbe$\xf0?\xdc\x94\xcd.\x8du\xff?\xe0\x11\xf1\x0ctM\x01@"
    b"\xff\xff\xff\xff\xff\xff\xef\x7f:H\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf0?\x00\x00\x00\x00"
    b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00@\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf0?\x00\x00"
    b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf0?\x00\x00\x00\x00\x00\x00\x00\x00"
)
IMAGE = (
    b'\na\n\x07i/image"V\x08\x02\x10\x04\x18\x03"N\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x04\x00\x00\x00\x02\x08\x02\x00\x00'
    b"\x00\xf0\xca\xea4\x00\x00\x00\x15IDAT\x08\x99cd\xe0\x16S\x84\x01\xc6\xd6\t\xb3al%\x000m\x04'@PA\xb2\x00\x00\x00\x00IEND\xaeB`\x82"
)
AUDIO = (
    b'\nU\n\x07a/audio2J\r\x00\x00\xfaE\x10\x01\x18\x04"4RIFF,\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00'
    b"\x00\x80>\x00\x00\x02\x00\x10\x00data\x08\x00\x00\x00\x00\x00\x00@\x00\x80\xff\x7f*\taudio/wav"
)
TENSOR = b'\n\x19\n\x01tB\x12\x08\x01\x12\x04\x12\x02\x08\x02"\x08\x00\x00\x80?\x00\x00\x00@J\x00'


def one(value: bytes) -> Any:
    made = np.empty((), object)
    made[()] = value
    return made


def scalars(values: Any) -> Any:
    """Values one by one, each tagged `a`, by hand."""
    return one(b"".join([b"\n\x08\n\x01a\x15" + struct.pack("<f", value) for value in values.reshape(-1).tolist()]))


def tags(shape: tuple[int, ...]) -> Any:
    return np.full(shape, b"a", object)


CASES = [
    Case(
        "ScalarSummary",
        lambda x: af.scalar_summary("a", x),
        scalars,
        [((),)],
        dtypes=REALS,
        gradient=None,
        exact=True,
        literal=Literal((np.float32(1.5),), one(b"\n\x08\n\x01a\x15\x00\x00\xc0?")),
        rejects=[Reject((ValueError, INVALID), ([1.0, 2.0],), match="tags and values have one shape")],
    ),
    Case(
        "ScalarSummary",
        lambda x: af.scalar_summary(tags((2, 3)), x),
        scalars,
        [((2, 3),)],
        dtypes="float32",
        gradient=None,
        exact=True,
        note="several",
        literal=Literal((np.zeros((2, 3), np.float32),), one(b"\n\x08\n\x01a\x15\x00\x00\x00\x00" * 6)),
    ),
    Case(
        "HistogramSummary",
        lambda x: af.histogram_summary("h", x),
        None,
        [((),), ((0, 3),), ((2, 3),)],
        dtypes=REALS,
        gradient=None,
        literal=Literal((np.array([0, 1, 2, -3.5, 1e-20], np.float32),), one(HISTOGRAM)),
        rejects=[Reject(INVALID, ([1.0, np.nan],), match="Nan in summary histogram for: h")],
    ),
    Case(
        "ImageSummary",
        lambda x: af.image_summary("i", x, max_images=1),
        None,
        [((2, 3, 4, 3),), ((1, 1, 1, 1),), ((0, 3, 4, 4),)],
        dtypes="uint8 float16 float32 float64",
        gradient=None,
        literal=Literal((np.arange(24, dtype=np.float32).reshape(1, 2, 4, 3),), one(IMAGE)),
        rejects=[
            Reject((ValueError, INVALID), (np.zeros((1, 2, 2, 2), np.float32),), match="1, 3 or|1, 3, or"),
            Reject(INVALID, (np.zeros((1, 0, 2, 3), np.float32),), match="at least one pixel"),
            Reject(
                ValueError,
                (np.zeros((1, 2, 2, 3), np.float32),),
                lambda x: af.image_summary("i", x, max_images=0),
                match="max_images is at least 1",
            ),
        ],
    ),
    Case(
        "AudioSummaryV2",
        lambda x: af.audio_summary("a", x, 8000.0, max_outputs=1),
        None,
        [((1, 5),), ((2, 3, 2),), ((0, 3),)],
        dtypes="float32",
        gradient=None,
        literal=Literal((np.array([[0, 0.5, -1, 1]], np.float32),), one(AUDIO)),
        rejects=[
            Reject((ValueError, INVALID), ([1.0],), match="batch, frames"),
            Reject(INVALID, ([[1.0]],), lambda x: af.audio_summary("a", x, 0.0), match="sample_rate must be > 0"),
        ],
    ),
    Case(
        "TensorSummaryV2",
        lambda x: af.tensor_summary_v2("t", x, b""),
        None,
        [((),), ((2, 3),), ((0,),)],
        dtypes=f"{REALS} bool complex64 string",
        gradient=None,
        literal=Literal((np.array([1.0, 2.0], np.float32),), one(TENSOR)),
    ),
    Case(
        "MergeSummary",
        lambda x, y: af.merge_summary([x, y]),
        lambda x, y: one(x.item() + y.item()),
        [(one(LOSS), one(b""))],
        dtypes="string",
        gradient=None,
        exact=True,
        literal=Literal((one(LOSS), one(b"")), one(LOSS)),
        rejects=[
            Reject(INVALID, (one(LOSS), one(LOSS)), match="Duplicate tag loss found in summary inputs"),
            Reject(INVALID, (one(b"\x0a\xff"), one(b"")), match="Could not parse one of the summary inputs"),
        ],
    ),
]
