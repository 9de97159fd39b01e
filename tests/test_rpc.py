"""Requests over a channel, without sockets: whatever a peer sends, a Server answers with a typed error or a result, and goes on.

`ACTORFLOW_RPC_FUZZ` sets how many messages a run takes (20,000), `ACTORFLOW_TEST_SEED` the seed.
"""
