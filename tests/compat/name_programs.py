"""Programs over names of TensorFlow 1.15 that run over TensorFlow 1.15 and over actorflow: each gives named values.

A program gets the module `tf`. Values are arrays, or texts, numbers and lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, Callable[[Any], dict[str, Any]]] = {}


def program(function: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    PROGRAMS[function.__name__] = function
    return function


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def run(tf: Any, fetches: dict[str, Any]) -> dict[str, Any]:
    """The values of tensors, in a session whose variables have their initial values."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
        return dict(session.run(fetches))


def plain(value: Any) -> Any:
    """A config as lists and texts."""
    if isinstance(value, dict):
        return [[key, plain(value[key])] for key in sorted(value)]
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


@program
def configs_of_initializers(tf: Any) -> dict[str, Any]:
    kinds = [
        tf.zeros_initializer(),
        tf.ones_initializer(),
        tf.constant_initializer(3.0),
        tf.random_uniform_initializer(-1, 1),
        tf.random_normal_initializer(stddev=0.5),
        tf.truncated_normal_initializer(seed=3),
        tf.uniform_unit_scaling_initializer(),
        tf.variance_scaling_initializer(),
        tf.orthogonal_initializer(),
        tf.glorot_uniform_initializer(),
        tf.glorot_normal_initializer(),
    ]
    return {type(each).__name__: plain(type(each).from_config(each.get_config()).get_config()) for each in kinds}


@program
def configs_of_layers(tf: Any) -> dict[str, Any]:
    layers = [
        tf.layers.Dense(2, activation=tf.nn.relu, name="a"),
        tf.layers.Conv2D(3, 2, name="b"),
        tf.layers.MaxPooling2D(2, 2, name="c"),
        tf.layers.Dropout(name="d"),
        tf.layers.Flatten(name="e"),
    ]
    answers = {each.name: plain(type(each).from_config(each.get_config()).get_config()) for each in layers}
    answers["shape"] = layers[0].compute_output_signature(tf.TensorSpec([None, 3], tf.float32)).shape.as_list()
    answers["mask"] = layers[0].compute_mask(None)
    answers["inner"] = [len(layers[0].submodules), layers[0].dynamic, layers[0].metrics]
    return answers


@program
def configs_of_cells(tf: Any) -> dict[str, Any]:
    cells = tf.nn.rnn_cell
    configs = [
        cells.BasicLSTMCell(3, name="a").get_config(),
        cells.LSTMCell(3, name="b").get_config(),
        cells.GRUCell(3, name="c").get_config(),
        cells.BasicRNNCell(3, name="d").get_config(),
        cells.DeviceWrapper(cells.GRUCell(2, name="e"), "/cpu:0").get_config()["cell"]["config"],
    ]
    return {each["name"]: plain({key: each[key] for key in each if key != "reuse"}) for each in configs}


@program
def cells_are_layers(tf: Any) -> dict[str, Any]:
    cell = tf.nn.rnn_cell.GRUCell(3, name="g")
    x = tf.placeholder(tf.float32, [2, 4])
    cell(x, cell.zero_state(2, tf.float32))
    names = [
        [each.name for each in part] for part in (cell.weights, cell.trainable_weights, cell.non_trainable_weights)
    ]
    kinds = [isinstance(cell, tf.layers.Layer), cell.built, cell.trainable, len(cell.losses), len(cell.updates)]
    return {"names": names, "kinds": kinds, "count": int(cell.count_params()), "dtype": tf.as_dtype(cell.dtype).name}


@program
def modules(tf: Any) -> dict[str, Any]:
    class Part(tf.Module):
        def __init__(self, name: Any = None) -> None:
            super().__init__(name=name)
            self.w = tf.Variable(1.0, name="w")
            self.list = [tf.Variable(2.0, trainable=False, name="fixed")]
            self.child = tf.Module("child")
            self.child.v = {"b": tf.Variable(3.0, name="b"), "a": tf.Variable(4.0, name="a")}

        @tf.Module.with_name_scope
        def value(self) -> Any:
            return tf.identity(self.w)

    part = Part()
    refused = ""
    try:
        Part("no name")
    except ValueError as error:
        refused = str(error)[:30]
    return {
        "variables": [each.name for each in part.variables],
        "trainable": [each.name for each in part.trainable_variables],
        "submodules": [each.name for each in part.submodules],
        "names": [part.name, part.value().name, part.value().name],
        "refused": refused,
    }


