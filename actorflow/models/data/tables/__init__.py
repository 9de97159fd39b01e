"""Tables as datasets, and datasets as tables: Parquet, Arrow's record batches, databases, CSV.

An element is a batch: a dict of arrays by the names of columns, made of the columns as they lie in memory. Reading is done on a
thread, some batches ahead of those who pull. The package `pyarrow` (extra `arrow`) reads and writes Parquet.

arrow.py      columns of Arrow as arrays, and their types as specs
csv_files.py  `CsvDataset`: the rows of CSV files, whose columns and types a schema states
database.py   `SqlDataset`: the rows of a query, by any connection of Python's database interface
parquet.py    `ParquetDataset`, `ArrowDataset`, `write_parquet`
threads.py    a generator that one thread runs from its beginning to its end
values.py     values of Python as columns, in types that hold them
"""
