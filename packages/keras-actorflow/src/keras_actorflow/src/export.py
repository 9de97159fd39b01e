"""`model.export`: models as SavedModels, and `export_onnx` as ONNX files. TensorFlow, onnxruntime and actorflow read these."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras

import actorflow as af
from actorflow.engine.runtime.event_loops.driver import LoopDriver
from actorflow.exchange.sources.functions import FunctionEndpoint, source_of
from actorflow.exchange.sources.source import DEFAULT, Source


def traced(call: Callable[..., Any], input_signature: Any) -> FunctionEndpoint:
    """A function or a model as it answers.

    Args:
        call: a model, a layer, or a function of tensors.
        input_signature: the structure of its positional arguments, with `keras.InputSpec`, `keras.KerasTensor` or arrays.

    Raises:
        ValueError: there is no signature.
    """
    if not input_signature:
        raise ValueError(
            "An endpoint needs an input_signature, such as [keras.InputSpec(shape=(None, 3), dtype='float32')]."
        )
    arguments = tuple(input_signature) if isinstance(input_signature, (list, tuple)) else (input_signature,)
    leaves = keras.tree.flatten(arguments)
    specs = [af.TensorSpec([*leaf.shape], _dtype(leaf)) for leaf in leaves]
    is_layer = isinstance(call, keras.Layer)

    @af.function
    def serve(*tensors: Any) -> list[Any]:
        structure = keras.tree.pack_sequence_as(arguments, list(tensors))
        result = call(*structure, training=False) if is_layer and call._call_has_training_arg else call(*structure)
        return keras.tree.flatten(result)

    with af.eager():
        function = serve.get_concrete_function(*specs)
    names = [getattr(leaf, "name", None) or f"args_{at}" for at, leaf in enumerate(leaves)]
    if len(set(names)) != len(names):
        names = [f"{name}_{at}" for at, name in enumerate(names)]
    return FunctionEndpoint(function, names, [f"output_{at}" for at in range(len(function.outputs))])


def _dtype(leaf: Any) -> Any:
    return keras.backend.standardize_dtype(leaf.dtype)


def source(model: Any) -> Source:
    """The graph and the weights of a built model, with the signature `serving_default`."""
    from keras.src.export.export_utils import get_input_signature

    return source_of({DEFAULT: traced(model, get_input_signature(model))})


class ActorflowExportArchive:
    """`keras.export.ExportArchive` of this backend: it writes a SavedModel in TensorFlow's format."""

    def __init__(self) -> None:
        self._endpoints: dict[str, FunctionEndpoint] = {}

    def track(self, resource: object) -> None:
        """Does nothing: variables of endpoints are found when these are traced."""

    def add_endpoint(self, name: str, fn: Callable[..., Any], input_signature: Any = None, **kwargs: object) -> None:
        """Adds a function as a signature.

        Args:
            name: the signature's name.
            fn: a function of tensors, a layer or a model.
            input_signature: the shapes and types of its arguments.
            kwargs: options of other backends. They are refused.

        Raises:
            ValueError: there is no signature, the name is taken, or there are options.
        """
        if kwargs:
            raise ValueError(f"The actorflow backend has no options for endpoints, but it was given {sorted(kwargs)}.")
        if name in self._endpoints:
            raise ValueError(f"The endpoint {name!r} is there already.")
        self._endpoints[name] = traced(fn, input_signature)

    def track_and_add_endpoint(self, name: str, resource: Any, input_signature: Any, **kwargs: object) -> None:
        """`add_endpoint` for a model or a layer."""
        self.add_endpoint(name, resource, input_signature, **kwargs)

    def add_variable_collection(self, name: str, variables: Sequence[object]) -> None:
        """Raises NotImplementedError: a SavedModel of this backend has the variables of its endpoints alone."""
        raise NotImplementedError(
            f"The collection {name!r} can't be written: a SavedModel of the actorflow backend has the variables of its endpoints."
        )

    def write_out(self, filepath: str | os.PathLike[str], options: object = None, verbose: bool = True) -> None:
        """Writes the SavedModel.

        Args:
            filepath: the folder.
            options: must be None.
            verbose: whether to print what was written.

        Raises:
            ValueError: there is no endpoint, or there are options.
            OpError: writing failed.
        """
        if options is not None or not self._endpoints:
            raise ValueError(
                "write_out takes no options here."
                if self._endpoints
                else "There is no endpoint: call add_endpoint(...) first."
            )
        endpoints = dict(self._endpoints)
        endpoints.setdefault(DEFAULT, next(iter(endpoints.values())))
        written = source_of(endpoints)
        _run(written, lambda session: _save(session, written, filepath))
        if verbose:
            print(f"Saved artifact at '{os.fspath(filepath)}': {', '.join(endpoints)}.")


def export_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Writes a model that has been built as an ONNX file, which onnxruntime and `af.onnx` read.

    Example:
        >>> keras_actorflow.export_onnx(model, "model.onnx")

    Args:
        model: a model of Keras.
        path: the file.

    Raises:
        ValueError: the model has not been built.
        UnimplementedError: ONNX has no form for an op of it.
    """
    written = source(model)
    inputs, outputs = _tensors(written, DEFAULT)
    _run(written, lambda session: af.onnx.save(path, session, outputs, inputs))


def _run(written: Source, use: Callable[[af.Session], Any]) -> None:
    """Gives a session the values of the weights, and awaits a use of it."""

    async def run() -> None:
        async with af.Session(graph=written.graph) as session:
            await written.start(session)
            await use(session)

    driver = LoopDriver()
    try:
        driver.call(run)
    finally:
        driver.close()


async def _save(session: af.Session, written: Source, filepath: str | os.PathLike[str]) -> None:
    signatures = {}
    for name in written.signatures:
        inputs, outputs = _tensors(written, name)
        signatures[name] = af.saved_model.predict_signature_def(inputs, outputs)
    with written.graph.as_default():
        builder = af.saved_model.Builder(os.fspath(filepath))
        await builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()


def _tensors(written: Source, name: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    signature, graph = written.signatures[name], written.graph
    inputs, outputs = (
        {key: graph.get_tensor_by_name(port.tensor) for key, port in ports.items()}
        for ports in (signature.inputs, signature.outputs)
    )
    return inputs, outputs
