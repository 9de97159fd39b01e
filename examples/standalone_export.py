"""Trains a small network on handwritten digits, and writes it as one module of Python that needs numpy alone.

python examples/standalone_export.py --steps 300 --output examples/out/standalone

It then starts an interpreter that asks the module, and says how long that took and how much memory it has.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import anyio
import numpy as np
from sklearn.datasets import load_digits

import actorflow as af

OUTPUT = Path(__file__).parent / "out" / "standalone"
QUESTION = r"""
import time
begun = time.perf_counter()
import digits
import numpy as np
answer = digits.predict(np.load("images.npy"))["digit"]
seconds = time.perf_counter() - begun
import pathlib, re
memory = int(re.search(r"VmHWM:\s*(\d+)", pathlib.Path("/proc/self/status").read_text())[1]) / 1024
print(f"the module says {answer.tolist()} after {seconds:.2f} s, with {memory:.0f} MB")
"""


async def main() -> None:
    parser = argparse.ArgumentParser(description="Writes a network as a module that needs numpy alone.")
    parser.add_argument("--steps", type=int, default=300, help="how many steps to train (300)")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of the module (examples/out/standalone)")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    pixels, digits = load_digits(return_X_y=True)
    images = (pixels / 16).astype(np.float32)
    graph = af.Graph()
    with graph.as_default():
        af.set_random_seed(0)
        x = af.placeholder(af.float32, [None, 64], name="images")
        labels = af.placeholder(af.int64, [None])
        logits = af.layers.dense(af.layers.dense(x, 64, activation=af.nn.relu), 10)
        loss = af.losses.sparse_softmax_cross_entropy(labels, logits)
        train = af.train.AdamOptimizer(0.01).minimize(loss)
        digit = af.argmax(logits, 1)
        init = af.global_variables_initializer()

    async with af.Session(graph=graph) as session:
        await session.run(init)
        rng = np.random.default_rng(0)
        for _ in range(options.steps):
            rows = rng.integers(0, 1500, 64)
            await session.run(train, {x: images[rows], labels: digits[rows]})
        await af.export.standalone(options.output / "digits.py", session, {"digit": digit}, {"images": x})

    np.save(options.output / "images.npy", images[-8:])
    print(f"these are      {digits[-8:].tolist()}")
    done = await anyio.run_process([sys.executable, "-c", QUESTION], cwd=options.output, stderr=subprocess.STDOUT)
    print(done.stdout.decode().strip())


if __name__ == "__main__":
    anyio.run(main)
