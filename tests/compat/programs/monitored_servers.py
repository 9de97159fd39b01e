"""A loop by hand with a MonitoredTrainingSession, hooks, and variables on parameter servers; then a chief that goes on."""

import os
import socket
import sys
import tempfile

import numpy as np

import actorflow.compat.v1 as tf


def free_addresses(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    addresses = [f"localhost:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return addresses


def batches(size):
    rng = np.random.RandomState(5)
    while True:
        x = rng.normal(size=(size, 6)).astype(np.float32)
        yield x, (x @ np.arange(1, 7, dtype=np.float32)[:, None] > 0.5).astype(np.float32)


class Steps(tf.train.SessionRunHook):
    def __init__(self):
        self.calls = []

    def begin(self):
        self.calls.append("begin")
        self.step = tf.train.get_global_step()

    def after_create_session(self, session, coord):
        self.calls.append(f"created {session.run(self.step)}")

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self.step)

    def after_run(self, run_context, run_values):
        if run_values.results >= 39:
            run_context.request_stop()

    def end(self, session):
        self.calls.append(f"end {session.run(self.step)}")


def train(server, cluster, folder, last_step, feed):
    with tf.Graph().as_default():
        with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:0", cluster=cluster)):
            x = tf.placeholder(tf.float32, [None, 6], name="x")
            y = tf.placeholder(tf.float32, [None, 1], name="y")
            w1 = tf.get_variable("w1", initializer=np.linspace(-1, 1, 48).reshape(6, 8).astype(np.float32))
            b1 = tf.get_variable("b1", [8], initializer=tf.zeros_initializer())
            w2 = tf.get_variable("w2", initializer=np.linspace(1, -1, 8).reshape(8, 1).astype(np.float32))
            logits = tf.matmul(tf.nn.tanh(tf.nn.xw_plus_b(x, w1, b1)), w2)
            loss = tf.losses.sigmoid_cross_entropy(y, logits)
            global_step = tf.train.get_or_create_global_step()
            _accuracy, accuracy_op = tf.metrics.accuracy(y, tf.round(tf.sigmoid(logits)))
            average = tf.train.ExponentialMovingAverage(0.9, global_step)
            train_op = tf.train.AdamOptimizer(0.05).minimize(loss, global_step)
            with tf.control_dependencies([train_op]):
                train_op = average.apply([w1, w2])
            tf.summary.scalar("loss", loss)
        steps = Steps()
        final = tf.train.FinalOpsHook({"step": global_step, "w2": w2})
        hooks = [
            steps,
            tf.train.StopAtStepHook(last_step=last_step),
            tf.train.LoggingTensorHook([loss], every_n_iter=10),
            tf.train.NanTensorHook(loss),
            tf.train.FeedFnHook(lambda: dict(zip((x, y), next(feed)))),
            final,
        ]
        losses = []
        scaffold = tf.train.Scaffold(saver=tf.train.Saver(max_to_keep=2))
        with tf.train.MonitoredTrainingSession(
            master=server.target,
            is_chief=True,
            checkpoint_dir=folder,
            scaffold=scaffold,
            hooks=hooks,
            chief_only_hooks=[tf.train.StepCounterHook(every_n_steps=10, output_dir=folder)],
            save_checkpoint_secs=None,
            save_checkpoint_steps=10,
            save_summaries_steps=5,
            log_step_count_steps=10,
        ) as session:
            while not session.should_stop():
                _, value, right = session.run([train_op, loss, accuracy_op])
                losses.append(float(value))
        print("devices", float(len({one.device for one in tf.global_variables()})))
        return losses, float(right), final.final_ops_values, steps.calls


def main(_):
    addresses = free_addresses(3)
    cluster = tf.train.ClusterSpec({"ps": addresses[:2], "worker": addresses[2:]})
    folder = tempfile.mkdtemp()
    # the second difference from TensorFlow's program: servers touch files only in folders that are named
    options = {} if "tensorflow" in tf.__name__ else {"file_roots": [folder]}
    servers = [tf.train.Server(cluster, "ps", index, **options) for index in range(2)]
    worker = tf.train.Server(cluster, job_name="worker", task_index=0, **options)
    feed = batches(32)
    for number, last_step in enumerate((25, 100)):
        losses, right, values, calls = train(worker, cluster, folder, last_step, feed)
        print(f"steps_{number}", float(len(losses)))
        print(f"first_{number}", losses[0])
        print(f"last_{number}", losses[-1])
        print(f"accuracy_{number}", right)
        print(f"final_{number}", float(values["step"]))
        print(f"w2_{number}", float(np.abs(values["w2"]).sum()))
        print(f"calls_{number}_" + "_".join(calls).replace(" ", ":"), float(len(calls)))
    state = tf.train.get_checkpoint_state(folder)
    print("kept", float(len(state.all_model_checkpoint_paths)))
    print("newest", float(os.path.basename(state.model_checkpoint_path).split("-")[1]))
    reader = tf.train.NewCheckpointReader(state.model_checkpoint_path)
    print("saved", float(len(reader.get_variable_to_shape_map())))
    print("average", float(np.abs(reader.get_tensor("w2/ExponentialMovingAverage")).sum()))
    tf.gfile.DeleteRecursively(folder)
    sys.stdout.flush()
    os._exit(0 * len(servers))  # servers of TensorFlow can't be closed


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.app.run()
