"""Programs over `tf.contrib` that run over TensorFlow 1.15 and over actorflow: each gives named arrays.

A program gets the module `tf`. Its variables take values that go by their order, so that nothing random is left.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, Callable[[Any], dict[str, Any]]] = {}


def program(function: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    PROGRAMS[function.__name__] = function
    return function


def numbers(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    return np.asarray(np.random.RandomState(seed).randn(*shape) * scale, np.float32)


def evaluate(tf: Any, fetches: dict[str, Any], steps: tuple[Any, ...] = (), watch: bool = False) -> dict[str, Any]:
    """The values of `fetches` after some steps, and the names of variables; with `watch` their values too."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
        variables = sorted(tf.global_variables(), key=lambda each: each.name)
        for index, each in enumerate(tf.trainable_variables()):
            each.load(numbers(*each.shape.as_list(), seed=index + 1, scale=0.3), session)
        for each in steps:
            session.run(each)
        values = session.run(fetches)
        if watch:
            values.update({"after " + each.op.name: session.run(each) for each in variables})
    values["variables"] = [each.name for each in variables]
    return values


@program
def convolutional_layers(tf: Any) -> dict[str, Any]:
    slim = tf.contrib.slim
    x = tf.constant(numbers(2, 9, 9, 3))
    with slim.arg_scope([slim.conv2d, slim.separable_conv2d], weights_regularizer=slim.l2_regularizer(0.1)):
        a = slim.repeat(x, 2, slim.conv2d, 4, [3, 3], scope="conv1")
        b = slim.conv2d(a, 5, 3, stride=2, padding="VALID", rate=1, activation_fn=None, scope="conv2")
        c = slim.conv2d_transpose(b, 3, [3, 3], stride=2, padding="VALID")
        d = slim.conv2d_transpose(b, 3, [4, 4], stride=2)
        e = slim.separable_conv2d(a, 6, [3, 3], depth_multiplier=2)
        f = slim.separable_conv2d(a, None, [3, 3], 1, stride=2)
        g = tf.contrib.layers.conv2d_in_plane(a, [3, 3])
    pools = slim.max_pool2d(a, [2, 2]), slim.avg_pool2d(a, 3, stride=1, padding="SAME")
    losses = tf.losses.get_regularization_losses()
    fetches = {"a": a, "b": b, "c": c, "d": d, "e": e, "f": f, "g": g, "max": pools[0], "mean": pools[1]}
    return evaluate(tf, {**fetches, "losses": tf.stack(losses)})


@program
def dense_layers(tf: Any) -> dict[str, Any]:
    layers = tf.contrib.layers
    x = tf.constant(numbers(3, 4))
    a = layers.fully_connected(x, 6, weights_regularizer=layers.l1_regularizer(0.5), scope="dense")
    b = layers.stack(a, layers.fully_connected, [5, 4], activation_fn=tf.tanh, scope="fc")
    c = layers.linear(tf.constant(numbers(2, 3, 4)), 2)
    d = layers.maxout(a, 3)
    e = layers.bias_add(a)
    f = layers.embed_sequence(tf.constant([[1, 2], [0, 1]]), 3, 2)
    g = layers.one_hot_encoding(tf.constant([1, 0]), 3)
    h = layers.flatten(tf.constant(numbers(2, 3, 4)))
    penalty = layers.apply_regularization(
        layers.sum_regularizer([layers.l2_regularizer(0.3)]), tf.trainable_variables()
    )
    fetches = {"a": a, "b": b, "c": c, "d": d, "e": e, "f": f, "g": g, "h": h, "penalty": penalty}
    return evaluate(tf, {**fetches, "losses": tf.stack(tf.losses.get_regularization_losses())})