@program
def messages_of_options(tf: Any) -> dict[str, Any]:
    config = tf.ConfigProto(device_count={"CPU": 2}, gpu_options=tf.GPUOptions(allow_growth=True))
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    config.gpu_options.per_process_gpu_memory_fraction = 0.5
    config.gpu_options.experimental.use_unified_memory = True
    config.session_inter_op_thread_pool.add(num_threads=3)
    config.graph_options.rewrite_options.layout_optimizer = 2
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=5)
    parsed = tf.ConfigProto.FromString(config.SerializeToString())
    return {
        "text": str(config),
        "bytes": config.SerializeToString().hex(),
        "options": options.SerializeToString().hex(),
        "same": parsed == config,
        "fields": [
            config.HasField("gpu_options"),
            config.HasField("cluster_def"),
            len(config.FindInitializationErrors()),
        ],
    }


def densities(tf: Any, make: Callable[[], Any], values: Any, names: str) -> dict[str, Any]:
    """Densities, statistics and gradients of a distribution."""
    thing = make()
    at = tf.constant(values)
    answers = {"log_prob": thing.log_prob(at), "prob": thing.prob(at)}
    for name in names.split():
        answers[name] = (
            getattr(thing, name)() if name not in ("cdf", "log_cdf", "quantile") else getattr(thing, name)(at)
        )
    listed = [each for each in thing.parameters.values() if isinstance(each, tf.Tensor)]
    for index, slope in enumerate(tf.gradients(tf.reduce_sum(answers["log_prob"]), listed)):
        answers[f"gradient {index}"] = slope
    shapes = {"batch": thing.batch_shape.as_list(), "event": thing.event_shape.as_list(), "name": thing.name}
    shapes["sample"] = thing.sample([2, 3]).shape.as_list()
    return {**run(tf, answers), **shapes}


@program
def normal_distribution(tf: Any) -> dict[str, Any]:
    a, b = tf.constant([0.5, -1.0]), tf.constant([1.0, 2.0])
    names = "cdf log_cdf entropy mean variance stddev mode"
    values = densities(tf, lambda: tf.distributions.Normal(a, b), [[0.3, -4.0], [-12.0, 3.0]], names)
    return {**values, **run(tf, {"quantile": tf.distributions.Normal(a, b).quantile([0.1, 0.9])})}


@program
def laplace_distribution(tf: Any) -> dict[str, Any]:
    a, b = tf.constant([0.5, -1.0]), tf.constant([1.0, 2.0])
    names = "cdf log_cdf entropy mean variance stddev mode"
    return densities(tf, lambda: tf.distributions.Laplace(a, b), [[0.3, -4.0], [2.0, 3.0]], names)


@program
def student_distribution(tf: Any) -> dict[str, Any]:
    df, a, b = tf.constant([3.0, 5.0]), tf.constant([0.5, -1.0]), tf.constant([1.0, 2.0])
    names = "cdf entropy mean variance stddev mode"
    return densities(tf, lambda: tf.distributions.StudentT(df, a, b), [0.3, -4.0], names)


@program
def uniform_distribution(tf: Any) -> dict[str, Any]:
    a, b = tf.constant([0.0, -1.0]), tf.constant([1.0, 2.0])
    names = "cdf entropy mean variance stddev"
    return densities(tf, lambda: tf.distributions.Uniform(a, b), [[0.3, -4.0], [0.9, 1.5]], names)


@program
def gamma_distributions(tf: Any) -> dict[str, Any]:
    a, b = tf.constant([1.5, 4.0]), tf.constant([1.0, 2.0])
    names = "cdf entropy mean variance stddev mode"
    at = [[0.3, 4.0], [2.0, 0.1]]
    values = densities(tf, lambda: tf.distributions.Gamma(a, b), at, names)
    other = densities(tf, lambda: tf.distributions.Exponential(b), at, "cdf entropy mean variance")
    return {**values, **{f"exponential {key}": value for key, value in other.items()}}


