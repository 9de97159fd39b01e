"""The common ground of all floors: element types, shapes, records, registries, the process, and reports for people.

byte_strings.py arrays of byte strings, from arrays of Python's bytes and text
data_frame.py   `data_frame`: columns as a table of pandas
dialect.py      whose behaviour a program means where ours and TensorFlow 1's differ
dtypes.py       element types of tensors: TensorFlow's names over numpy's types
nest.py         nested structures of tensors (`af.nest`)
origins.py      hosts and origins: which requests of HTTP come from a page of another site
packed_strings.py  strings as places and bytes, as they go from kernel to kernel
paths.py        `path_text`: the path that a program gives, as text
shapes.py       static shapes: what is known of a tensor's shape while the graph is built
unpicklable.py  errors for values that can't be pickled
process/        the machine, threads and forks
records/        formats of records: TFRecord, Example, CSV, messages of Protocol Buffers, checksums
registry/       how ops and kernels are declared, registered and found
reports/        what people read: logs, tracebacks, HTML for notebooks
"""
