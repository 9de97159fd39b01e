"""A convolutional network as a model function of one's own: hooks, train_and_evaluate, exporters, a warm start, a saved model."""

import os
import tempfile

import numpy as np
from sklearn.datasets import load_digits

import actorflow.compat.v1 as tf

FLAGS = tf.app.flags.FLAGS
tf.app.flags.DEFINE_integer("steps", 60, "steps of the training")
tf.app.flags.DEFINE_float("learning_rate", 0.05, "the first learning rate")


def start(shape, seed):
    """The same initial values everywhere."""
    return tf.constant_initializer(np.random.RandomState(seed).normal(scale=0.15, size=shape).astype(np.float32))


def cnn_model_fn(features, labels, mode, params):
    training = mode == tf.estimator.ModeKeys.TRAIN
    images = tf.reshape(features["x"], [-1, 8, 8, 1])
    net = tf.layers.conv2d(
        images,
        8,
        [3, 3],
        padding="same",
        activation=tf.nn.relu,
        kernel_initializer=start([3, 3, 1, 8], 1),
        name="conv1",
    )
    net = tf.layers.max_pooling2d(net, [2, 2], 2)
    net = tf.layers.conv2d(
        net, 12, 3, padding="same", use_bias=False, kernel_initializer=start([3, 3, 8, 12], 2), name="conv2"
    )
    net = tf.nn.relu(tf.layers.batch_normalization(net, momentum=0.9, training=training, name="norm"))
    net = tf.layers.flatten(tf.layers.average_pooling2d(net, 2, 2))
    with tf.variable_scope("top"):
        net = tf.layers.dense(
            net,
            24,
            activation=tf.nn.relu,
            kernel_initializer=start([48, 24], 3),
            kernel_regularizer=lambda weights: 1e-3 * tf.reduce_sum(weights * weights),
        )
        net = tf.layers.dropout(net, rate=params["dropout"], training=training)
        logits = tf.layers.dense(
            net, params["classes"], kernel_initializer=start([24, params["classes"]], 4), name="logits"
        )
    predictions = {"classes": tf.argmax(logits, axis=1), "probabilities": tf.nn.softmax(logits, name="softmax_tensor")}
    if mode == tf.estimator.ModeKeys.PREDICT:
        outputs = {"classify": tf.estimator.export.PredictOutput(predictions)}
        return tf.estimator.EstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    loss += tf.losses.get_regularization_loss()
    accuracy = tf.metrics.accuracy(labels=labels, predictions=predictions["classes"], name="acc_op")
    tf.summary.scalar("train_accuracy", accuracy[1])
    if mode == tf.estimator.ModeKeys.EVAL:
        per_class = tf.metrics.mean_per_class_accuracy(labels, predictions["classes"], params["classes"])
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, eval_metric_ops={"accuracy": accuracy, "per_class": per_class}
        )
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(FLAGS.learning_rate, step, 20, 0.8, staircase=True)
    optimizer = tf.train.MomentumOptimizer(rate, 0.9)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        gradients, variables = zip(*optimizer.compute_gradients(loss))
        gradients, norm = tf.clip_by_global_norm(gradients, 2.0)
        train_op = optimizer.apply_gradients(zip(gradients, variables), global_step=step)
    hooks = [tf.train.LoggingTensorHook({"rate": rate, "norm": norm}, every_n_iter=20)]
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, training_hooks=hooks)


class LossHook(tf.train.SessionRunHook):
    def begin(self):
        self.losses = []
        self.fetches = {"loss": tf.losses.get_total_loss(), "step": tf.train.get_global_step()}

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self.fetches)

    def after_run(self, run_context, run_values):
        self.losses.append(float(run_values.results["loss"]))


class Listener(tf.train.CheckpointSaverListener):
    def __init__(self):
        self.saved = []

    def after_save(self, session, global_step_value):
        self.saved.append(int(global_step_value))


