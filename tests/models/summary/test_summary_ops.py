"""Summary ops: the bytes are TensorFlow's, and so are names and tags."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.summary.summary_programs import PROGRAMS

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow import errors
from actorflow.base.records import summaries
from actorflow.base.records.png import write_png

ANSWERS = json.loads(Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))


def test_there_is_an_answer_for_each_program() -> None:
    assert ANSWERS.keys() == PROGRAMS.keys()


@pytest.mark.parametrize("name", PROGRAMS)
def test_f93_summaries_are_tensorflows_bytes(name: str) -> None:
    names, answer = ANSWERS[name]
    with af.Graph().as_default() as graph:
        summary = PROGRAMS[name](tf)
        assert [op.name for op in graph.get_operations() if op.type.endswith(("Summary", "SummaryV2"))] == names
    with af.blocking.Session(graph=graph) as session:
        assert session.run(summary) == base64.b64decode(answer)


def run(build: Any) -> Any:
    with af.Graph().as_default() as graph:
        made = build()
    with af.blocking.Session(graph=graph) as session:
        return session.run(made)


def test_a_summary_is_read_back_as_a_message() -> None:
    summary = af.summary.Summary.FromString(run(lambda: af.summary.scalar("loss", 0.5)))
    (value,) = summary.value
    assert (value.tag, value.simple_value, value.WhichOneof("value")) == ("loss", 0.5, "simple_value")


def test_a_histogram_of_what_is_not_finite_names_its_tag() -> None:
    for bad in (float("nan"), float("inf")):
        with pytest.raises(errors.InvalidArgumentError, match="Nan in summary histogram for: outer/h"):
            with af.Graph().as_default() as graph, af.name_scope("outer"):
                made = af.summary.histogram("h", [1.0, bad])
            with af.blocking.Session(graph=graph) as session:
                session.run(made)


def test_a_tag_twice_is_refused_where_summaries_are_merged() -> None:
    def build() -> Any:
        one = af.summary.scalar("loss", 0.5)
        return af.summary.merge([one, one])

    with pytest.raises(errors.InvalidArgumentError, match="Duplicate tag loss found in summary inputs"):
        run(build)


def test_what_is_no_summary_is_not_merged() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="Could not parse one of the summary inputs"):
        run(lambda: af.summary.merge([af.constant(b"\x0a\xff")]))


def test_text_is_of_strings() -> None:
    with pytest.raises(ValueError, match="to have dtype string, got int32"):
        run(lambda: af.summary.text("t", 3))


def test_without_summaries_merge_all_gives_none() -> None:
    with af.Graph().as_default():
        assert af.summary.merge_all() is None
        af.summary.scalar("a", 1.0)
        assert af.summary.merge_all(scope="b") is None


def test_merge_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="At least one summary"):
        run(lambda: af.summary.merge([]))


def test_a_summary_of_what_a_step_computes() -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [None])
        made = af.summary.merge([af.summary.scalar("mean", af.reduce_mean(x)), af.summary.histogram("x", x)])
    with af.blocking.Session(graph=graph) as session:
        first, second = [af.summary.Summary.FromString(session.run(made, {x: v})) for v in ([1.0], [2.0, 4.0])]
    assert [s.value[0].simple_value for s in (first, second)] == [1.0, 3.0]
    assert [s.value[1].histo.num for s in (first, second)] == [1.0, 2.0]


def test_graphs_with_summaries_pass_through_a_graph_def() -> None:
    with af.Graph().as_default() as graph:
        in_scopes = PROGRAMS["scopes"](tf)
        image = PROGRAMS["image"](tf)
    with af.Graph().as_default() as other:
        af.import_graph_def(graph.as_graph_def(), name="")
    with af.blocking.Session(graph=graph) as one, af.blocking.Session(graph=other) as two:
        for tensor in (in_scopes, image):
            assert one.run(tensor) == two.run(tensor.name)


# ---- PNG


def unpacked(file: bytes) -> Any:
    """The pixels of a PNG of 8 bits, by its specification."""
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    data, at, width, height, channels = b"", 8, 0, 0, 0
    while at < len(file):
        size, kind = struct.unpack_from(">I4s", file, at)
        body = file[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", file, at + 8 + size)[0] == zlib.crc32(kind + body)
        if kind == b"IHDR":
            width, height, bits, colours, *rest = struct.unpack(">IIBBBBB", body)
            assert (bits, rest) == (8, [0, 0, 0])
            channels = {0: 1, 4: 2, 2: 3, 6: 4}[colours]
        data += body if kind == b"IDAT" else b""
        at += size + 12
    raw, stride = zlib.decompress(data), width * channels
    rows, above = [], [0] * stride
    for start in range(0, len(raw), stride + 1):
        row: list[int] = []
        for place, byte in enumerate(raw[start + 1 : start + 1 + stride]):
            left = row[place - channels] if place >= channels else 0
            corner = above[place - channels] if place >= channels else 0
            guess = left + above[place] - corner
            near = min((left, above[place], corner), key=lambda v, guess=guess: abs(guess - v))  # type: ignore[misc]
            row.append(byte + (0, left, above[place], (left + above[place]) // 2, near)[raw[start]] & 255)
        rows.append(row)
        above = row
    return np.array(rows, np.uint8).reshape(height, width, channels)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4), st.integers(1, 256), st.integers(0, 2**32))
def test_a_png_holds_its_pixels(height: int, width: int, channels: int, most: int, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, most, (height, width, channels), np.uint8)
    np.testing.assert_array_equal(unpacked(write_png(pixels)), pixels)


def test_metadata_of_known_tags_is_left_out_and_all_else_stays() -> None:
    first = summaries.tensor("a", b"\x08\x01", b"\x0a\x00") + summaries.scalar("J", 1.0)
    known: set[str] = set()
    assert summaries.without_known_metadata(first, known) == first
    again = summaries.tensor("a", b"\x08\x01") + summaries.scalar("J", 1.0)
    assert summaries.without_known_metadata(first, known) == again


def test_a_tensor_without_a_tag_has_its_nodes_name() -> None:
    """`TensorSummary` of old graphs. The bytes are TensorFlow's."""
    from actorflow.graph.ops.io.summaries import tensor_summary_v1

    made = run(lambda: tensor_summary_v1(np.array(["a", "bc"]), name="TensorSummary_1"))
    assert made == b'\n":\x0fTensorSummary_1B\x0f\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x02bc'
