"""A program that keeps checkpoints on an S3 server of its own (moto), and prints what is there in the end."""

from __future__ import annotations

import os

import numpy as np
import s3fs
from moto.server import ThreadedMotoServer

import actorflow as af
from actorflow.frontends.cli.main import main


def run() -> None:
    server = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    os.environ |= {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
    os.environ["AWS_ENDPOINT_URL"] = f"http://{host}:{port}"
    files = s3fs.S3FileSystem()
    files.mkdir("bucket")
    v = af.Variable(np.arange(2_000_000.0))  # more than one part of an upload
    saver, zero = af.train.Saver(max_to_keep=2), v.assign(np.zeros(2_000_000))
    with af.blocking.Session() as session:
        session.run(v.initializer)
        paths = [saver.save(session, "s3://bucket/models/model", global_step=step) for step in range(3)]
        session.run(zero)
        latest = af.train.latest_checkpoint("s3://bucket/models")
        assert latest == paths[2]
        saver.restore(session, latest)
        assert np.array_equal(session.run(v), np.arange(2_000_000.0))
    assert not af.train.checkpoint_exists(paths[0])
    assert main(["checkpoint", "verify", *paths[1:]]) == 0
    print(len(files.ls("bucket/models")), "files")
    server.stop()


if __name__ == "__main__":
    run()
