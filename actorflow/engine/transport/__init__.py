"""The interface of transports; the core finds them through the entry point group `actorflow.transports`.

base.py         `Channel` and `Endpoint`: what a transport is made of, which carries edges and messages from process to process
errors.py       how channels fail: anyio's meanings under TensorFlow's names, so that either world's `except` finds them
factory.py      `TransportFactory`: all that the core knows of a transport
heartbeat.py    `Heartbeat`, `Pulse`: how often a process gives a sign of life, and which silence means that a peer is lost
installed.py    the transports that are installed: by name, by scheme, and the cheapest for `auto`
rendezvous.py   `Rendezvous`: where the nodes of one step meet, by the edges between them
statistics.py   `ChannelStatistics`: a channel's life so far
"""