@program
def normalizing_layers(tf: Any) -> dict[str, Any]:
    layers = tf.contrib.layers
    x, y = tf.constant(numbers(4, 3, 3, 2)), tf.constant(numbers(5, 4))
    train = layers.batch_norm(x, scale=True, decay=0.9, is_training=True, scope="bn")
    flat = layers.batch_norm(y, decay=0.5, is_training=True, updates_collections=None, scope="flat")
    serve = layers.batch_norm(x, is_training=False, scope="serve", activation_fn=tf.nn.relu)
    deep = layers.batch_norm(tf.constant(numbers(2, 3, 4)), decay=0.9, is_training=tf.constant(True), scope="deep")
    fetches = {
        "train": train,
        "flat": flat,
        "serve": serve,
        "deep": deep,
        "layer": layers.layer_norm(x, activation_fn=tf.tanh),
        "row": layers.layer_norm(y, scale=False),
        "instance": layers.instance_norm(x),
        "group": layers.group_norm(tf.constant(numbers(2, 3, 3, 6)), groups=3),
    }
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    return {**evaluate(tf, fetches, (updates, updates), watch=True), "updates": len(updates)}


@program
def optimized_losses(tf: Any) -> dict[str, Any]:
    w = tf.get_variable("w", [3])
    loss = tf.reduce_sum(tf.square(w - [1.0, 2.0, 3.0]))
    step = tf.train.get_or_create_global_step()
    train = tf.contrib.layers.optimize_loss(
        loss,
        step,
        0.1,
        "Adam",
        clip_gradients=1.0,
        learning_rate_decay_fn=lambda r, s: tf.train.exponential_decay(r, s, 1, 0.5),
    )
    return evaluate(tf, {"loss": loss, "step": step}, (train, train), watch=True)


@program
def trained_operations(tf: Any) -> dict[str, Any]:
    slim = tf.contrib.slim
    x = tf.constant(numbers(6, 4))
    net = slim.fully_connected(x, 3, normalizer_fn=slim.batch_norm, normalizer_params={"decay": 0.5}, scope="fc")
    loss = tf.contrib.losses.softmax_cross_entropy(net, tf.one_hot([0, 1, 2, 0, 1, 2], 3))
    train = slim.learning.create_train_op(loss, tf.train.MomentumOptimizer(0.1, 0.9), clip_gradient_norm=0.5)
    return evaluate(tf, {"loss": loss}, (train, train, train), watch=True)


def _unrolled(tf: Any, cell: Any, size: int = 4) -> dict[str, Any]:
    x = tf.constant(numbers(2, 3, size))
    outputs, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, sequence_length=[3, 2])
    parts = {f"state{index}": each for index, each in enumerate(tf.contrib.framework.nest.flatten(state))}
    return evaluate(tf, {"outputs": outputs, **parts})


CELLS: dict[str, Callable[[Any], Any]] = {
    "layer_norm_lstm": lambda rnn: rnn.LayerNormBasicLSTMCell(5),
    "plain_layer_norm_lstm": lambda rnn: rnn.LayerNormBasicLSTMCell(5, layer_norm=False),
    "nas": lambda rnn: rnn.NASCell(5, use_bias=True),
    "projected_nas": lambda rnn: rnn.NASCell(5, num_proj=3),
    "update_gate": lambda rnn: rnn.UGRNNCell(5),
    "independent": lambda rnn: rnn.IndRNNCell(5),
    "coupled": lambda rnn: rnn.CoupledInputForgetGateLSTMCell(5),
    "output_projection": lambda rnn: rnn.OutputProjectionWrapper(rnn.GRUCell(5), 3),
    "input_projection": lambda rnn: rnn.InputProjectionWrapper(rnn.GRUCell(5), 3),
    "attention": lambda rnn: rnn.AttentionCellWrapper(rnn.BasicLSTMCell(5), 3),
    "highway": lambda rnn: rnn.HighwayWrapper(rnn.GRUCell(4)),
    "lstm_block": lambda rnn: rnn.LSTMBlockCell(5),
}


def _cell_program(name: str, make: Callable[[Any], Any]) -> None:
    def run(tf: Any) -> dict[str, Any]:
        return _unrolled(tf, make(tf.contrib.rnn))

    PROGRAMS[f"cell_{name}"] = run


