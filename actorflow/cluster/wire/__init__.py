"""Requests and replies between tasks.

connect_all.py      the links from a master to all tasks of its cluster, which start in any order; the log says which are missing
decoding.py         the request that a peer has sent, with each field checked
endpoints.py        the endpoints of one process: an endpoint for control, and another for tensors on the same host if a
                    transport has that reach
failures.py         errors on the way from one task to another: the same class there, with its whole text and a word on
                    its origin
links.py            `TaskLink`: what one task opens to another: a channel, and on one host a second channel, which then
                    carries everything
messages.py         what tasks ask of each other
recorded.py         what the tasks of a cluster have recorded of their steps, as one trace by this process's clock
rpc.py              `Rpc`: requests and replies over the messages of a channel, in both directions
signatures.py       signatures on the wire, by which a client asks a master for plans; small tensors in requests and replies;
                    checks of fed values
"""
