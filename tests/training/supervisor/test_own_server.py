"""A program that is a task, with its server beside its session, keeps checkpoints as TensorFlow's programs do: its own server
may use their folder. A server of another process refuses, as it was not started with the folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow import blocking, errors
from actorflow.cluster.client import own_servers


@pytest.fixture
def server() -> Iterator[Any]:
    with af.Graph().as_default(), tf.train.Server.create_local_server() as made:
        yield made


def monitored_session(target: str, folder: str) -> None:
    step = tf.train.get_or_create_global_step()
    count = tf.assign_add(step, 1)
    with tf.train.MonitoredTrainingSession(target, checkpoint_dir=folder) as session:
        session.run(count)


def supervisor(target: str, folder: str) -> None:
    af.train.get_or_create_global_step()
    with blocking.Supervisor(target, checkpoint_dir=folder) as kept:
        kept.save()


def saver(target: str, folder: str) -> None:
    v = af.Variable(3.0)
    kept = af.train.Saver()
    with tf.Session(target) as session:
        session.run(v.initializer)
        kept.save(session, f"{folder}/model.ckpt")


def saver_that_restores(target: str, folder: str) -> None:
    v = af.Variable(3.0)
    kept = af.train.Saver()
    with blocking.Session() as session:
        session.run(v.initializer)
        kept.save(session, f"{folder}/model.ckpt")
    with tf.Session(target) as session:
        kept.restore(session, f"{folder}/model.ckpt")
        assert session.run(v) == 3.0


DOORS = [monitored_session, supervisor, saver, saver_that_restores]
Door = Callable[[str, str], None]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_program_keeps_checkpoints_beside_its_own_server(server: Any, tmp_path: Path, door: Door) -> None:
    door(server.target, str(tmp_path))
    assert af.train.latest_checkpoint(str(tmp_path))


def test_a_server_of_another_process_says_that_it_does_not_allow_the_folder(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_servers, "_servers", type(own_servers._servers)())
    with pytest.raises(errors.OpError, match="file_roots"):
        supervisor(server.target, str(tmp_path))