for _name, _make in CELLS.items():
    _cell_program(_name, _make)


@program
def stacked_directions(tf: Any) -> dict[str, Any]:
    rnn = tf.contrib.rnn
    x = tf.constant(numbers(2, 3, 4))
    outputs, forward, _ = rnn.stack_bidirectional_dynamic_rnn(
        [rnn.GRUCell(3), rnn.GRUCell(2)], [rnn.GRUCell(3), rnn.GRUCell(2)], x, dtype=tf.float32
    )
    return evaluate(tf, {"outputs": outputs, "forward": forward[1]})


@program
def conditional_random_fields(tf: Any) -> dict[str, Any]:
    crf = tf.contrib.crf
    scores, tags, lengths = (
        tf.constant(numbers(3, 4, 5)),
        tf.constant([[0, 1, 2, 3], [4, 0, 0, 0], [1, 1, 2, 0]]),
        tf.constant([4, 1, 3]),
    )
    likelihood, transitions = crf.crf_log_likelihood(scores, tags, lengths)
    path, best = crf.crf_decode(scores, transitions, lengths)
    slope = tf.gradients(tf.reduce_mean(-likelihood), transitions)[0]
    values = evaluate(tf, {"likelihood": likelihood, "path": path, "best": best, "slope": slope})
    way, score = crf.viterbi_decode(numbers(4, 5), numbers(5, 5, seed=1))
    return {**values, "viterbi": np.array(way), "score": np.array(score)}


def _decoder(tf: Any, kind: str, normalize: bool = False) -> tuple[Any, Any, Any]:
    seq2seq = tf.contrib.seq2seq
    memory, lengths = tf.constant(numbers(2, 3, 4)), [3, 2]
    if kind == "luong":
        mechanism = seq2seq.LuongAttention(5, memory, lengths, scale=normalize)
    else:
        mechanism = seq2seq.BahdanauAttention(5, memory, lengths, normalize=normalize)
    cell = seq2seq.AttentionWrapper(
        tf.contrib.rnn.BasicLSTMCell(5), mechanism, attention_layer_size=4, alignment_history=True
    )
    return cell, cell.zero_state(2, tf.float32), tf.layers.Dense(6, use_bias=False, name="projection")


def _training(tf: Any, kind: str, normalize: bool) -> dict[str, Any]:
    seq2seq = tf.contrib.seq2seq
    cell, state, layer = _decoder(tf, kind, normalize)
    helper = seq2seq.TrainingHelper(tf.constant(numbers(2, 4, 3)), [4, 2])
    decoder = seq2seq.BasicDecoder(cell, helper, state, layer)
    outputs, last, lengths = seq2seq.dynamic_decode(decoder, impute_finished=True)
    loss = seq2seq.sequence_loss(
        outputs.rnn_output, tf.constant([[1, 2, 3, 0], [4, 5, 0, 0]]), tf.sequence_mask([4, 2], 4, tf.float32)
    )
    slopes = {f"slope{index}": each for index, each in enumerate(tf.gradients(loss, tf.trainable_variables()))}
    fetches = {"outputs": outputs.rnn_output, "ids": outputs.sample_id, "lengths": lengths, "loss": loss}
    return evaluate(tf, {**fetches, "history": last.alignment_history.stack(), **slopes})


for _kind in ("luong", "bahdanau"):
    for _flag in (False, True):
        PROGRAMS[f"attention_{_kind}_{_flag}"] = lambda tf, kind=_kind, flag=_flag: _training(tf, kind, flag)


@program
def greedy_decoding(tf: Any) -> dict[str, Any]:
    seq2seq = tf.contrib.seq2seq
    cell, state, layer = _decoder(tf, "luong")
    table = tf.constant(numbers(6, 3, seed=9))
    decoder = seq2seq.BasicDecoder(cell, seq2seq.GreedyEmbeddingHelper(table, tf.constant([0, 1]), 5), state, layer)
    outputs, _, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=7)
    return evaluate(tf, {"outputs": outputs.rnn_output, "ids": outputs.sample_id, "lengths": lengths})


