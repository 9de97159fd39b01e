"""`load_model`: a model file of any kind as an `InferenceSession`."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from actorflow.engine.batching.rows import Batching
from actorflow.engine.session.settings import SessionLimits
from actorflow.exchange.onnx.inference.options import SessionOptions
from actorflow.exchange.onnx.inference.session import InferenceSession
from actorflow.exchange.onnx.inference.signature_model import SignatureModel
from actorflow.exchange.sources.source import Signatures, read
from actorflow.public import public


@public("af")
def load_model(
    path: str | os.PathLike[str],
    *,
    signature: str | None = None,
    tags: Collection[str] = ("serve",),
    signatures: Signatures | None = None,
    options: SessionOptions | None = None,
    providers: Sequence[str | tuple[str, Mapping[Any, Any]]] | None = None,
    batching: Batching | None = None,
    limits: SessionLimits | None = None,
) -> InferenceSession:
    """Opens a model file. The kind of the file is found by its path.

    Example:
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> await af.saved_model.simple_save(session, "models/triple/1", {"x": x}, {"y": x * 3.0})
        >>> async with af.load_model("models/triple/1") as model:
        ...     print(await model.run_async(["y"], {"x": np.ones(2, np.float32)}))
        [array([3., 3.], dtype=float32)]

    Args:
        path: an ONNX file, a folder with a saved model, a frozen graph (`.pb`), or a checkpoint that has its `.meta` file.
            A checkpoint is found by its prefix, by any of its files, such as a shard in safetensors, or by its folder, which
            means the latest. Packages add kinds, such as `.keras`.
        signature: the signature of a model that has several; `serving_default`, or the only signature, unless given. An ONNX
            file has a single signature.
        tags: the tags of the graph of a saved model.
        signatures: signatures, where the file has none: `{"serving_default": ({"x": "x:0"}, {"y": "y:0"})}`. `Saver.save(...,
            signatures=...)` writes them with a checkpoint.
        options, providers, batching, limits: see `af.onnx.InferenceSession`.

    Raises:
        NotFoundError: there is no model at the path, or no such signature in it.
        DataLossError, InvalidArgumentError: the file is damaged, or `batching` is asked for and rows can't be put together.
        UnknownNameError, UnimplementedError: the model has ops that are not here.
        TypeError: `path` is no path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"load_model takes the path of a model, but it was given {path!r:.60}.")
    path = os.fspath(path)
    model: Any = path
    if signature is not None or signatures is not None or not path.endswith(".onnx") or not os.path.isfile(path):
        model = SignatureModel(read(path, tags, signatures), signature, path)
    return InferenceSession(model, options, providers, batching=batching, limits=limits)