def main(_):
    folder = tempfile.mkdtemp()
    images, labels = load_digits(return_X_y=True)
    images, labels = (images / 16).astype(np.float32), labels.astype(np.int32)
    train_input_fn = tf.estimator.inputs.numpy_input_fn(
        x={"x": images[:1400]}, y=labels[:1400], batch_size=50, num_epochs=None, shuffle=False
    )
    eval_input_fn = tf.estimator.inputs.numpy_input_fn(
        x={"x": images[1400:]}, y=labels[1400:], num_epochs=1, shuffle=False
    )
    config = tf.estimator.RunConfig(
        model_dir=os.path.join(folder, "cnn"), save_checkpoints_steps=20, save_summary_steps=10, keep_checkpoint_max=2
    )
    params = {"dropout": 0.0, "classes": 10}
    classifier = tf.estimator.Estimator(model_fn=cnn_model_fn, params=params, config=config)

    def serving_input_receiver_fn():
        x = tf.placeholder(tf.float32, [None, 64], name="images")
        return tf.estimator.export.ServingInputReceiver({"x": x}, {"images": x})

    hook, listener = LossHook(), Listener()
    exporter = tf.estimator.BestExporter(
        serving_input_receiver_fn=serving_input_receiver_fn,
        compare_fn=lambda best_eval_result, current_eval_result: best_eval_result["loss"] > current_eval_result["loss"],
        exports_to_keep=1,
    )
    results, _exports = tf.estimator.train_and_evaluate(
        classifier,
        tf.estimator.TrainSpec(train_input_fn, max_steps=FLAGS.steps, hooks=[hook], saving_listeners=[listener]),
        tf.estimator.EvalSpec(eval_input_fn, steps=None, throttle_secs=0, exporters=[exporter]),
    )
    for number in (0, 1, 10, 30, len(hook.losses) - 1):
        print(f"loss_{number}", hook.losses[number])
    for key in sorted(results):
        print("eval_" + key, float(results[key]))
    print("saved", sum(listener.saved))
    print("checkpoints", float(len(tf.train.get_checkpoint_state(classifier.model_dir).all_model_checkpoint_paths)))
    names = classifier.get_variable_names()
    print("variables", float(len(names)))
    print("norm_mean", float(np.abs(classifier.get_variable_value("norm/moving_mean")).sum()))

    answers = list(classifier.predict(eval_input_fn, predict_keys=["classes", "probabilities"]))
    print("predicted", float(np.mean([one["classes"] for one in answers] == labels[1400:])))

    params = {"dropout": 0.0, "classes": 5}
    settings = tf.estimator.WarmStartSettings(
        classifier.model_dir, vars_to_warm_start=["conv.*", "norm.*", "top/dense.*"]
    )
    other = tf.estimator.Estimator(cnn_model_fn, os.path.join(folder, "five"), params=params, warm_start_from=settings)
    five = labels < 5
    hook = LossHook()
    other.train(
        tf.estimator.inputs.numpy_input_fn({"x": images[five]}, labels[five], 50, shuffle=False), hooks=[hook], steps=10
    )
    print("warm_first", hook.losses[0])
    print("warm_last", hook.losses[-1])

    path = classifier.export_saved_model(os.path.join(folder, "saved"), serving_input_receiver_fn)
    with tf.Session(graph=tf.Graph()) as session:
        meta = tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], path)
        signature = meta.signature_def["serving_default"]
        found = session.run(
            signature.outputs["probabilities"].name, {signature.inputs["images"].name: images[1400:1410]}
        )
    print("served", float(np.abs(found - [one["probabilities"] for one in answers[:10]]).max() < 1e-5))
    events = [name for name in tf.gfile.ListDirectory(classifier.model_dir) if "tfevents" in name]
    tags = set()
    for event in tf.train.summary_iterator(os.path.join(classifier.model_dir, sorted(events)[0])):
        tags.update(value.tag for value in event.summary.value)
    print("summaries", float({"loss", "train_accuracy"} <= tags))
    tf.gfile.DeleteRecursively(folder)


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.app.run()
