"""Writes `columns_tf215.json.gz` and `sequences_tf215.json.gz`: random models of feature columns, and columns of sequences,
with TensorFlow 2.15's answers.

python tests/models/layers/dump_columns.py      with tensorflow-cpu==2.15.1, under Python 3.11
"""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from models.layers.column_programs import run, run_of_sequences

WORDS = ["ant", "bee", "cat", "dog", "eel", "fox", ""]


def one(rng: random.Random) -> dict[str, Any]:
    """A random model."""
    batch = rng.randint(1, 4)
    features: dict[str, Any] = {}
    columns = []
    model = rng.choice(["input_layer", "linear_model"])
    for number in range(rng.randint(1, 4)):
        columns.append(_column(rng, f"f{number}", features, batch, model))
    arguments: dict[str, Any] = {"trainable": False} if rng.random() < 0.15 else {}
    if model == "linear_model":
        arguments["units"] = rng.choice([1, 3])
        arguments["sparse_combiner"] = rng.choice(["sum", "mean", "sqrtn"])
    return {"model": model, "columns": columns, "features": features, "arguments": arguments}


def _column(rng: random.Random, key: str, features: dict[str, Any], batch: int, model: str) -> dict[str, Any]:
    kind = rng.choice(["numeric", "bucketized", *["categorical"] * 4])
    if kind != "categorical":
        width = rng.choice([1, 1, 3])
        features[key] = [[round(rng.uniform(-2, 3), 2) for _ in range(width)] for _ in range(batch)]
        if width == 1 and rng.random() < 0.3:
            features[key] = [row[0] for row in features[key]]
        numeric: dict[str, Any] = {"kind": "numeric_column", "key": key, "shape": [width]}
        if rng.random() < 0.3:
            numeric["normalizer_fn"] = "halved"
        if rng.random() < 0.3:
            numeric["default_value"] = 1.5
        if kind == "numeric":
            return numeric
        return {"kind": "bucketized_column", "of": [numeric], "boundaries": sorted(rng.sample([-1, 0, 0.5, 1, 2], 3))}
    inner = _categories(rng, key, features, batch)
    if model == "linear_model" and rng.random() < 0.6:
        return inner
    if rng.random() < 0.4 and inner["kind"] != "crossed_column":
        return {"kind": "indicator_column", "of": [inner]}
    shape: dict[str, Any] = {"dimension": rng.randint(1, 4), "combiner": rng.choice(["mean", "sum", "sqrtn"])}
    if rng.random() < 0.3:
        shape["max_norm"] = 0.5
    if rng.random() < 0.2:
        shape["trainable"] = False
    if inner["kind"] != "weighted_categorical_column" and rng.random() < 0.3 and model == "input_layer":
        other = {**inner, "key": f"{key}b"} if "key" in inner else None
        if other is not None:
            features[f"{key}b"] = features[key]
            return {"kind": "shared_embedding_columns", "of": [other, inner], **shape}
    return {"kind": "embedding_column", "of": [inner], **shape}


