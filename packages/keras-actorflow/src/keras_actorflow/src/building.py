"""Variables of a model, its metrics and its optimizer, which are made from the shapes of a batch."""

from __future__ import annotations

from typing import Any

from keras.src import tree
from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.trainers.data_adapters import data_adapter_utils

from keras_actorflow.src.core import compute_output_spec, convert_to_tensor


def build_from(model: Any, batch: Any = None, batches: Any = None) -> None:
    """Builds what is not built yet.

    Args:
        model: the model.
        batch: a batch of data, if there is one.
        batches: else the iterator that gives one.

    Raises:
        ValueError: the model refuses the data.
        RuntimeError: the model can't be called with symbolic tensors.
    """
    metrics = model._compile_metrics is not None and not model._compile_metrics.built
    loss = model._compile_loss is not None and not model._compile_loss.built
    if metrics or loss or not all(layer.built for layer in model._flatten_layers()):
        if batch is None:
            batch = next((data[0] for _, _, data in batches), None)
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(tree.map_structure(_symbol, batch))
        try:
            y_pred = (
                compute_output_spec(model, x, training=False)
                if model._call_has_training_arg
                else (compute_output_spec(model, x))
            )
        except ValueError:  # the model refuses the data, and says why
            raise
        except Exception as error:
            raise RuntimeError(
                "Unable to automatically build the model. Please build it yourself before calling fit/evaluate/predict. "
                "A model is 'built' when its variables have been created and its `self.built` attribute is True. Usually, "
                "calling the model on a batch of data is the right way to build it."
            ) from error
        if metrics:
            compute_output_spec(model.compute_metrics, x, y, y_pred, sample_weight=sample_weight)
        if loss:
            compute_output_spec(
                model._compute_loss, x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=False
            )
    if model.optimizer is not None and not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    model._post_build()


def _symbol(part: Any) -> Any:
    if part is None:
        return None
    tensor = convert_to_tensor(part)
    return KerasTensor(tuple(tensor.shape), standardize_dtype(tensor.dtype))
