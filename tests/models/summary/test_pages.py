"""Values for TensorBoard's pages: arrays and metadata, by numbers computed one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import actorflow as af
from actorflow.models.summary import pages
from actorflow.summary import Summary, Writer, read_events


def shown(data: bytes) -> tuple[str, bytes, int, Any]:
    """The page of a value, what the page is told, the class of data, and the array."""
    (value,) = Summary.FromString(data).value
    plugin = value.metadata.plugin_data
    return plugin.plugin_name, plugin.content, value.metadata.data_class, af.make_ndarray(value.tensor)


def test_a_scalar() -> None:
    page, content, kind, array = shown(pages.scalar("s", 2.5))
    assert (page, content, kind) == ("scalars", b"", pages.SCALAR) and array == np.float32(2.5)


@given(st.lists(st.floats(-1e6, 1e6), max_size=40), st.integers(1, 9))
def test_a_histogram_counts_every_value(values: list[float], buckets: int) -> None:
    *about, rows = shown(pages.histogram("h", values, buckets))
    assert about == ["histograms", b"", pages.TENSOR] and rows.shape == (buckets, 3) and rows.dtype == np.float64
    assert rows[:, 2].sum() == len(values)
    assert not values or (rows[0, 0], rows[-1, 1]) == (min(values), max(values))


def test_a_histogram_leaves_out_what_is_not_finite() -> None:
    *_, rows = shown(pages.histogram("h", [1.0, np.nan, np.inf, 2.0], 2))
    np.testing.assert_array_equal(rows, [[1.0, 1.5, 1], [1.5, 2.0, 1]])


def test_precision_and_recall_by_threshold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels, guesses, weights = rng.random(300) < 0.4, rng.random(300), rng.random(300)
    page, content, kind, rows = shown(pages.pr_curve("p", labels, guesses, 21, weights))
    assert (page, content, kind) == ("pr_curves", b"\x10\x15", pages.TENSOR)
    for place in range(21):
        above = np.floor(guesses * 20) >= place
        counts = [
            weights[above & labels],
            weights[above & ~labels],
            weights[~above & ~labels],
            weights[~above & labels],
        ]
        hits, wrong, right, missed = [float(part.sum()) for part in counts]
        ratios = [hits / max(1e-7, hits + wrong), hits / max(1e-7, hits + missed)]
        np.testing.assert_allclose(rows[:, place], [hits, wrong, right, missed, *ratios], rtol=1e-5, atol=1e-4)


def test_a_curve_of_nothing() -> None:
    *_, rows = shown(pages.pr_curve("p", [], [], 3))
    np.testing.assert_array_equal(rows, np.zeros((6, 3)))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: pages.pr_curve("p", [True], [0.1, 0.2]), "have one size"),
        (lambda: pages.pr_curve("p", [True], [0.1], 1), "at least two"),
        (lambda: pages.pr_curve("p", [True], [1.1]), "from 0 to 1"),
        (lambda: pages.image("i", np.zeros((3, 3, 3))), "Images are"),
        (lambda: pages.image("i", np.zeros((1, 3, 3, 5))), "1 to 4 channels"),
        (lambda: pages.audio("a", np.zeros((3, 3)), 8000), "Sound is"),
        (lambda: pages.mesh("m", np.zeros((3, 3))), "Vertices are"),
        (lambda: pages.hparams_end("well"), "success, failure, running"),
    ],
)
def test_what_can_not_be_shown_is_refused(make: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


def test_images_of_floats_go_from_0_to_1() -> None:
    batch = np.array([[[[-1.0], [0.5], [2.0], [np.nan]]]])
    page, _, kind, array = shown(pages.image("i", batch))
    assert (page, kind) == ("images", pages.BLOBS) and array[:2].tolist() == [b"4", b"1"]
    *_, bytes_ = shown(pages.image("i", np.array([[[[0], [128], [255], [0]]]], np.uint8)))
    assert array[2] == bytes_[2]


def test_a_mesh_has_a_tag_for_each_part() -> None:
    values = Summary.FromString(pages.mesh("m", np.zeros((1, 4, 3)), faces=np.zeros((1, 2, 3)))).value
    assert [value.tag for value in values] == ["m_VERTEX", "m_FACE"]
    assert [af.make_ndarray(value.tensor).dtype for value in values] == [np.float32, np.int32]


def test_f93_a_run_that_fails_is_marked_as_failed(tmp_path: Path) -> None:
    for name, error in (("good", None), ("bad", ZeroDivisionError)):
        try:
            with Writer(tmp_path / name) as writer:
                writer.hparams({"rate": 0.1, "kind": "sgd", "deep": np.bool_(True)}, metrics=["loss"])
                if error is not None:
                    raise error
        except ZeroDivisionError:
            pass
        values = [value for event in read_events(tmp_path / name) for value in event.summary.value]
        assert [v.tag for v in values] == [
            f"_hparams_/{part}" for part in ("experiment", "session_start_info", "session_end_info")
        ]
        end = values[-1].metadata.plugin_data.content
        assert end[2:4] == (b"\x08\x01" if error is None else b"\x08\x02")
    with (
        Writer(tmp_path / "wrong") as writer,
        pytest.raises(TypeError, match="'rate' is a text, a number or a truth value"),
    ):
        writer.hparams({"rate": [1]})