def _beams(tf: Any, penalty: float) -> dict[str, Any]:
    seq2seq = tf.contrib.seq2seq
    cell = tf.contrib.rnn.GRUCell(5)
    state = seq2seq.tile_batch(tf.constant(numbers(2, 5)), 3)
    table = tf.constant(numbers(6, 3, seed=9))
    decoder = seq2seq.BeamSearchDecoder(
        cell, table, tf.constant([0, 1]), 5, state, 3, tf.layers.Dense(6, use_bias=False), length_penalty_weight=penalty
    )
    outputs, last, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=6)
    steps = outputs.beam_search_decoder_output
    return evaluate(
        tf, {"ids": outputs.predicted_ids, "scores": steps.scores, "lengths": lengths, "beams": last.lengths}
    )


PROGRAMS["beam_search"] = lambda tf: _beams(tf, 0.0)
PROGRAMS["beam_search_penalized"] = lambda tf: _beams(tf, 0.8)


@program
def legacy_decoders(tf: Any) -> dict[str, Any]:
    legacy = tf.contrib.legacy_seq2seq
    cell = tf.contrib.rnn.GRUCell(4)
    sources = [tf.constant([0, 1]), tf.constant([2, 3])]
    targets = [tf.constant([0, 2]), tf.constant([1, 1]), tf.constant([3, 0])]
    outputs, state = legacy.embedding_attention_seq2seq(sources, targets, cell, 5, 5, 3, feed_previous=False)
    loss = legacy.sequence_loss(outputs, targets, [tf.ones([2])] * 3)
    return evaluate(tf, {"outputs": tf.stack(outputs), "state": state, "loss": loss})


@program
def legacy_loops(tf: Any) -> dict[str, Any]:
    legacy = tf.contrib.legacy_seq2seq
    cell = tf.contrib.rnn.BasicLSTMCell(4)
    inputs = [tf.constant([0, 2]), tf.constant([1, 1]), tf.constant([3, 0])]
    state = cell.zero_state(2, tf.float32)
    projection = tf.constant(numbers(4, 5)), tf.constant(numbers(5))
    outputs, last = legacy.embedding_rnn_decoder(inputs, state, cell, 5, 3, projection, feed_previous=True)
    return evaluate(tf, {"outputs": tf.stack(outputs), "h": last.h})


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "adamw": lambda tf: tf.contrib.opt.AdamWOptimizer(0.01, learning_rate=0.1),
    "momentumw": lambda tf: tf.contrib.opt.MomentumWOptimizer(0.01, 0.1, 0.9),
    "extended": lambda tf: tf.contrib.opt.extend_with_decoupled_weight_decay(tf.train.RMSPropOptimizer)(
        0.02, learning_rate=0.1
    ),
    "nadam": lambda tf: tf.contrib.opt.NadamOptimizer(0.1),
    "adamax": lambda tf: tf.contrib.opt.AdaMaxOptimizer(0.1),
    "averaged": lambda tf: tf.contrib.opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.1), 0.9),
}


def _optimizer_program(name: str, make: Callable[[Any], Any]) -> None:
    def run(tf: Any) -> dict[str, Any]:
        w = tf.get_variable("w", [3])
        loss = tf.reduce_sum(w * [1.0, 2.0, 3.0])  # its gradient does not race with the weights that shrink
        train = make(tf).minimize(loss)
        values = evaluate(tf, {"w": w}, (train, train, train))
        del values["variables"]
        return values

    def run_with_slices(tf: Any) -> dict[str, Any]:
        w, b = tf.get_variable("part/w", [3, 2]), tf.get_variable("b", [2])
        loss = tf.reduce_sum(tf.gather(w, [0, 0, 2]) * [[1.0], [2.0], [3.0]]) + tf.reduce_sum(b)
        train = make(tf).minimize(loss)
        values = evaluate(tf, {"w": w, "b": b}, (train, train, train))
        return {**values, "variables": sorted(each.op.name for each in tf.global_variables())}

    PROGRAMS[f"optimizer_{name}"] = run
    PROGRAMS[f"optimizer_{name}_of_slices"] = run_with_slices


