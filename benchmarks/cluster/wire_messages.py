"""The cost of packing and checking the messages between tasks: msgpack with our own checks, and msgspec.

    python -m benchmarks.cluster.wire_messages     # needs `pip install msgspec`, which nothing else here does

Both take the same bytes. msgspec decodes the envelope with the fields left as they are, and then these into a struct that is made
from the hints of the same record. The last column is msgspec with a wire of its own, in which the method is the struct's tag and
one call decodes all.
"""

from __future__ import annotations

import functools
import operator
import typing
from collections.abc import Callable
from dataclasses import fields
from time import perf_counter_ns
from typing import Annotated, Any

import msgspec

from actorflow.cluster.wire import messages
from actorflow.cluster.wire.decoding import decode
from actorflow.cluster.wire.signatures import encode_inline
from actorflow.transports.protocol.frames import pack, unpack

ROUNDS, CALLS = 15, 4000
BOUNDS = {"epoch": 1 << 32}
REQUESTS: list[messages.Request] = [
    messages.RunPlan(1, 3, 1234, 0.5, False, 2, []),
    messages.RunPlan(1, 3, 1234, 0.5, False, 2, encode_inline([1.5, 2])),
    messages.RunPart(70_000, 1234, None, False, 2, encode_inline([1.5] * 8)),
    messages.Register(1, 70_000, bytes(4000)),
    messages.StepWaits(list(range(40)), True),
    messages.AbortStep(1234, {"class": "AbortedError", "message": "The step was stopped on another task."}),
    messages.OpenSession({f"option{n}": True for n in range(11)}, 30.0),
    messages.Pending(),
]


def struct_of(kind: type[messages.Request], **config: Any) -> Any:
    """The record as a struct of msgspec: an array, with the hints and bounds of the record."""
    hints = typing.get_type_hints(kind)
    made = []
    for field in fields(kind):
        hint = hints[field.name]
        if hint is int:
            hint = Annotated[int, msgspec.Meta(ge=0, le=BOUNDS.get(field.name, 1 << 63) - 1)]
        made.append((field.name, hint))
    return msgspec.defstruct(kind.__name__, made, array_like=True, frozen=True, **config)


def nanoseconds(function: Callable[[], Any]) -> float:
    """The least time of a call, over a few rounds."""
    found = []
    for _ in range(ROUNDS):
        begun = perf_counter_ns()
        for _ in range(CALLS):
            function()
        found.append((perf_counter_ns() - begun) / CALLS)
    return min(found)


def main() -> None:
    """Prints a row for each request."""
    encoder = msgspec.msgpack.Encoder()
    envelope = msgspec.msgpack.Decoder(tuple[int, int, str, msgspec.Raw])
    structs = {kind.method: struct_of(kind) for kind in messages.Request.__subclasses__()}
    decoders = {method: msgspec.msgpack.Decoder(struct) for method, struct in structs.items()}
    tagged = {k.method: struct_of(k, tag_field="method", tag=k.method) for k in messages.Request.__subclasses__()}
    any_of: Any = functools.reduce(operator.or_, tagged.values())
    union = msgspec.msgpack.Decoder(tuple[int, int, any_of])
    print(f"{'ns, pack + unpack and check':40} {'bytes':>6} {'msgpack':>15} {'msgspec':>15} {'msgspec, tagged':>15}")
    for request in REQUESTS:
        method = request.method
        values = request.encode()
        struct, other = structs[method](*values), tagged[method](*values)
        data = pack([1, 77, method, values])
        alone = encoder.encode((1, 77, other))

        def taken(data: bytes = data) -> Any:
            _, _, name, found = unpack(data)
            return decode(name, found)

        def taken_by_struct(data: bytes = data) -> Any:
            _, _, name, raw = envelope.decode(data)
            return decoders[name].decode(raw)

        assert taken() == request
        assert taken_by_struct() == struct
        row: list[Any] = [
            (lambda r=request: pack([1, 77, r.method, r.encode()]), taken),
            (lambda s=struct, m=method: encoder.encode((1, 77, m, s)), taken_by_struct),
            (lambda o=other: encoder.encode((1, 77, o)), lambda d=alone: union.decode(d)),
        ]
        cells = [f"{nanoseconds(made):6.0f} + {nanoseconds(read):<6.0f}" for made, read in row]
        name = f"{type(request).__name__} of {len(values)} fields"
        print(f"{name:40} {len(data):6} {cells[0]:>15} {cells[1]:>15} {cells[2]:>15}")


if __name__ == "__main__":
    main()
