"""The protocol between two processes, without a socket or a wait (see docs/reference/protocol.md).

clocks.py       beats: each side's clocks, the time that a beat takes there and back, and how far the clocks are apart
connection.py   `ProtocolConnection`: the protocol between two processes, without socket, clock or wait
                (docs/reference/protocol.md)
contents.py     what records say: each is decoded and checked once, into a class of its kind, and then a connection branches on
                the classes
credit.py       `Credit`: what the peer may still send, and what it gets back of that: how the memory of a receiver is bounded
events.py       `Event`: what a connection makes of what has arrived, for the shell that drives it; and the states of its life
frames.py       records, the units of the wire: a header, a tag, msgpack metadata and a body (see docs/reference/protocol.md)
handshake.py    the first record of each side: who it is, which versions it speaks, what it takes; and the verdict on it
inbox.py        the tokens of a channel by their keys: whichever comes first, the token or its receiver, leaves its half here
leases.py       what this process uses of a peer's: each token's end gives its lease back
outbox.py       what a connection has still to send, in the order in which it goes, under the windows that the peer has granted
receiver.py     the tokens that arrive: each is checked, put together in memory that was allocated for it, and delivered once
sender.py       `Sender`: the tokens that leave
tensors.py      tokens as bytes, and back: arrays as they lie in memory, strings by their lengths, and nothing is pickled
"""