@program
def beta_distribution(tf: Any) -> dict[str, Any]:
    a, b = tf.constant([1.5, 4.0]), tf.constant([1.2, 2.0])
    names = "cdf entropy mean variance stddev mode"
    return densities(tf, lambda: tf.distributions.Beta(a, b), [0.3, 0.1], names)


@program
def dirichlet_distributions(tf: Any) -> dict[str, Any]:
    a = tf.constant([[1.5, 4.0, 2.0], [1.2, 2.0, 3.0]])
    names = "entropy mean variance stddev covariance"
    values = densities(tf, lambda: tf.distributions.Dirichlet(a), [[0.3, 0.4, 0.3], [0.1, 0.1, 0.8]], names)
    at = [[1.0, 2.0, 1.0], [0.0, 3.0, 1.0]]
    make = lambda: tf.distributions.DirichletMultinomial(4.0, a)  # noqa: E731
    other = densities(tf, make, at, "mean variance covariance")
    return {**values, **{f"counts {key}": value for key, value in other.items()}}


@program
def discrete_distributions(tf: Any) -> dict[str, Any]:
    logits = tf.constant([[0.5, -1.0, 0.2], [1.0, 2.0, -3.0]])
    found = tf.distributions
    parts = {
        "bernoulli": densities(
            tf, lambda: found.Bernoulli(logits=logits), [[1, 0, 1], [0, 1, 1]], "entropy mean variance mode"
        ),
        "categorical": densities(tf, lambda: found.Categorical(logits=logits), [2, 0], "entropy mode cdf"),
        "multinomial": densities(
            tf,
            lambda: found.Multinomial(tf.constant([4.0, 3.0]), logits=logits),
            [[1.0, 2.0, 1.0], [0.0, 3.0, 0.0]],
            "mean variance covariance",
        ),
    }
    return {f"{part} {key}": value for part, answers in parts.items() for key, value in answers.items()}


@program
def divergences(tf: Any) -> dict[str, Any]:
    found = tf.distributions
    x, y = tf.constant([0.5, 1.5, 2.5]), tf.constant([1.0, 0.7, 0.3])
    pairs = {
        "normal": (found.Normal(x, y), found.Normal(y, x)),
        "bernoulli": (found.Bernoulli(logits=x), found.Bernoulli(logits=y)),
        "categorical": (found.Categorical(logits=x), found.Categorical(logits=y)),
        "gamma": (found.Gamma(x, y), found.Gamma(y, x)),
        "exponential": (found.Exponential(x), found.Gamma(y, x)),
        "beta": (found.Beta(x, y), found.Beta(y, x)),
        "dirichlet": (found.Dirichlet(x), found.Dirichlet(y)),
    }
    values = {}
    for name, (a, b) in pairs.items():
        values[name] = found.kl_divergence(a, b)
        values[f"{name} slope"] = tf.stack([each for each in tf.gradients(values[name], [x, y]) if each is not None])
    values["cross"] = pairs["normal"][0].cross_entropy(pairs["normal"][1])
    return run(tf, values)


@program
def draws_have_gradients(tf: Any) -> dict[str, Any]:
    found = tf.distributions
    x, y = tf.constant([0.5, 1.5]), tf.constant([1.0, 0.7])
    kinds = {
        "normal": found.Normal(x, y),
        "laplace": found.Laplace(x, y),
        "uniform": found.Uniform(x, x + y),
        "gamma": found.Gamma(x, y),
        "beta": found.Beta(x, y),
        "student": found.StudentT(x + 3, x, y),
        "dirichlet": found.Dirichlet(x),
        "bernoulli": found.Bernoulli(probs=y / 2),
    }
    answers: dict[str, Any] = {}
    for name, each in kinds.items():
        drawn = tf.cast(each.sample(4, seed=3), tf.float32)
        answers[name] = [slope is not None for slope in tf.gradients(drawn, [x, y])]
        answers[f"{name} shape"] = drawn.shape.as_list()
    shift = tf.gradients(kinds["normal"].sample(4, seed=3), [x])[0]
    return {**answers, **run(tf, {"shift": shift})}


