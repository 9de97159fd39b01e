"""`tf.contrib.predictor`: functions of arrays from a SavedModel or an estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import actorflow.compat.v1 as tf


class Predictor:
    """A function of a dictionary of arrays, over a session that stays open.

    Args:
        session: the session.
        feed_tensors, fetch_tensors: the tensors by their names.
    """

    def __init__(self, session: Any, feed_tensors: dict[str, Any], fetch_tensors: dict[str, Any]) -> None:
        self.session, self.graph = session, session.graph
        self.feed_tensors, self.fetch_tensors = feed_tensors, fetch_tensors

    def __call__(self, input_dict: dict[str, Any]) -> Any:
        """The outputs. Raises ValueError for an input that is not there."""
        unknown = set(input_dict) - set(self.feed_tensors)
        if unknown:
            raise ValueError(f"Got unexpected keys in input_dict: {unknown} expected: {set(self.feed_tensors)}")
        feeds = {self.feed_tensors[name]: value for name, value in input_dict.items()}
        return self.session.run(self.fetch_tensors, feeds)


def from_saved_model(
    export_dir: str,
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: dict[str, str] | None = None,
    output_names: dict[str, str] | None = None,
    tags: str | None = None,
    graph: Any = None,
    config: Any = None,
) -> Predictor:
    """A predictor of a SavedModel.

    Args:
        export_dir: its folder.
        signature_def_key: the signature; that of serving unless given.
        signature_def: a signature in its place.
        input_names, output_names: names of tensors in their place.
        tags: tags with commas between; `serve` unless given.
        graph, config: of the session.

    Raises:
        ValueError: there is no signature of this name.
    """
    graph = graph or tf.Graph()
    with graph.as_default():
        session = tf.Session(graph=graph, config=config)
        model = tf.saved_model.loader.load(session, (tags or "serve").split(","), export_dir)
    if input_names is None or output_names is None:
        key = signature_def_key or "serving_default"
        if signature_def is None:
            if key not in model.signature_def:
                raise ValueError(
                    f"Got signature_def_key {key!r}. Available signatures are {sorted(model.signature_def)}."
                )
            signature_def = model.signature_def[key]
        input_names = {name: info.name for name, info in signature_def.inputs.items()}
        output_names = {name: info.name for name, info in signature_def.outputs.items()}
    return Predictor(
        session,
        {name: graph.get_tensor_by_name(each) for name, each in input_names.items()},
        {name: graph.get_tensor_by_name(each) for name, each in output_names.items()},
    )


def from_estimator(
    estimator: Any,
    serving_input_receiver_fn: Callable[[], Any],
    output_key: str | None = None,
    graph: Any = None,
    config: Any = None,
) -> Predictor:
    """A predictor of an estimator's last checkpoint.

    Args:
        estimator: the estimator.
        serving_input_receiver_fn: a function that gives the inputs.
        output_key: the name of the output; that of serving unless given.
        graph, config: of the session.
    """
    graph = graph or tf.Graph()
    with graph.as_default():
        tf.train.create_global_step(graph)
        receiver = serving_input_receiver_fn()
        spec = estimator.model_fn(receiver.features, None, tf.estimator.ModeKeys.PREDICT, estimator.config)
        session = tf.Session(graph=graph, config=config)
        tf.train.Saver().restore(session, tf.train.latest_checkpoint(estimator.model_dir))
        session.run(tf.tables_initializer())
    outputs = spec.predictions if output_key is None else spec.export_outputs[output_key].outputs
    fetches = outputs if isinstance(outputs, dict) else {"output": outputs}
    return Predictor(session, dict(receiver.receiver_tensors), fetches)
