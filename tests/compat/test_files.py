"""`tf.gfile` and `tf.io.gfile`: a file as an object, several patterns, what the system says and refuses."""

from __future__ import annotations

import csv
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow.compat.v1 as tf

PAIRS = {
    "Copy": "copy",
    "DeleteRecursively": "rmtree",
    "Exists": "exists",
    "Glob": "glob",
    "IsDirectory": "isdir",
    "ListDirectory": "listdir",
    "MakeDirs": "makedirs",
    "MkDir": "mkdir",
    "Remove": "remove",
    "Rename": "rename",
    "Stat": "stat",
    "Walk": "walk",
}


def test_the_two_namespaces_have_the_same_functions() -> None:
    assert all(callable(getattr(tf.gfile, old)) and callable(getattr(tf.io.gfile, new)) for old, new in PAIRS.items())
    assert tf.io.gfile.GFile is tf.gfile.GFile is tf.gfile.FastGFile is tf.gfile.Open


def test_a_file_is_read_as_by_open(tmp_path: Path) -> None:
    path = str(tmp_path / "a.txt")
    with tf.gfile.GFile(path, "w") as file:
        file.write("eins\nzwei\ndrei\n")
        assert (file.size(), file.name, file.mode) == (15, path, "w")
    file = tf.gfile.GFile(path)
    assert file.readline() == "eins\n"
    assert (file.tell(), file.read(2), file.next(), file.readlines()) == (5, "zw", "ei\n", ["drei\n"])
    file.seek(0)
    assert list(file) == ["eins\n", "zwei\n", "drei\n"]
    file.seek(position=5)
    assert file.read() == "zwei\ndrei\n" and file.seekable() and file.size() == 15
    file.close()
    with tf.gfile.GFile(path, "a") as file:
        file.write("vier\n")
    with tf.gfile.GFile(path, "rb") as file:
        assert file.read()[-5:] == b"vier\n"


def test_libraries_take_it_for_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    for save, load, mode in (
        (lambda f: pickle.dump([1, 2], f), pickle.load, "b"),
        (lambda f: np.save(f, np.array([1, 2])), lambda f: np.load(f).tolist(), "b"),
        (lambda f: json.dump([1, 2], f), json.load, ""),
        (lambda f: csv.writer(f).writerow([1, 2]), lambda f: [int(x) for x in next(csv.reader(f))], ""),
    ):
        with tf.gfile.GFile(path, f"w{mode}") as file:
            save(file)
        with tf.gfile.GFile(path, f"r{mode}") as file:
            assert load(file) == [1, 2]


@pytest.mark.parametrize("kind", [str, str.encode, Path], ids=["text", "bytes", "path"])
def test_paths_are_text_bytes_or_objects(kind: Any, tmp_path: Path) -> None:
    folder, path = str(tmp_path / "d"), str(tmp_path / "d" / "a.txt")
    tf.gfile.MakeDirs(kind(folder))
    with tf.gfile.GFile(kind(path), "w") as file:
        file.write("hello")
    status = tf.gfile.Stat(kind(path))
    assert (status.length, status.is_directory, tf.gfile.Stat(kind(folder)).is_directory) == (5, False, True)
    assert status.mtime_nsec > 10**18
    assert tf.gfile.Glob([kind(path), kind(f"{folder}/b*")]) == [path] == tf.gfile.Glob(kind(f"{folder}/*"))
    assert tf.gfile.Exists(kind(path)) and tf.gfile.ListDirectory(kind(folder)) == ["a.txt"]
    assert [(top, files) for top, _, files in tf.gfile.Walk(kind(folder))] == [(folder, ["a.txt"])]
    tf.gfile.Copy(kind(path), kind(f"{path}2"))
    tf.gfile.Rename(kind(f"{path}2"), kind(f"{path}3"))
    tf.gfile.Remove(kind(f"{path}3"))
    tf.gfile.DeleteRecursively(kind(folder))
    assert not tf.gfile.IsDirectory(kind(folder))


@pytest.mark.parametrize(
    "call",
    [
        lambda path: tf.gfile.GFile(path).read(),
        lambda path: tf.gfile.GFile(path).size(),
        lambda path: tf.gfile.Stat(path),
        lambda path: tf.gfile.Remove(path),
        lambda path: tf.gfile.ListDirectory(path),
        lambda path: tf.gfile.MkDir(f"{path}/b"),
        lambda path: tf.gfile.DeleteRecursively(path),
        lambda path: tf.gfile.Copy(path, f"{path}2"),
        lambda path: tf.gfile.Rename(path, f"{path}2"),
        lambda path: tf.io.gfile.stat(path),
        lambda path: tf.io.gfile.listdir(path),
    ],
)
def test_what_is_not_there_is_not_found(call: Any, tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="absent"):
        call(str(tmp_path / "absent"))


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    tf.gfile.MakeDirs(str(tmp_path / "a"))
    tf.gfile.MkDir(str(tmp_path / "a"))  # as in TensorFlow 1.15
    with pytest.raises(tf.errors.FailedPreconditionError):
        tf.gfile.GFile(str(tmp_path / "a")).read()
