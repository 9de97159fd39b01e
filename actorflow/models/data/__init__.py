"""Datasets: where elements come from, and the stages that they go through (`tf.data`).

    dataset = af.data.Dataset.from_tensor_slices((images, labels)).shuffle(1000).batch(32).prefetch(1)

    async for images, labels in dataset:
        ...

A `Dataset` is an immutable description: a tree of frozen records, each with its kind, its values, and its function, traced into a
graph. One table has a small class for each kind, an asynchronous pull with its state. The same classes run on a client, and in
the iterators of graphs, whose kernel for the next element is asynchronous: an iterator that waits holds no thread.

Elements go from stage to stage in blocks, as many as those who pull can take. A function whose ops all work row by row is called
once for a block. A stage keeps in itself, whenever it waits, all that it has taken and not given yet. So a pull that is cancelled
takes nothing away, and a checkpoint can be made in the midst of a pull: a run that goes on there sees the next element.

dataset.py      `Dataset` and its stages
experimental/   names that TensorFlow 1.15 keeps in `tf.data.experimental`
functions/      functions of elements: traced into graphs, or awaited
identity.py     a digest of a description: whether a place belongs to this input
iteration.py    how a dataset is gone through: `async for`, `for`, and the iterators of graphs
iterator.py     `Iterator`: the iterators of graphs
node.py         `DatasetNode`: one stage of a description, and descriptions on the wire
padding.py      the shapes and values of `padded_batch`
random.py       TensorFlow's random numbers, for its order of shuffling
readers.py      `TFRecordDataset`, `TextLineDataset`, `FixedLengthRecordDataset`
resource.py     the stages of one iterator at work, and the resource of a graph that holds them
samples/        folders of images, and samples in tar files
sharing/        files that the workers of a cluster read together
sources.py      where datasets come from
spec.py         what elements look like
stage.py        `Stage`: the rule that each keeps, and the table of them
statistics.py   what stages did, which of them is slow, and for whom a pull waits
stages/         the stages, one small class each
tables/         Parquet, record batches of Arrow, databases, CSV
"""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.data", __name__)