def _categories(rng: random.Random, key: str, features: dict[str, Any], batch: int) -> dict[str, Any]:
    way = rng.choice(["identity", "hash", "hash int", "list", "list int", "file", "crossed"])
    whole = way in ("identity", "hash int", "list int")
    values: list[Any] = list(range(6)) if whole else WORDS[:6]
    width = rng.randint(1, 3)
    if way != "crossed" and rng.random() < 0.5:
        missing: Any = -1 if whole else ""
        features[key] = [[rng.choice([*values, missing]) for _ in range(width)] for _ in range(batch)]
        places = [[i, j] for i in range(batch) for j in range(width) if features[key][i][j] != missing]
        weighted = False
    else:
        places = [[i, j] for i in range(batch) for j in range(width) if rng.random() < 0.8]
        kind = "int64" if whole else "string"
        chosen = [rng.choice(values) for _ in places]
        features[key] = {"indices": places, "values": chosen, "shape": [batch, width], "dtype": kind}
        weighted = way != "crossed" and rng.random() < 0.4
    made: dict[str, Any] = {"key": key}
    if way == "identity":
        made |= {"kind": "categorical_column_with_identity", "num_buckets": rng.choice([6, 8])}
        if rng.random() < 0.4:
            made |= {"num_buckets": 4, "default_value": 0}
    elif way.startswith("hash"):
        made |= {"kind": "categorical_column_with_hash_bucket", "hash_bucket_size": rng.choice([3, 10])}
        made["dtype"] = "int64" if whole else "string"
    elif way == "crossed":
        features[f"{key}x"] = {
            "indices": [[i, 0] for i in range(batch)],
            "values": [rng.choice(values) for _ in range(batch)],
            "shape": [batch, 1],
            "dtype": "string",
        }
        numbers = {"kind": "categorical_column_with_identity", "key": f"{key}y", "num_buckets": 5}
        features[f"{key}y"] = [[rng.randint(0, 4)] for _ in range(batch)]
        of: list[Any] = [key, f"{key}x"] + [numbers] * (rng.random() < 0.5)
        if f"{key}y" not in [one.get("key") for one in of if isinstance(one, dict)]:
            del features[f"{key}y"]
        return {"kind": "crossed_column", "of": of, "hash_bucket_size": rng.choice([7, 50])}
    elif way == "file":
        made |= {"kind": "categorical_column_with_vocabulary_file", "vocabulary_file": "tests/models/layers/words.txt"}
        made |= rng.choice([{}, {"vocabulary_size": 3}, {"num_oov_buckets": 2}, {"default_value": 1}])
    else:
        listed = [4, 2, 0] if whole else ["dog", "ant", "cat"]
        made |= {"kind": "categorical_column_with_vocabulary_list", "vocabulary_list": listed}
        made |= rng.choice([{}, {"num_oov_buckets": 2}, {"default_value": 1}])
    if weighted:
        weights = [round(rng.uniform(0.1, 2), 2) for _ in places]
        features[f"{key}w"] = {"indices": places, "values": weights, "shape": [batch, width], "dtype": "float32"}
        return {"kind": "weighted_categorical_column", "of": [made], "weight_feature_key": f"{key}w"}
    return made


