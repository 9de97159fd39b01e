"""Models of `ai.onnx.ml`: by equations, and before onnxruntime as skl2onnx writes them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exchange.onnx.onnx_models import answers, model, node

import actorflow as af
from actorflow.exchange.onnx.protos import TypeProto
from actorflow.exchange.onnx.tensors import tensor_proto

ML = "ai.onnx.ml"
X = np.float32([[1, -2, 0], [0, 0, 0], [3, 0.5, -1], [0.25, 4, 2]])
WORDS = np.array([["a"], ["c"], ["b"]], object)


def with_lists(only: Any, **lists: Any) -> Any:
    """A node with attributes that are lists of floats or of text."""
    for name, values in lists.items():
        attribute = only.attribute.add(name=name)
        if isinstance(values[0], str):
            attribute.type = 8
            attribute.strings.extend(value.encode() for value in values)
        else:
            attribute.type = 6
            attribute.floats.extend(float(value) for value in values)
    return only


def ml(op: str, outputs: str = "y", inputs: str = "x", *, lists: Any = None, **attrs: Any) -> Any:
    return with_lists(node(op, inputs, outputs, domain=ML, **attrs), **(lists or {}))


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def rows_over(norm: Any) -> Any:
    return X / np.where(norm == 0, 1, norm)


LINE = X @ np.float32([1, -1, 2]) + 0.5
TREE = {
    "nodes_treeids": [0, 0, 0, 1, 1, 1], "nodes_nodeids": [0, 1, 2, 0, 1, 2], "nodes_featureids": [0, 0, 0, 1, 0, 0],
    "nodes_truenodeids": [1, 0, 0, 1, 0, 0], "nodes_falsenodeids": [2, 0, 0, 2, 0, 0],
}  # fmt: skip
MODES = {
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
    "nodes_values": [0.5, 0, 0, 0.25, 0, 0],
}
FIRST, SECOND = X[:, 0] <= 0.5, X[:, 1] > 0.25
VOTES = np.where(FIRST, 0.25, 1.0) + np.where(SECOND, 2.0, -1.0)
ENDS = {"target_treeids": [0, 0, 1, 1], "target_nodeids": [1, 2, 1, 2], "target_ids": [0, 0, 0, 0]}
SHARES = [0.25, 1.0, 2.0, -1.0]

ROWS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "Scaler": (ml("Scaler", lists={"offset": [1, 0, 2], "scale": [2, 3, 0.5]}), X, {"y": (X - [1, 0, 2]) * [2, 3, 0.5]}),
    "Normalizer MAX": (ml("Normalizer", norm="MAX"), X, {"y": rows_over(np.abs(X).max(1, keepdims=True))}),
    "Normalizer L1": (ml("Normalizer", norm="L1"), X, {"y": rows_over(np.abs(X).sum(1, keepdims=True))}),
    "Normalizer L2": (ml("Normalizer", norm="L2"), X, {"y": rows_over(np.sqrt((X**2).sum(1, keepdims=True)))}),
    "Imputer": (ml("Imputer", lists={"imputed_value_floats": [7, 8, 9]}, replaced_value_float=0.0), X,
                {"y": np.where(X == 0, [7, 8, 9], X)}),
    "Imputer NaN": (ml("Imputer", lists={"imputed_value_floats": [7]}, replaced_value_float=float("nan")),
                    np.float32([[1, np.nan]]), {"y": [[1, 7]]}),
    "Imputer int64": (ml("Imputer", imputed_value_int64s=[4], replaced_value_int64=-1), np.int64([[1, -1]]), {"y": [[1, 4]]}),
    "FeatureVectorizer": (ml("FeatureVectorizer", inputs="x x", inputdimensions=[2, 4]), X,
                          {"y": np.concatenate([X[:, :2], np.pad(X, [(0, 0), (0, 1)])], 1)}),
    "OneHotEncoder": (ml("OneHotEncoder", cats_int64s=[3, 1]), np.int64([[1], [3], [2]]), {"y": [[[0, 1]], [[1, 0]], [[0, 0]]]}),
    "OneHotEncoder of words": (ml("OneHotEncoder", lists={"cats_strings": ["b", "a"]}), WORDS,
                               {"y": [[[0, 1]], [[0, 0]], [[1, 0]]]}),
    "CategoryMapper": (ml("CategoryMapper", lists={"cats_strings": ["a", "b"]}, cats_int64s=[5, 6], default_int64=-3), WORDS,
                       {"y": [[5], [-3], [6]]}),
    "CategoryMapper back": (ml("CategoryMapper", lists={"cats_strings": ["a", "b"]}, cats_int64s=[5, 6], default_string="?"),
                            np.int64([6, 4]), {"y": [b"b", b"?"]}),
    "LinearRegressor": (ml("LinearRegressor", lists={"coefficients": [1, -1, 2], "intercepts": [0.5]}), X, {"y": LINE[:, None]}),
    "LinearClassifier": (
        ml("LinearClassifier", "label y", lists={"coefficients": [1, -1, 2, 0, 1, 0], "intercepts": [0.5, 0]},
           classlabels_ints=[4, 9], post_transform="SOFTMAX"), X,
        {"label": np.where(X[:, 1] > LINE, 9, 4), "y": softmax(np.stack([LINE, X[:, 1]], 1))}),
    "LinearClassifier of one score": (
        ml("LinearClassifier", "label y", lists={"coefficients": [1, -1, 2], "intercepts": [0.5]}, classlabels_ints=[4, 9]), X,
        {"label": np.where(LINE > 0, 9, 4), "y": np.stack([1 - LINE, LINE], 1)}),
    "TreeEnsembleRegressor": (
        ml("TreeEnsembleRegressor", lists={**MODES, "target_weights": SHARES, "base_values": [10]}, n_targets=1, **TREE, **ENDS),
        X, {"y": VOTES[:, None] + 10}),
    "TreeEnsembleRegressor AVERAGE": (
        ml("TreeEnsembleRegressor", lists={**MODES, "target_weights": SHARES}, n_targets=1, aggregate_function="AVERAGE", **TREE,
           **ENDS), X, {"y": VOTES[:, None] / 2}),
    "TreeEnsembleRegressor MAX": (
        ml("TreeEnsembleRegressor", lists={**MODES, "target_weights": SHARES}, n_targets=1, aggregate_function="MAX", **TREE,
           **ENDS), X, {"y": np.maximum(np.where(FIRST, 0.25, 1.0), np.where(SECOND, 2.0, -1.0))[:, None]}),
    "TreeEnsembleClassifier": (
        ml("TreeEnsembleClassifier", "label y", lists={**MODES, "class_weights": [0.25, 1, 2, 0.5]}, **TREE,
           class_treeids=[0, 0, 1, 1], class_nodeids=[1, 2, 1, 2], class_ids=[0, 1, 2, 0], classlabels_int64s=[7, 8, 9]), X,
        {"y": np.stack([FIRST * 0.25 + ~SECOND * 0.5, ~FIRST * 1.0, SECOND * 2.0], 1),
         "label": np.where(SECOND, 9, np.where(FIRST, 7, 8))}),
    "SVMRegressor": (
        ml("SVMRegressor", lists={"coefficients": [0.5, -2], "support_vectors": [1, 0, 0, 0, 1, 1], "rho": [0.25],
                                  "kernel_params": [0.1, 0, 3]}, kernel_type="RBF", n_supports=2), X,
        {"y": (np.exp(-0.1 * ((X[:, None] - np.float32([[1, 0, 0], [0, 1, 1]])) ** 2).sum(-1)) @ [0.5, -2] + 0.25)[:, None]}),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
async def test_an_op_gives_what_its_equation_gives(name: str) -> None:
    only, x, wanted = ROWS[name]
    proto = model(
        [only], {"x": ("string" if x.dtype == object else x.dtype.name, (None, *x.shape[1:]))}, " ".join(wanted)
    )
    proto.opset_import.add(domain=ML, version=3)
    found = await answers(proto, {"x": x})
    for output, value in wanted.items():
        if np.asarray(value).dtype.kind == "S":
            assert found[output].tolist() == value
        else:
            np.testing.assert_allclose(found[output], value, rtol=1e-5, atol=1e-6)


def map_type(key: int, value: int) -> Any:
    made = TypeProto()
    made.map_type.key_type = key
    made.map_type.value_type.tensor_type.elem_type = value
    return made


async def test_maps_are_fed_and_fetched_as_dictionaries() -> None:
    zipped = model([ml("ZipMap", lists={"classlabels_strings": ["no", "yes"]})], {"x": ("float32", (None, 2))}, "y")
    found = await answers(zipped, {"x": X[:2, :2]})
    assert found["y"] == [{"no": 1.0, "yes": -2.0}, {"no": 0.0, "yes": 0.0}]
    for op, key, fed, wanted in (
        (ml("DictVectorizer", lists={"string_vocabulary": ["b", "z", "a"]}), 8, {"b": 3.0, "a": 2.0}, [[3, 0, 2]]),
        (ml("CastMap", cast_to="TO_INT64"), 7, {5: 3.0, 2: 2.0}, [[2, 3]]),
        (ml("CastMap", map_form="SPARSE", max_map=4), 7, {3: 5.0, 0: 2.0}, [[2, 0, 0, 5]]),
    ):
        proto = model([op], {}, "y")
        proto.graph.input.add(name="x", type=map_type(key, 1))
        found = await answers(proto, {"x": fed})
        np.testing.assert_array_equal(found["y"], wanted)


async def test_deep_trees_go_down_in_a_loop() -> None:
    """A chain of a hundred nodes, of which each asks for a larger number."""
    depth = 100
    ids = list(range(2 * depth + 1))
    lists = {
        "nodes_modes": ["BRANCH_LT"] * depth + ["LEAF"] * (depth + 1), "nodes_values": [*range(depth), *[0] * (depth + 1)],
        "target_weights": list(range(depth + 1)),
    }  # fmt: skip
    only = ml(
        "TreeEnsembleRegressor", lists=lists, nodes_treeids=[0] * len(ids), nodes_nodeids=ids, nodes_featureids=[0] * len(ids),
        nodes_truenodeids=[*range(depth, 2 * depth), *[0] * (depth + 1)],
        nodes_falsenodeids=[*range(1, depth), 2 * depth, *[0] * (depth + 1)], n_targets=1, target_treeids=[0] * (depth + 1),
        target_nodeids=list(range(depth, 2 * depth + 1)), target_ids=[0] * (depth + 1),
    )  # fmt: skip
    x = np.float32([[-1], [0], [41.5], [99], [1000]])
    found = await answers(model([only], {"x": ("float32", (None, 1))}, "y"), {"x": x})
    np.testing.assert_array_equal(found["y"], [[0], [1], [42], [100], [100]])


def test_double_thresholds_are_compared_as_such() -> None:
    split = np.array([1 + 1e-12, 0, 0])
    only = ml(
        "TreeEnsembleRegressor", lists={"nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "target_weights": [1, 2]},
        nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0], nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0], n_targets=1, target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0],
    )  # fmt: skip
    only.attribute.add(name="nodes_values_as_tensor", type=4).t.CopyFrom(tensor_proto(split))
    with af.Graph().as_default() as graph:
        loaded = af.onnx.load(model([only], {"x": ("float64", (None, 1))}, "y"))
    with af.blocking.Session(graph=graph) as session:
        found = session.run(loaded.outputs["y"], {loaded.inputs["x"]: [[1.0], [1 + 2e-12]]})
    np.testing.assert_array_equal(found, [[1], [2]])


def _estimators() -> dict[str, Callable[[], Any]]:
    """Estimators by the names of their modules, and those that are parts of pipelines."""

    def made(place: str, *before: str, **options: Any) -> Callable[[], Any]:
        def build() -> Any:
            steps = [_class(name)() for name in before] + [_class(place)(**options)]
            return importlib.import_module("sklearn.pipeline").make_pipeline(*steps)

        return build

    scaler = "preprocessing.StandardScaler"
    return {
        "logistic": made("linear_model.LogisticRegression", scaler),
        "svc": made("svm.SVC", scaler),
        "svc, probabilities": made("svm.SVC", scaler, probability=True, random_state=0),
        "svc, polynomials": made("svm.SVC", scaler, kernel="poly", degree=2, coef0=1.0),
        "tree": made("tree.DecisionTreeClassifier", random_state=0),
        "forest": made("ensemble.RandomForestClassifier", n_estimators=5, random_state=0),
        "boosting": made("ensemble.GradientBoostingClassifier", n_estimators=5, random_state=0),
        "neighbours": made("neighbors.KNeighborsClassifier"),
        "bayes": made("naive_bayes.GaussianNB"),
        "network": made("neural_network.MLPClassifier", hidden_layer_sizes=(4,), max_iter=20, random_state=0),
        "regression": made("linear_model.Ridge", "preprocessing.PolynomialFeatures"),
        "svr": made("svm.SVR", scaler),
        "one class": made("svm.OneClassSVM", scaler),
        "forest of regression": made("ensemble.RandomForestRegressor", n_estimators=5, random_state=0),
        "boosting of regression": made("ensemble.GradientBoostingRegressor", n_estimators=5, random_state=0),
        "normalizer": made("preprocessing.Normalizer"),
        "binarizer": made("preprocessing.Binarizer"),
        "components": made("decomposition.PCA", scaler),
        "bins": made(
            "preprocessing.KBinsDiscretizer", n_bins=3, encode="onehot-dense", quantile_method="averaged_inverted_cdf"
        ),
        "imputer": made("impute.SimpleImputer"),
        "means": made("cluster.KMeans", n_clusters=3, n_init=1, random_state=0),
    }


def _class(place: str) -> Any:
    module, _, name = place.rpartition(".")
    return getattr(importlib.import_module(f"sklearn.{module}"), name)


def same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, list):
        assert [list(row) for row in found] == [list(row) for row in wanted]
        found, wanted = ([list(row.values()) for row in rows] for rows in (found, wanted))
    np.testing.assert_allclose(np.asarray(found, np.float64), np.asarray(wanted, np.float64), rtol=1e-3, atol=1e-4)


@pytest.fixture(scope="module")
def runtime() -> Any:
    """onnxruntime after its first session, which opens files that it keeps."""
    found = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (make test-extras)")
    found.InferenceSession(model([node("Neg", "x", "y")], {"x": ("float32", (1,))}, "y", opset=18).SerializeToString())
    return found


@pytest.mark.extras("onnxruntime", "skl2onnx")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", _estimators())
async def test_models_of_scikit_learn_give_what_they_give_in_onnxruntime(
    name: str, classes: int, seed: int, runtime: Any
) -> None:
    converter = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed (make test-extras)")
    rng = np.random.default_rng(seed)
    y = np.arange(60) % classes
    x = (rng.normal(size=(60, 4)) + y[:, None]).astype(np.float32)
    estimator = _estimators()[name]()
    estimator.fit(x, y)
    data = converter.to_onnx(estimator, x[:1], target_opset={"": 18, ML: 3}).SerializeToString()
    wanted = runtime.InferenceSession(data).run(None, {"X": x})
    found = await answers(data, {"X": x})
    for one, other in zip(found.values(), wanted):
        same(one, other)
