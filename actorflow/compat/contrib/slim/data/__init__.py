"""Readers of records for `tf.contrib.slim`: what a data set is made of, and how its items become tensors.

data_decoder.py           `DataDecoder`: items from an encoded record
data_provider.py          `DataProvider`: tensors by the names of items
dataset.py                `Dataset`: files, reader, decoder
dataset_data_provider.py  `DatasetDataProvider`: the items of a data set
images.py                 the handler of encoded images
items.py                  the handlers of parsed features
parallel_reader.py        several readers into one queue
prefetch_queue.py         a queue of batches that are ready
tfexample_decoder.py      `TFExampleDecoder`, and the handlers under the names of programs
"""
