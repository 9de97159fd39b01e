"""A server process of the remote benchmarks: `python -m benchmarks.cluster.remote_server ours|peer INDEX PORT...`.

The cluster has one job, `worker`, with a task at each port; this is the one of that index.

It says "up" and serves until its standard input ends. The environment variable `ACTORFLOW_KEYS` names its keys, if any.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from benchmarks.harness import environment
from benchmarks.harness.sides import peer_library


async def _serve_ours(index: int, addresses: list[str]) -> None:
    import anyio
    from anyio import to_thread

    import actorflow as af
    from actorflow.cluster.config.credentials import from_environment

    async with af.Server({"worker": addresses}, "worker", index, credentials=from_environment()):
        print("up", flush=True)
        async with anyio.create_task_group():
            await to_thread.run_sync(sys.stdin.read)


def _serve_peer(index: int, addresses: list[str]) -> None:
    tf: Any = peer_library()
    server = tf.train.Server(tf.train.ClusterSpec({"worker": addresses}), "worker", index)
    print("up", flush=True)
    threading.Thread(target=server.join, daemon=True).start()
    sys.stdin.read()


def main() -> None:
    side, index = sys.argv[1], int(sys.argv[2])
    addresses = [f"127.0.0.1:{port}" for port in sys.argv[3:]]
    environment.prepare()
    if side == "ours":
        import anyio

        import actorflow as af

        anyio.run(_serve_ours, index, addresses, backend_options={"loop_factory": af.new_event_loop})
    else:
        _serve_peer(index, addresses)


if __name__ == "__main__":
    main()
