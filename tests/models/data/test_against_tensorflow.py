"""Random pipelines of 16 families give what TensorFlow 2.15 gave: the same elements in the same order, errors at their places,
and the same ends. `tests/models/data/dump_datasets.py` wrote its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from models.data.dataset_programs import FAMILIES, SEEDS, build, outcome, program

import actorflow as af
import actorflow.compat.v1 as tf

ANSWERS = json.loads((Path(__file__).parent / "tensorflow_datasets.json").read_text())


class InGraph:
    """An iterator of a graph, for `next`."""

    def __init__(self, dataset: Any) -> None:
        iterator = dataset.make_initializable_iterator()
        self._next = iterator.get_next()
        self.session = tf.Session()
        self.session.run(iterator.initializer)

    def __next__(self) -> Any:
        try:
            return self.session.run(self._next)
        except af.errors.OutOfRangeError:
            raise StopIteration from None


@pytest.mark.parametrize("family", FAMILIES)
def test_on_a_client(family: str) -> None:
    for seed in range(SEEDS):
        stages = program(family, seed)
        found = outcome(build(af, stages).as_numpy_iterator(), af.errors.OpError)
        assert found == ANSWERS[family][seed], stages


@pytest.mark.parametrize("family", FAMILIES)
def test_in_a_graph(family: str) -> None:
    for seed in range(0, SEEDS, 4):
        stages = program(family, seed)
        with af.Graph().as_default():
            elements = InGraph(build(tf, stages))
            with elements.session:
                found = outcome(elements, af.errors.OpError)
        assert found == ANSWERS[family][seed], stages