@program
def boxes_of_images(tf: Any) -> dict[str, Any]:
    random = np.random.RandomState(1)
    corners = random.rand(12, 2)
    boxes = np.concatenate([corners, corners + 0.2 + 0.3 * random.rand(12, 2)], 1).astype(np.float32)
    scores = random.rand(12).astype(np.float32)
    image = tf.image
    answers: dict[str, Any] = {}
    for sigma in (0.0, 0.3):
        chosen, values = image.non_max_suppression_with_scores(boxes, scores, 6, 0.4, 0.05, soft_nms_sigma=sigma)
        answers[f"chosen {sigma}"], answers[f"scores {sigma}"] = chosen, values
    for pad in (False, True):
        rows, count = image.non_max_suppression_padded(boxes, scores, 20, 0.3, pad_to_max_output_size=pad)
        answers[f"rows {pad}"], answers[f"count {pad}"] = rows, count
    table = np.minimum(np.abs(numbers(12, 12) + numbers(12, 12).T) / 2 + np.eye(12, dtype=np.float32), 1)
    answers["overlaps"] = image.non_max_suppression_overlaps(table, scores, 5, 0.8, 0.1)
    answers["none"] = image.non_max_suppression_overlaps(table, scores, 5, 0.8, 2.0)
    for shared in (True, False):
        kinds = random.rand(2, 12, 3).astype(np.float32)
        places = np.stack([boxes[:, None] * (1 if shared else 0.9)] * 2).repeat(1 if shared else 3, 2)
        for pad in (False, True):
            found = image.combined_non_max_suppression(places, kinds, 3, 10, 0.3, 0.2, pad_per_class=pad)
            for name, value in zip(("boxes", "scores", "classes", "valid"), found):
                answers[f"{name} {shared} {pad}"] = value
    return run(tf, answers)


@program
def similarity_at_scales(tf: Any) -> dict[str, Any]:
    random = np.random.RandomState(2)
    left = random.rand(2, 181, 177, 3).astype(np.float32)
    other = np.clip(left + 0.2 * random.rand(2, 181, 177, 3), 0, 1).astype(np.float32)
    a, b = tf.constant(left), tf.constant(other)
    whole = tf.image.ssim_multiscale(a, b, 1.0)
    few = tf.image.ssim_multiscale(a[:, :41, :40], b[:, :41, :40], 1.0, power_factors=(0.5, 0.5))
    slope = tf.reduce_sum(tf.abs(tf.gradients(few, a)[0]), [1, 2])
    bytes_ = tf.image.ssim_multiscale(tf.cast(a * 255, tf.uint8), tf.cast(b * 255, tf.uint8), 255)
    return run(tf, {"whole": whole, "few": few, "slope": slope, "bytes": bytes_})


@program
def matrices(tf: Any) -> dict[str, Any]:
    x = tf.constant(numbers(2, 3, 4))
    square = tf.constant(np.matmul(numbers(3, 3), numbers(3, 3).T) + np.eye(3, dtype=np.float32))
    right, matrix = tf.constant(numbers(2, 4, 2, seed=1)), tf.cast(square, tf.complex128)
    solved = tf.linalg.tridiagonal_solve(x, right)
    triple = tf.linalg.tridiagonal_solve([x[0, 0], x[0, 1], x[0, 2]], right[0], diagonals_format="sequence")
    across = tf.linalg.tridiagonal_solve(x[0], tf.transpose(right[0]), transpose_rhs=True)
    log = tf.linalg.logm(matrix)
    answers = {
        "solved": solved,
        "triple": triple,
        "across": across,
        "vector": tf.linalg.tridiagonal_solve(x, right[:, :, 0]),
        "slope": tf.gradients(solved, right)[0],
        "log": tf.stack([tf.math.real(log), tf.math.imag(log)]),
        "root": tf.matrix_square_root(square),
    }
    return run(tf, answers)


@program
def volumes(tf: Any) -> dict[str, Any]:
    x = tf.constant(numbers(2, 4, 5, 6, 2))
    kernel = tf.constant(numbers(2, 2, 2, 2, 3, seed=1))
    out = tf.nn.conv3d(x, kernel, [1, 1, 1, 1, 1], "VALID")
    answers = {
        "patches": tf.extract_volume_patches(x, [1, 2, 3, 2, 1], [1, 2, 1, 2, 1], "VALID"),
        "same": tf.extract_volume_patches(x, [1, 3, 3, 3, 1], [1, 2, 2, 2, 1], "SAME"),
        "slope": tf.nn.conv3d_backprop_filter(x, [2, 2, 2, 2, 3], out, [1, 1, 1, 1, 1], "VALID"),
    }
    for rank in (1, 2, 3):
        small = tf.constant(numbers(1, *[3] * rank, 2))
        filters = tf.constant(numbers(*[2] * rank, 4, 2))
        answers[f"transposed {rank}"] = tf.nn.conv_transpose(small, filters, [1, *[6] * rank, 4], 2)
    return run(tf, answers)


