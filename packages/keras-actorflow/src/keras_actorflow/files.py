"""`.keras` files as a kind of files with models: `af.load_model("model.keras")` and `actorflow serve` read them."""

from __future__ import annotations

import os
from collections.abc import Collection

from actorflow.exchange.sources.source import Signatures, Source, SourceKind


def _read(path: str, tags: Collection[str], signatures: Signatures | None) -> Source:
    from keras_actorflow.hook import install

    install()
    import keras

    from keras_actorflow.src.export import source

    if keras.backend.backend() != "actorflow":
        raise RuntimeError(
            f"{path!r} can't be read: Keras runs on {keras.backend.backend()} in this process. Import keras_actorflow before "
            "keras, or set KERAS_BACKEND=actorflow."
        )
    return source(keras.saving.load_model(path, compile=False))


KIND = SourceKind("a .keras file", lambda path: path.endswith(".keras") and os.path.isfile(path), _read)
