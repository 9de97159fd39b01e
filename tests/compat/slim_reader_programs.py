"""Programs over the readers of `tf.contrib.slim` that run over TensorFlow 1.15 and over actorflow: each gives named arrays."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, Callable[[Any], dict[str, Any]]] = {}


def program(function: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    PROGRAMS[function.__name__] = function
    return function


def example(tf: Any, **features: Any) -> bytes:
    """A serialized example: bytes, numbers and fractions by the type of the first value; `__` stands for a slash."""
    kinds = {bytes: ("bytes_list", "BytesList"), int: ("int64_list", "Int64List"), float: ("float_list", "FloatList")}
    entries = {}
    for key, values in features.items():
        field, name = kinds[type(values[0])]
        entries[key.replace("__", "/")] = tf.train.Feature(**{field: getattr(tf.train, name)(value=values)})
    return bytes(tf.train.Example(features=tf.train.Features(feature=entries)).SerializeToString())


def run(tf: Any, fetches: Any) -> dict[str, Any]:
    """The values of `fetches`, each by its name."""
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        return dict(session.run(fetches))


def decoded(tf: Any, record: bytes, features: Any, handlers: Any) -> dict[str, Any]:
    """All items of a record."""
    decoder = tf.contrib.slim.tfexample_decoder.TFExampleDecoder(features, handlers)
    items = decoder.list_items()
    tensors: dict[str, Any] = {}
    for item, tensor in zip(items, decoder.decode(tf.placeholder_with_default(record, []))):
        if isinstance(tensor, tf.SparseTensor):
            tensors.update(
                {item + "_at": tensor.indices, item + "_of": tensor.values, item + "_in": tensor.dense_shape}
            )
        else:
            tensors[item] = tensor
    dense = {item: tensor for item, tensor in tensors.items() if not item.endswith("_at")}
    shapes = {item + " shape": str(tensor.get_shape()) for item, tensor in dense.items()}
    types = {item + " type": tensor.dtype.name for item, tensor in tensors.items()}
    return {**run(tf, tensors), **shapes, **types}


@program
def tensors_and_shapes(tf: Any) -> dict[str, Any]:
    handlers = tf.contrib.slim.tfexample_decoder
    record = example(tf, a=[1, 2, 3, 4, 5, 6], high=[3], wide=[2], size=[2, 3], f=[0.5, 1.5], label=[7])
    features = {
        "a": tf.VarLenFeature(tf.int64),
        "high": tf.FixedLenFeature([], tf.int64),
        "wide": tf.FixedLenFeature([1], tf.int64),
        "size": tf.VarLenFeature(tf.int64),
        "f": tf.FixedLenFeature([2], tf.float32),
        "label": tf.FixedLenFeature([], tf.int64, default_value=0),
        "none": tf.VarLenFeature(tf.float32),
        "absent": tf.FixedLenFeature([2], tf.float32, default_value=[3.0, 4.0]),
    }
    return decoded(
        tf,
        record,
        features,
        {
            "plain": handlers.Tensor("a"),
            "by_key": handlers.Tensor("a", shape_keys="size"),
            "by_shape": handlers.Tensor("a", shape=[3, 2]),
            "dense_by_shape": handlers.Tensor("f", shape=[2, 1]),
            "scalar": handlers.Tensor("label", shape=[]),
            "empty": handlers.Tensor("none"),
            "absent": handlers.Tensor("absent"),
            "by_function": handlers.ItemHandlerCallback(["high", "f"], lambda t: tf.to_float(t["high"]) * t["f"]),
        },
    )


@program
def shapes_of_several_keys(tf: Any) -> dict[str, Any]:
    handlers = tf.contrib.slim.tfexample_decoder
    record = example(tf, a=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], high=[3], wide=[2])
    features = {"a": tf.FixedLenFeature([6], tf.float32)}
    features.update({key: tf.FixedLenFeature([1], tf.int64) for key in ("high", "wide")})
    return decoded(tf, record, features, {"a": handlers.Tensor("a", shape_keys=["high", "wide"])})


@program
def boxes(tf: Any) -> dict[str, Any]:
    handlers = tf.contrib.slim.tfexample_decoder
    sides = {"b__ymin": [0.1, 0.2], "b__xmin": [0.3, 0.4], "b__ymax": [0.5, 0.6], "b__xmax": [0.7, 0.8]}
    record = example(tf, top=[0.1], left=[0.2], **sides)
    features = {f"b/{side}": tf.VarLenFeature(tf.float32) for side in ("ymin", "xmin", "ymax", "xmax")}
    features.update({side: tf.FixedLenFeature([1], tf.float32) for side in ("top", "left")})
    return decoded(
        tf,
        record,
        features,
        {
            "boxes": handlers.BoundingBox(prefix="b/"),
            "order": handlers.BoundingBox(["ymin", "ymax", "xmin", "xmax"], "b/"),
            "dense": handlers.BoundingBox(["top", "left", "left", "top"]),
        },
    )


@program
def sparse_items(tf: Any) -> dict[str, Any]:
    handlers = tf.contrib.slim.tfexample_decoder
    record = example(tf, indices=[0, 3, 5], values=[0.5, 1.5, 2.5], size=[7])
    features = {"indices": tf.VarLenFeature(tf.int64), "values": tf.VarLenFeature(tf.float32)}
    features["size"] = tf.VarLenFeature(tf.int64)
    return decoded(
        tf,
        record,
        features,
        {
            "sparse": handlers.SparseTensor(shape=[6]),
            "keyed": handlers.SparseTensor(shape_key="size"),
            "dense": handlers.SparseTensor("indices", "values", shape=[8], densify=True, default_value=-1.0),
        },
    )


@program
def looked_up_and_backed_up(tf: Any) -> dict[str, Any]:
    handlers = tf.contrib.slim.tfexample_decoder
    record = example(tf, words=[b"b", b"c", b"z"], other=[4, 5])
    table = tf.contrib.lookup.index_table_from_tensor(tf.constant(["a", "b", "c"]), default_value=-1)
    features = {key: tf.VarLenFeature(tf.int64) for key in ("first", "other")}
    features["words"] = tf.VarLenFeature(tf.string)
    return decoded(
        tf,
        record,
        features,
        {
            "numbers": handlers.LookupTensor("words", table),
            "second": handlers.BackupHandler(handlers.Tensor("first"), handlers.Tensor("other")),
            "first": handlers.BackupHandler(handlers.Tensor("other"), handlers.Tensor("first")),
        },
    )


@program
def images(tf: Any) -> dict[str, Any]:
    handlers = tf.contrib.slim.tfexample_decoder
    pixels = np.random.RandomState(0).randint(0, 255, (4, 3, 3)).astype(np.uint8)
    flat = np.full((8, 8, 3), 90, np.uint8)
    fetches = {"png": tf.image.encode_png(pixels), "jpeg": tf.image.encode_jpeg(flat)}
    fetches["gray"] = tf.image.encode_png(pixels[:, :, :1])
    files = {key: bytes(value) for key, value in run(tf, fetches).items()}
    features = {"image/encoded": tf.FixedLenFeature([], tf.string), "image/format": tf.FixedLenFeature([], tf.string)}
    values: dict[str, Any] = {}
    for key, contents, form, handler in (
        ("png", files["png"], b"png", handlers.Image()),
        ("shape", files["png"], b"png", handlers.Image(shape=[4, 3, 3])),
        ("gray", files["gray"], b"png", handlers.Image(channels=1, dtype=tf.float32)),
        ("jpeg", files["jpeg"], b"jpeg", handlers.Image(dct_method="INTEGER_ACCURATE")),
        ("wrong format", files["jpeg"], b"png", handlers.Image()),
        ("raw", pixels.tobytes(), b"raw", handlers.Image(shape=[4, 3, 3])),
        ("RAW", pixels.astype(np.float32).tobytes(), b"RAW", handlers.Image(shape=[4, 3, 3], dtype=tf.float32)),
    ):
        record = example(tf, image__encoded=[contents], image__format=[form])
        items = decoded(tf, record, features, {"image": handler})
        values.update({f"{key} {name}": value for name, value in items.items()})
    record = example(tf, image__encoded=[files["png"]] * 2, image__format=[b"png"])
    features["image/encoded"] = tf.FixedLenFeature([2], tf.string)
    return {**values, **decoded(tf, record, features, {"both": handlers.Image(repeated=True)})}


def records(tf: Any, folder: str, files: int = 2, count: int = 3) -> str:
    """A pattern of files of records, each with its number and its image."""
    for file in range(files):
        with tf.python_io.TFRecordWriter(os.path.join(folder, f"part-{file}")) as writer:
            for index in range(count):
                writer.write(example(tf, label=[file * count + index], x=[float(index), 0.5]))
    return os.path.join(folder, "part-*")


def data_set(tf: Any, folder: str, **more: Any) -> Any:
    slim = tf.contrib.slim
    features = {"label": tf.FixedLenFeature([1], tf.int64), "x": tf.FixedLenFeature([2], tf.float32)}
    handlers = {
        "label": slim.tfexample_decoder.Tensor("label", shape=[]),
        "x": slim.tfexample_decoder.Tensor("x"),
    }
    return slim.dataset.Dataset(
        data_sources=records(tf, folder),
        reader=tf.TFRecordReader,
        decoder=slim.tfexample_decoder.TFExampleDecoder(features, handlers),
        num_samples=6,
        items_to_descriptions={"x": "two numbers", "label": "the number of the record"},
        **more,
    )


@program
def provider_in_order(tf: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        data = data_set(tf, folder, num_classes=6)
        provider = tf.contrib.slim.dataset_data_provider.DatasetDataProvider(data, shuffle=False)
        x, label, key = provider.get(["x", "label", "record_key"])
        answers, keys = [], []
        with tf.Session() as session, tf.contrib.slim.queues.QueueRunners(session):
            for _ in range(8):
                a, b, c = session.run([x, label, key])
                answers.append([*a, b])
                keys.append(os.path.basename(c.decode()))
        told = {"items": sorted(provider.list_items()), "samples": provider.num_samples(), "classes": data.num_classes}
    return {"answers": np.array(answers), "keys": keys, "shape": str(x.get_shape()), **told}


@program
def provider_of_epochs(tf: Any) -> dict[str, Any]:
    slim = tf.contrib.slim
    with tempfile.TemporaryDirectory() as folder:
        provider = slim.dataset_data_provider.DatasetDataProvider(
            data_set(tf, folder), num_readers=2, num_epochs=2, common_queue_capacity=8, common_queue_min=2, seed=1
        )
        (label,) = provider.get(["label"])
        labels = []
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            with slim.queues.QueueRunners(session):
                try:
                    while True:
                        labels.append(int(session.run(label)))
                except tf.errors.OutOfRangeError:
                    pass
        summaries = [each.op.name for each in tf.get_collection(tf.GraphKeys.SUMMARIES)]
        locals_ = [each.op.name for each in tf.local_variables()]
    return {"labels": sorted(labels), "summaries": summaries, "locals": locals_}


@program
def batches_that_are_ready(tf: Any) -> dict[str, Any]:
    slim = tf.contrib.slim
    with tempfile.TemporaryDirectory() as folder:
        x, label = slim.dataset_data_provider.DatasetDataProvider(data_set(tf, folder), shuffle=False).get(
            ["x", "label"]
        )
        xs, labels = tf.train.batch([x, label], batch_size=3, num_threads=1, capacity=9)
        queue = slim.prefetch_queue.prefetch_queue([xs, labels], capacity=2)
        named = slim.prefetch_queue.prefetch_queue({"x": xs, "label": labels}, dynamic_pad=True, name="named")
        first, second = queue.dequeue()
        shapes = [str(first.get_shape()), str(second.get_shape())]
        parts = sorted(named.dequeue())
        with tf.Session() as session, slim.queues.QueueRunners(session):
            shapes_of_values = list(session.run(first).shape)
        summaries = [each.op.name for each in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    return {"shapes": shapes, "parts": parts, "values": shapes_of_values, "summaries": summaries, "name": queue.name}


@program
def parallel_reader(tf: Any) -> dict[str, Any]:
    slim = tf.contrib.slim
    with tempfile.TemporaryDirectory() as folder:
        pattern = records(tf, folder)
        files = slim.parallel_reader.get_data_files([pattern, os.path.join(folder, "part-0")])
        _, record = slim.parallel_reader.single_pass_read(pattern, tf.TFRecordReader)
        names = tf.train.string_input_producer(slim.parallel_reader.get_data_files(pattern), num_epochs=1)
        queue = tf.FIFOQueue(20, [tf.string, tf.string], [[], []])
        reader = slim.parallel_reader.ParallelReader(tf.TFRecordReader, queue, num_readers=2)
        _, many = reader.read_up_to(names, 4)
        produced, files_read = reader.num_records_produced(), reader.num_work_units_completed()
        order, sizes = [], []
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            with slim.queues.QueueRunners(session):
                for drawn, each in ((order, record), (sizes, many)):
                    try:
                        while True:
                            value = session.run(each)
                            drawn.extend([value] if isinstance(value, bytes) else list(value))
                    except tf.errors.OutOfRangeError:
                        pass
                counts = [int(count) for count in session.run([produced, files_read])]
    numbers = [tf.train.Example.FromString(each).features.feature["label"].int64_list.value[0] for each in order]
    return {
        "files": [os.path.basename(file) for file in files],
        "numbers": [int(number) for number in numbers],
        "many": len(sizes),
        "counts": counts,
        "readers": reader.num_readers,
    }


@program
def summaries_of_tensors(tf: Any) -> dict[str, Any]:
    summaries = tf.contrib.slim.summaries
    x, image = tf.constant([0.0, 1.0], name="x"), tf.zeros([1, 2, 2, 3], name="image")
    total = tf.constant(3.0, name="total")
    parts = [
        *summaries.add_histogram_summaries([x, total], prefix="all"),
        *summaries.add_image_summaries([image]),
        *summaries.add_scalar_summaries([total], prefix="sums"),
        summaries.add_scalar_summary(total, "again", print_summary=True),
        *summaries.add_zero_fraction_summaries([x]),
    ]
    collected = len(tf.get_collection(tf.GraphKeys.SUMMARIES))
    with tf.Session() as session:
        texts = [tf.Summary.FromString(text) for text in session.run(parts)]
    tags = [[each.tag for each in text.value] for text in texts]
    numbers = [float(each.simple_value) for text in texts for each in text.value]
    return {"tags": tags, "numbers": np.array(numbers), "collected": collected}