@program
def rounded_numbers(tf: Any) -> dict[str, Any]:
    x = tf.constant(numbers(3, 4))
    call = tf.quantization.quantize_and_dequantize
    answers = {}
    for signed in (True, False):
        for given in (True, False):
            for mode in ("HALF_TO_EVEN", "HALF_UP"):
                low = -0.8 if signed else 0.0
                y = call(x if signed else tf.abs(x), low, 1.5, signed, 5, given, mode)
                answers[f"{signed} {given} {mode}"] = y
                answers[f"{signed} {given} {mode} slope"] = tf.gradients(y, x)[0]
    return run(tf, answers)


@program
def files_of_images(tf: Any) -> dict[str, Any]:
    image = tf.image.encode_jpeg(tf.zeros([4, 6, 3], tf.uint8))
    return run(tf, {"shape": tf.image.extract_jpeg_shape(image), "long": tf.io.extract_jpeg_shape(image, tf.int64)})


@program
def labels_with_other_outer_dimensions(tf: Any) -> dict[str, Any]:
    logits, labels = tf.constant(numbers(4, 3)), np.abs(numbers(4, 3, seed=1))
    answers = {}
    for shape in ([4, 3], [1, 4, 3], [2, 2, 3], [4, 1, 3]):
        loss = tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=labels.reshape(shape))
        answers[str(shape)] = loss
        answers[f"{shape} slope"] = tf.gradients(loss, logits)[0]
    return run(tf, answers)


@program
def files_of_sound(tf: Any) -> dict[str, Any]:
    sound = np.array([[0.0, 0.5], [-1.0, 1.0], [1.5, -2.0], [0.00001526, 0.1], [-0.3, 0.00005]], np.float32)
    contents = tf.audio.encode_wav(sound, 8000)
    answers = {"bytes": tf.decode_raw(contents, tf.uint8)}
    for channels, samples in ((-1, -1), (1, 3), (3, 8), (2, -1)):
        audio = tf.audio.decode_wav(contents, channels, samples)
        answers[f"{channels} {samples}"] = audio.audio
        answers[f"{channels} {samples} rate"] = audio.sample_rate
    return run(tf, answers)


@program
def batches_of_rows(tf: Any) -> dict[str, Any]:
    rows = tf.data.Dataset.range(1, 6).map(lambda n: tf.fill([n], n))
    batches = rows.apply(tf.data.experimental.dense_to_sparse_batch(2, [6])).make_one_shot_iterator().get_next()
    record = tf.train.Example(
        features=tf.train.Features(feature={"age": tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))})
    )
    records = tf.data.Dataset.from_tensors([record.SerializeToString()] * 2)
    parse = tf.data.experimental.parse_example_dataset({"age": tf.FixedLenFeature([], tf.int64)})
    ages = records.apply(parse).make_one_shot_iterator().get_next()["age"]
    with tf.Session() as session:
        parts = [session.run(batches) for _ in range(3)]
        answers = {"ages": session.run(ages), "classes": type(parts[0]).__name__}
    for index, part in enumerate(parts):
        answers.update({f"places {index}": part.indices, f"values {index}": part.values})
        answers[f"shape {index}"] = part.dense_shape
    return answers


@program
def states_of_checkpoints(tf: Any) -> dict[str, Any]:
    state = tf.train.generate_checkpoint_state_proto
    answers = {}
    for folder, path, others in (
        ("/m", "/m/run-2", ["/m/run-1"]),
        ("m", "m/run-2", ["m/run-1", "m/run-2"]),
        ("/m", "/other/run", None),
    ):
        message = state(folder, path, others)
        answers[path] = [message.model_checkpoint_path, *message.all_model_checkpoint_paths]
    return answers