def refusals() -> list[dict[str, Any]]:
    """Models that are refused."""
    number: dict[str, Any] = {"kind": "numeric_column", "key": "a"}
    word: dict[str, Any] = {"kind": "categorical_column_with_hash_bucket", "key": "w", "hash_bucket_size": 5}
    identity: dict[str, Any] = {"kind": "categorical_column_with_identity", "key": "i", "num_buckets": 3}
    listed: dict[str, Any] = {"kind": "categorical_column_with_vocabulary_list", "key": "w", "vocabulary_list": ["a"]}
    file: dict[str, Any] = {"kind": "categorical_column_with_vocabulary_file", "key": "w"}
    embedded: dict[str, Any] = {"kind": "embedding_column", "of": [word]}
    wrong: list[list[dict[str, Any]]] = [
        [],
        [number, number],
        [word],
        [{**number, "key": "absent"}],
        [{**number, "shape": [0]}],
        [{**number, "shape": [1.5]}],
        [{**number, "dtype": "string"}],
        [{**number, "normalizer_fn": 3}],
        [{**number, "default_value": [1.0, 2.0]}],
        [{**number, "default_value": "x"}],
        [{"kind": "bucketized_column", "of": [word], "boundaries": [1]}],
        [{"kind": "bucketized_column", "of": [number], "boundaries": []}],
        [{"kind": "bucketized_column", "of": [number], "boundaries": [2, 1]}],
        [{"kind": "bucketized_column", "of": [{**number, "shape": [1, 2]}], "boundaries": [1]}],
        [{"kind": "indicator_column", "of": [number]}],
        [{"kind": "indicator_column", "of": [{**identity, "num_buckets": 0}]}],
        [{"kind": "indicator_column", "of": [{**identity, "default_value": 5}]}],
        [{"kind": "indicator_column", "of": [{**identity, "key": "w"}]}],
        [{"kind": "indicator_column", "of": [{**word, "hash_bucket_size": 0}]}],
        [{"kind": "indicator_column", "of": [{**word, "dtype": "float32"}]}],
        [{"kind": "indicator_column", "of": [{**word, "dtype": "int64"}]}],
        [{"kind": "indicator_column", "of": [{**listed, "vocabulary_list": []}]}],
        [{"kind": "indicator_column", "of": [{**listed, "vocabulary_list": ["a", "a"]}]}],
        [{"kind": "indicator_column", "of": [{**listed, "num_oov_buckets": 2, "default_value": 0}]}],
        [{"kind": "indicator_column", "of": [{**listed, "num_oov_buckets": -1}]}],
        [{"kind": "indicator_column", "of": [{**listed, "dtype": "int64"}]}],
        [{"kind": "indicator_column", "of": [{**file, "vocabulary_file": ""}]}],
        [{"kind": "indicator_column", "of": [{**file, "vocabulary_file": "tests/models/layers/absent.txt"}]}],
        [{"kind": "indicator_column", "of": [{**file, "vocabulary_file": "x", "vocabulary_size": 0}]}],
        [{**embedded, "dimension": 0}],
        [{**embedded, "dimension": 2, "initializer": 3}],
        [{**embedded, "dimension": 2, "tensor_name_in_ckpt": "x"}],
        [{"kind": "shared_embedding_columns", "of": [word, identity], "dimension": 2}],
        [{"kind": "shared_embedding_columns", "of": [identity, {**identity, "num_buckets": 4}], "dimension": 2}],
        [{"kind": "crossed_column", "of": ["w"], "hash_bucket_size": 5}],
        [{"kind": "crossed_column", "of": ["w", word], "hash_bucket_size": 5}],
        [{"kind": "crossed_column", "of": ["w", "v"], "hash_bucket_size": 0}],
    ]
    features = {"a": [[1.0], [2.0]], "w": [["x"], ["y"]], "i": [[1], [2]]}
    return [{"model": "input_layer", "columns": c, "features": features, "arguments": {}} for c in wrong]


def sequences(rng: random.Random) -> dict[str, Any]:
    """Random columns of sequences, most of them of equal lengths."""
    batch, most = rng.randint(1, 4), rng.randint(1, 4)
    lengths = [rng.randint(0, most) for _ in range(batch)]
    lengths[rng.randrange(batch)] = most
    features: dict[str, Any] = {}
    columns = []
    for number in range(rng.randint(1, 3)):
        if rng.random() < 0.1:
            lengths = [*lengths[:-1], 0 if lengths[-1] else most]
        columns.append(_sequence(rng, f"s{number}", features, lengths))
    return {"columns": columns, "features": features}


