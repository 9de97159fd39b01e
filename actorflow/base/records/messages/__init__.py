"""Messages of Protocol Buffers as light Python classes: a class lists its fields, and has what generated messages have.

containers.py    lists and maps of a message, whose entries are checked as they are added
example_json.py  Examples from their JSON form, as the parser of Protocol Buffers in TensorFlow reads it
message.py       `Message`: fields by name, `HasField`, `WhichOneof`, `CopyFrom`, the wire format
text.py          the text format
values.py        `Field`, and its values: what a field takes, and how the wire has it
"""
