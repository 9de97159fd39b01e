"""A program of TensorFlow 1.15 in eager mode, with one changed import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
import numpy as np
import actorflow.compat.v1 as tf

tf.enable_eager_execution()
assert tf.executing_eagerly()


class Model(object):
    def __init__(self):
        self.w = tf.Variable(tf.random_normal([2, 1], seed=1), name="w")
        self.b = tf.Variable(0.0, name="b")

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


model = Model()
x = np.random.RandomState(0).normal(size=(64, 2)).astype(np.float32)
y = x.dot(np.array([[2.0], [-1.0]], np.float32)) + 0.5
optimizer = tf.train.GradientDescentOptimizer(learning_rate=0.2)
step = tf.train.get_or_create_global_step()

for _ in range(50):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    variables = [model.w, model.b]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables), global_step=step)
optimizer.minimize(lambda: tf.reduce_mean(tf.square(model(x) - y)), global_step=step)
assert int(step) == 51, step


@tf.function
def error(inputs, targets):
    return tf.reduce_mean(tf.square(model(inputs) - targets))


assert float(error(x, y)) < 1e-4
assert tf.cond(error(x, y) < 1.0, lambda: tf.constant(1), lambda: tf.constant(2)).numpy() == 1

checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
manager = tf.train.CheckpointManager(checkpoint, sys.argv[1], max_to_keep=3)
manager.save()
model.b.assign(100.0)
checkpoint.restore(manager.latest_checkpoint).assert_consumed()
print("%.2f %.2f %.2f" % (model.w.numpy()[0, 0], model.w.numpy()[1, 0], model.b.numpy()))

with tf.Graph().as_default():
    a = tf.placeholder(tf.float32)
    with tf.Session() as session:
        print(session.run(a * 2.0, {a: 4.0}))
"""


def test_a_program_of_eager_mode_runs_f119(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), str(tmp_path / "models")],
        capture_output=True,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == ["2.00 -1.00 0.50", "8.0"]


GRADIENTS = """
import actorflow.compat.v1 as tf

tf.enable_eager_execution()
eager = tf.contrib.eager
v = tf.Variable(3.0)
value, [(slope, variable)] = eager.implicit_value_and_gradients(lambda x: v * v * x)(tf.constant(2.0))
print(float(value), float(slope), variable is v, float(eager.implicit_gradients(lambda: v * v)()[0][0]))
try:
    eager.implicit_gradients(lambda x: x)(tf.constant(2.0))
except ValueError as error:
    print(error)


def product(x, y):
    return x * x * y


print([float(each) for each in eager.gradients_function(product)(3.0, 2.0)])
for params in ([1], ["y"]):
    value, [slope] = eager.value_and_gradients_function(product, params)(3.0, 2.0)
    print(float(value), float(slope))
iterator = eager.Iterator(tf.data.Dataset.range(3))
print(int(iterator.next()), [int(each) for each in iterator])
"""


def test_contrib_has_gradients_of_functions_and_iterators(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(GRADIENTS, encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [
        "18.0 12.0 True 6.0",
        "No trainable variables were accessed while the function was being computed.",
        "[12.0, 9.0]",
        "18.0 9.0",
        "18.0 9.0",
        "0 [1, 2]",
    ]