def _sequence(rng: random.Random, key: str, features: dict[str, Any], lengths: list[int]) -> dict[str, Any]:
    way = rng.choice(["numeric", "identity", "hash", "list", "file"])
    steps, width = max(lengths), rng.choice([1, 1, 2])
    if way == "numeric":
        deep = width > 1 and rng.random() < 0.5
        places = [[i, j] for i, length in enumerate(lengths) for j in range(length * (1 if deep else width))]
        if deep:
            places = [[*place, k] for place in places for k in range(width)]
        values = [round(rng.uniform(-2, 3), 2) for _ in places]
        shape = [len(lengths), steps, width] if deep else [len(lengths), steps * width]
        features[key] = {"indices": places, "values": values, "shape": shape, "dtype": "float32"}
        options = rng.choice([{}, {"default_value": 1.5}, {"normalizer_fn": "halved"}])
        return {"kind": "sequence_numeric_column", "key": key, "shape": [width], **options}
    whole = way == "identity"
    values = list(range(6)) if whole else WORDS[:6]
    places = [[i, j] for i, length in enumerate(lengths) for j in range(length)]
    shape = [len(lengths), steps]
    if width > 1:  # several categories a step
        places = [[*place, k] for place in places for k in range(rng.randint(1, width))]
        shape.append(width)
    kind = "int64" if whole else "string"
    features[key] = {"indices": places, "values": [rng.choice(values) for _ in places], "shape": shape, "dtype": kind}
    made: dict[str, Any] = {"key": key}
    if way == "identity":
        made |= {"kind": "sequence_categorical_column_with_identity", "num_buckets": 6}
    elif way == "hash":
        made |= {"kind": "sequence_categorical_column_with_hash_bucket", "hash_bucket_size": rng.choice([3, 10])}
    elif way == "file":
        made |= {
            "kind": "sequence_categorical_column_with_vocabulary_file",
            "vocabulary_file": "tests/models/layers/words.txt",
        }
        made |= rng.choice([{}, {"num_oov_buckets": 2}, {"default_value": 1}])
    else:
        made |= {"kind": "sequence_categorical_column_with_vocabulary_list", "vocabulary_list": ["dog", "ant", "cat"]}
        made |= rng.choice([{}, {"num_oov_buckets": 2}, {"default_value": 1}])
    if rng.random() < 0.4:
        return {"kind": "indicator_column", "of": [made]}
    combined: dict[str, Any] = {"dimension": rng.randint(1, 4), "combiner": rng.choice(["mean", "sum", "sqrtn"])}
    return {"kind": "embedding_column", "of": [made], **combined}


def refused_sequences() -> list[dict[str, Any]]:
    """Columns that are refused."""
    number: dict[str, Any] = {"kind": "sequence_numeric_column", "key": "a"}
    identity: dict[str, Any] = {"kind": "sequence_categorical_column_with_identity", "key": "i", "num_buckets": 3}
    plain: dict[str, Any] = {"kind": "categorical_column_with_identity", "key": "i", "num_buckets": 3}
    wrong: list[list[dict[str, Any]]] = [
        [],
        [identity],
        [{"kind": "numeric_column", "key": "i"}],
        [{"kind": "indicator_column", "of": [plain]}],
        [{"kind": "embedding_column", "of": [plain], "dimension": 2}],
        [{**number, "shape": [0]}],
        [{**number, "dtype": "string"}],
        [{**number, "normalizer_fn": 3}],
        [{**number, "key": "absent"}],
        [{"kind": "indicator_column", "of": [{**identity, "num_buckets": 0}]}],
    ]
    numbers = {"indices": [[0, 0], [1, 0]], "values": [1.0, 2.0], "shape": [2, 1], "dtype": "float32"}
    return [{"columns": columns, "features": {"a": numbers, "i": [[1], [2]]}} for columns in wrong]


def main() -> None:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    warnings.simplefilter("ignore")
    import tensorflow.compat.v1 as tf  # type: ignore[import-not-found]

    tf.disable_v2_behavior()
    folder = Path(__file__).parent
    (folder / "words.txt").write_text("fox\nbee\nant\ncat\n", encoding="utf-8")
    rng = random.Random(8)
    _write(folder / "columns_tf215.json.gz", run, tf, [one(rng) for _ in range(120)] + refusals(), 120)
    programs = [sequences(rng) for _ in range(60)] + refused_sequences()
    _write(folder / "sequences_tf215.json.gz", run_of_sequences, tf, programs, 60)


def _write(path: Path, answer: Any, tf: Any, programs: list[dict[str, Any]], good: int) -> None:
    """Writes the programs with their answers, and prints those that are refused but should not be, or the other way."""
    found = [{**program, "answer": answer(tf, program)} for program in programs]
    path.write_bytes(gzip.compress(json.dumps(found, separators=(",", ":")).encode(), mtime=0))
    print(len(found), "programs,", path.stat().st_size, "bytes")
    for number, program in enumerate(found):
        if ("error" in program["answer"]) != (number >= good):
            print(program)


if __name__ == "__main__":
    main()