for _name, _make in OPTIMIZERS.items():
    _optimizer_program(_name, _make)


@program
def streaming_metrics(tf: Any) -> dict[str, Any]:
    metrics = tf.contrib.metrics
    predictions, labels = tf.constant([0.1, 0.8, 0.4, 0.9]), tf.constant([0, 1, 1, 1])
    pairs = {
        "accuracy": metrics.streaming_accuracy(tf.cast(predictions > 0.5, tf.int32), labels),
        "auc": metrics.streaming_auc(predictions, labels),
        "mean": metrics.streaming_mean(predictions),
        "error": metrics.streaming_mean_squared_error(predictions, tf.cast(labels, tf.float32)),
        "precision": metrics.streaming_precision(predictions > 0.5, labels > 0),
        "f1": metrics.f1_score(labels > 0, predictions),
        "count": metrics.count(predictions),
    }
    values, updates = metrics.aggregate_metric_map(pairs)
    plain = metrics.accuracy(tf.constant([1, 2]), tf.constant([1, 1]))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run(list(updates.values()))
        return dict(session.run({**values, "plain": plain}))


@program
def losses_with_predictions_first(tf: Any) -> dict[str, Any]:
    losses = tf.contrib.losses
    predictions, labels = tf.constant(numbers(3, 4)), tf.constant(np.eye(4, dtype=np.float32)[:3])
    fetches = {
        "absolute": losses.absolute_difference(predictions, labels),
        "squared": losses.mean_squared_error(predictions, labels, weights=2.0),
        "hinge": losses.hinge_loss(predictions, labels),
        "sigmoid": losses.sigmoid_cross_entropy(predictions, labels, label_smoothing=0.1),
        "softmax": losses.softmax_cross_entropy(predictions, labels),
        "sparse": losses.sparse_softmax_cross_entropy(predictions, tf.constant([0, 3, 1])),
        "log": losses.log_loss(tf.sigmoid(predictions), labels),
    }
    return evaluate(tf, {**fetches, "total": losses.get_total_loss()})


@program
def hyperparameters(tf: Any) -> dict[str, Any]:
    settings = tf.contrib.training.HParams(rate=0.1, layers=[2, 3], name="a", flag=True, count=3)
    settings.parse("rate=1,layers=[4,5],name=b,flag=false")
    settings.set_hparam("count", 5)
    return {"text": settings.to_json(sort_keys=True), "rate": np.float64(settings.rate), "in": "rate" in settings}


@program
def vocabularies(tf: Any) -> dict[str, Any]:
    processor = tf.contrib.learn.preprocessing.VocabularyProcessor(4, min_frequency=0)
    ids = np.array(list(processor.fit_transform(["the cat sat", "the dog's bone is old now", ""])))
    more = np.array(list(processor.transform(["a cat is new"])))
    return {"ids": ids, "more": more, "size": len(processor.vocabulary_), "back": next(iter(processor.reverse(ids)))}


@program
def page_of_embeddings(tf: Any) -> dict[str, Any]:
    projector = tf.contrib.tensorboard.plugins.projector
    config = projector.ProjectorConfig(model_checkpoint_path="model.ckpt")
    words = config.embeddings.add()
    words.tensor_name, words.metadata_path, words.bookmarks_path, words.tensor_path = "words", 'a "b".tsv', "c", "d"
    words.tensor_shape.extend([3, 4])
    words.sprite.image_path = "digits.png"
    words.sprite.single_image_dim.extend([28, 28])
    config.embeddings.add().tensor_name = "more"
    with tempfile.TemporaryDirectory() as folder:
        projector.visualize_embeddings(tf.summary.FileWriter(folder), config)
        with open(os.path.join(folder, "projector_config.pbtxt")) as file:
            return {"text": file.read(), "bytes": list(config.SerializeToString())}
