"""The handwritten digits, as `tensorflow.examples.tutorials.mnist.input_data` reads them."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import actorflow.compat.v1 as tf

SOURCE_URL = DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
IMAGE_SIZE = 28
NUM_CLASSES = 10


class Datasets(NamedTuple):
    """The three parts of a data set."""

    train: Any
    validation: Any
    test: Any


class DataSet:
    """Images and labels, given in batches in a random order.

    Args:
        images: [count, 28, 28, 1] of bytes.
        labels: [count] of ints, or [count, 10] of 0 and 1.
        fake_data: whether to give images whose values are 1.
        one_hot: of fake labels.
        dtype: `float32` for images between 0 and 1, or `uint8`.
        reshape: whether an image is a vector.
        seed: of the order.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = tf.float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        kind = tf.as_dtype(dtype).base_dtype
        if kind not in (tf.uint8, tf.float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        self._rng = np.random.RandomState(seed)
        self._fake = fake_data
        if fake_data:
            images = np.full((10000, 28, 28, 1), 255, np.uint8)
            labels = np.eye(10, dtype=np.float64)[np.zeros(10000, int)] if one_hot else np.zeros(10000, np.uint8)
        if len(images) != len(labels):
            raise ValueError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
        if reshape:
            images = images.reshape(len(images), -1)
        if kind == tf.float32:
            images = images.astype(np.float32) * np.float32(1.0 / 255.0)
        self._images, self._labels = images, labels
        self._epochs_completed = self._index = 0

    @property
    def images(self) -> Any:
        return self._images

    @property
    def labels(self) -> Any:
        return self._labels

    @property
    def num_examples(self) -> int:
        return len(self._images)

    @property
    def epochs_completed(self) -> int:
        return self._epochs_completed

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """The next images and labels; at the end of an epoch the order changes."""
        start = self._index
        if self._epochs_completed == 0 and start == 0 and shuffle:
            self._reorder()
        if start + batch_size <= self.num_examples:
            self._index = start + batch_size
            return self._images[start : self._index], self._labels[start : self._index]
        self._epochs_completed += 1
        images, labels = self._images[start:], self._labels[start:]
        if shuffle:
            self._reorder()
        self._index = batch_size - len(images)
        return (
            np.concatenate([images, self._images[: self._index]]),
            np.concatenate([labels, self._labels[: self._index]]),
        )

    def _reorder(self) -> None:
        order = self._rng.permutation(self.num_examples)
        self._images, self._labels = self._images[order], self._labels[order]


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """The path of a file in a folder, which is fetched if it is not there."""
    import urllib.request

    folder = Path(work_directory)
    path = folder / filename
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        try:
            urllib.request.urlretrieve(source_url, part)
        except OSError as error:
            raise OSError(
                f"{filename} is not in {folder}, and could not be fetched from {source_url}: {error}. Put the file there."
            ) from error
        part.rename(path)
        print("Successfully downloaded", filename, path.stat().st_size, "bytes.")
    return str(path)


def extract_images(f: Any) -> Any:
    """The images of a packed file of digits: [count, rows, columns, 1]. Raises ValueError for another file."""
    with gzip.GzipFile(fileobj=f) as stream:
        magic, count, rows, columns = struct.unpack(">IIII", stream.read(16))
        if magic != 2051:
            raise ValueError(f"Invalid magic number {magic} in MNIST image file: {getattr(f, 'name', f)}")
        return np.frombuffer(stream.read(rows * columns * count), np.uint8).reshape(count, rows, columns, 1)


def dense_to_one_hot(labels_dense: Any, num_classes: int) -> Any:
    """Labels as rows of zeros and a single 1."""
    return np.eye(num_classes)[labels_dense]


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = 10) -> Any:
    """The labels of a packed file of digits. Raises ValueError for another file."""
    with gzip.GzipFile(fileobj=f) as stream:
        magic, count = struct.unpack(">II", stream.read(8))
        if magic != 2049:
            raise ValueError(f"Invalid magic number {magic} in MNIST label file: {getattr(f, 'name', f)}")
        labels = np.frombuffer(stream.read(count), np.uint8)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = tf.float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = DEFAULT_SOURCE_URL,
) -> Datasets:
    """The digits of a folder, in three parts; files that are not there are fetched.

    Args:
        train_dir: the folder.
        fake_data: whether to give images whose values are 1, without files.
        one_hot: whether a label is a row of zeros and a single 1.
        dtype, reshape, seed: see `DataSet`.
        validation_size: the number of images of the second part.
        source_url: where the files are.

    Raises:
        OSError: a file can't be fetched.
        ValueError: another file, or a part that is greater than the whole.
    """
    if fake_data:
        empty = np.zeros(0)

        def fake() -> DataSet:
            return DataSet(empty, empty, fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed)

        return Datasets(fake(), fake(), fake())
    arrays = []
    for name in FILES:
        with open(maybe_download(name, train_dir, (source_url or DEFAULT_SOURCE_URL) + name), "rb") as file:
            arrays.append(extract_images(file) if "images" in name else extract_labels(file, one_hot))
    images, labels, test_images, test_labels = arrays
    if not 0 <= validation_size <= len(images):
        raise ValueError(f"Validation size should be between 0 and {len(images)}. Received: {validation_size}.")
    named = {"dtype": dtype, "reshape": reshape, "seed": seed}
    return Datasets(
        DataSet(images[validation_size:], labels[validation_size:], **named),
        DataSet(images[:validation_size], labels[:validation_size], **named),
        DataSet(test_images, test_labels, **named),
    )


def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    """`read_data_sets` of a folder."""
    return read_data_sets(train_dir)
