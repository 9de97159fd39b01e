"""`tf.losses`: what the graph collects, and where weights are checked. Values are in the table of ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import losses
from actorflow.blocking import Session
from actorflow.errors import InvalidArgumentError


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as made:
        yield made


def value(fetches: Any, feeds: Any = None) -> Any:
    with Session() as session:
        return session.run(fetches, feeds)


def test_each_loss_is_collected_under_its_name() -> None:
    first = losses.mean_squared_error([1.0], [3.0])
    with af.name_scope("tower"):
        second = losses.absolute_difference([1.0], [3.0], scope="distance")
    assert losses.get_losses() == [first, second]
    assert losses.get_losses("tower") == [second]
    assert first.name == "mean_squared_error/value:0"
    assert second.name == "tower/distance/value:0"


def test_a_loss_goes_to_another_collection_or_none() -> None:
    losses.hinge_loss([1.0], [0.5], loss_collection=None)
    other = losses.hinge_loss([1.0], [0.5], loss_collection="mine")
    assert losses.get_losses() == []
    assert losses.get_losses(loss_collection="mine") == af.get_collection("mine") == [other]


def test_add_loss() -> None:
    loss = af.constant(1.0)
    losses.add_loss(loss)
    losses.add_loss(loss, None)
    losses.add_loss(loss, "mine")
    assert losses.get_losses() == [loss] == af.get_collection("mine")


def test_the_total_loss_has_those_of_regularizers() -> None:
    losses.add_loss(af.constant(1.0))
    losses.mean_squared_error([1.0], [3.0])
    assert value(losses.get_regularization_loss()) == 0.0
    penalty = af.constant(0.5)
    af.add_to_collection(af.GraphKeys.REGULARIZATION_LOSSES, penalty)
    assert losses.get_regularization_losses() == [penalty]
    total, without = losses.get_total_loss(), losses.get_total_loss(False, name="plain")
    assert value([total, without, losses.get_regularization_loss()]) == [5.5, 5.0, 0.5]
    assert (total.name, without.name) == ("total_loss:0", "plain:0")


def test_a_total_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no loss to sum"):
        losses.get_total_loss()


def test_the_reductions() -> None:
    assert set(losses.Reduction.all()) == {
        "none",
        "weighted_sum",
        "weighted_mean",
        "weighted_sum_over_batch_size",
        "weighted_sum_by_nonzero_weights",
    }
    assert losses.Reduction.SUM_OVER_NONZERO_WEIGHTS == losses.Reduction.SUM_BY_NONZERO_WEIGHTS
    losses.Reduction.validate("none")
    with pytest.raises(ValueError, match="A reduction is one of 'none'"):
        losses.Reduction.validate("mean")


def test_a_loss_has_the_type_of_what_it_reduces() -> None:
    """Computed in float32 and converted back, as TensorFlow does."""
    loss = losses.compute_weighted_loss(af.constant([3, 4, 6]), [1.0, 0.5, 0.0])
    assert loss.dtype is af.int32
    assert value(loss) == 2


def test_gradients_are_divided_as_the_loss_is() -> None:
    x = af.constant([1.0, 2.0, 5.0])
    loss = losses.mean_squared_error([0.0, 0.0, 0.0], x, weights=[1.0, 2.0, 0.0])
    np.testing.assert_allclose(value(af.gradients(loss, x)[0]), [1, 4, 0])


@pytest.mark.parametrize(
    ("weights", "expected"),
    [(2.0, 5.0), ([[2.0]], 5.0), ([[1.0], [0.0]], 1.5), ([[1.0, 0.0]], 2.0), ([[0.0, 0.0], [0.0, 3.0]], 12.0)],
)
def test_weights_of_a_shape_known_in_the_run_only(weights: Any, expected: float) -> None:
    w, v = af.placeholder(af.float32), af.placeholder(af.float32)
    loss = losses.compute_weighted_loss(v, w)
    assert value(loss, {w: weights, v: [[1.0, 2.0], [3.0, 4.0]]}) == expected


@pytest.mark.parametrize("weights", [[1.0, 2.0], [[1.0], [2.0], [3.0]], [[[1.0]]]])
def test_weights_that_do_not_fit_in_the_run(weights: Any) -> None:
    w, v = af.placeholder(af.float32), af.placeholder(af.float32)
    loss = losses.compute_weighted_loss(v, w)
    with pytest.raises(InvalidArgumentError, match="weights can not be broadcast to values"):
        value(loss, {w: weights, v: [[1.0, 2.0], [3.0, 4.0]]})


def test_labels_and_predictions_are_needed() -> None:
    nothing: Any = None
    with pytest.raises(ValueError, match="needs both labels and predictions"):
        losses.mean_squared_error(nothing, [1.0])
    with pytest.raises(ValueError, match="needs `axis`"):
        losses.cosine_distance([1.0], [1.0])
