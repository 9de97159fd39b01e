"""Saves that are killed, and files that are changed (`make chaos`): what the tests look at some times, two hundred and two
thousand times. The file system's operations are stopped one by one in tests/checkpoint/test_checkpoint_faults.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from actorflow import errors
from actorflow.checkpoint import reading, writing
from actorflow.checkpoint.format import layout
from actorflow.checkpoint.stores.store import LocalStore
from chaos.chaos_cycles import FACTOR, SEED
from chaos.report import write

KILLS = max(4, round(200 * FACTOR))
FLIPS = max(40, round(2000 * FACTOR))
PROGRAM = Path(__file__).parents[1] / "checkpoint" / "killed_saves.py"


def test_f66_killed_saves_leave_the_old_or_the_new_checkpoint(tmp_path: Path) -> None:
    begun = time.time()
    done = subprocess.run(
        [sys.executable, PROGRAM, tmp_path, str(KILLS), str(SEED)],
        capture_output=True,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, f"seed {SEED}: {done.stderr[-4000:]}"
    found = json.loads(done.stdout.splitlines()[-1])
    print(f"\n{found}")
    assert found["kills"] == KILLS and (found["midway"] > KILLS // 10 or FACTOR < 1)
    write("chaos_saves", f"make chaos CHAOS={FACTOR:g}", begun, {"figures": found | {"flips": FLIPS}})


def test_f66_flipped_bytes_in_data_and_each_in_the_manifest_are_detected(tmp_path: Path) -> None:
    rng = np.random.default_rng(SEED)
    store = LocalStore(str(tmp_path))
    large = {f"v{i}": rng.integers(0, 256, (3, 1 << 20), np.uint8) for i in range(4)}
    pieces = [layout.piece(name, "variable", value) for name, value in large.items()]
    writing.commit(store, "model", writing.write_shards(store, "model", {"/device:CPU:0": pieces}))
    shard, manifest = next(tmp_path.glob("*.safetensors")), tmp_path / "model.manifest"

    def is_seen() -> bool:
        try:
            reader = reading.Reader(f"{tmp_path}/model")
            reader.read(reader.manifest.entries)
        except errors.DataLossError:
            return True
        return False

    for file, places in (
        (shard, rng.integers(0, shard.stat().st_size, FLIPS).tolist()),
        (manifest, range(0, manifest.stat().st_size, 1 if FACTOR >= 1 else 7)),
    ):
        with open(file, "r+b", buffering=0) as opened:
            for place in places:
                good = os.pread(opened.fileno(), 1, place)
                os.pwrite(opened.fileno(), bytes([good[0] ^ int(rng.integers(1, 256))]), place)
                assert is_seen(), f"seed {SEED}: byte {place} of {file.name}"
                os.pwrite(opened.fileno(), good, place)
    assert not is_seen()
