"""The stores of checkpoints.

files.py    what a local store asks of the operating system: few operations, so that a test or a simulation can stand in for it
remote.py   stores behind URLs (`s3://`, `gs://`, `memory://` ...), through `fsspec`, an extra
store.py    where checkpoints are kept: a flat folder of named files, each of which is there in full or not at all
"""
