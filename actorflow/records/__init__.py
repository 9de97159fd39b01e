"""Formats of records: checksums, TFRecord framing, Example messages, CSV, and how files fall into records.

Only `files` does I/O; the rest are functions of bytes.
"""
