"""TensorBoard's own reader and server show what writers write. `make test-extras` runs these: TensorBoard is large."""

from __future__ import annotations

import contextlib
import json
import struct
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE

import actorflow as af

pytestmark = [
    pytest.mark.extras("tensorboard"),
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]
pytest.importorskip("tensorboard", reason="tensorboard is not installed (make test-extras)")

STEPS = 5
VALUES = np.linspace(-3, 3, 200)


def write(folder: Path) -> af.Graph:
    """A run with something of each kind, by ops and by the plain writer."""
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [None], name="x")
        with af.name_scope("model"):
            loss = af.reduce_mean(af.square(x), name="loss")
        af.summary.scalar("loss", loss)
        af.summary.histogram("spread", x)
        af.summary.image("picture", np.zeros((1, 4, 5, 3), np.float32), max_outputs=1)
        af.summary.audio("sound", np.zeros((1, 90), np.float32), 8000.0, max_outputs=1)
        af.summary.text("words", af.constant("**bold**"))
        merged = af.summary.merge_all()
    with af.blocking.Session(graph=graph) as session, af.summary.Writer(folder / "run", graph=graph) as writer:
        writer.hparams({"rate": 0.5, "kind": "adam", "deep": True, "layers": 3}, metrics=["loss"])
        for step in range(STEPS):
            trace = af.Trace()
            writer.add_summary(session.run(merged, {x: VALUES * step}, trace=trace), step)
            writer.add_run_metadata(trace, f"step {step}", step)
            writer.histogram("plain/histogram", VALUES, step)
            writer.image("plain/image", np.full((2, 3, 4, 3), 0.5), step)
            writer.audio("plain/audio", np.zeros((1, 90, 1)), 8000, step)
            writer.text("plain/text", [["a", "b"]], step)
            writer.pr_curve("plain/pr", [True, False, True, True], [0.9, 0.4, 0.2, 0.6], step, num_thresholds=11)
        writer.mesh("plain/mesh", np.zeros((1, 4, 3)), faces=[[[0, 1, 2]]], colours=np.zeros((1, 4, 3)))
        writer.custom_scalars({"all": {"losses": ["loss"]}})
    return graph


def test_f94_its_reader_finds_every_tag(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    graph = write(tmp_path)
    found = EventAccumulator(str(tmp_path / "run"), size_guidance={"scalars": 0, "histograms": 0}).Reload()
    tags = found.Tags()
    assert tags["scalars"] == ["loss"] and tags["histograms"] == ["spread"]
    assert tags["images"] == ["picture/image"] and tags["audio"] == ["sound/audio"]
    assert {"words", "plain/histogram", "plain/image", "plain/audio", "plain/text", "plain/pr"} <= set(tags["tensors"])
    assert tags["run_metadata"] == [f"step {step}" for step in range(STEPS)] and tags["graph"] and tags["meta_graph"]
    losses = [(event.step, event.value) for event in found.Scalars("loss")]
    np.testing.assert_allclose(losses, [(s, np.mean((VALUES * s) ** 2)) for s in range(STEPS)], rtol=1e-5)
    assert [event.histogram_value.num for event in found.Histograms("spread")] == [200.0] * STEPS
    assert {node.name for node in found.Graph().node} == {op.name for op in graph.get_operations()}
    stats = found.RunMetadata("step 1").step_stats
    assert "model/loss" in {node.node_name for device in stats.dev_stats for node in device.node_stats}


@contextlib.contextmanager
def server(folder: Path, fast: bool) -> Iterator[Any]:
    """TensorBoard's server, as a function from an address to what it answers."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder), "--host", "127.0.0.1", "--port", "0"]
    command += [f"--load_fast={'true' if fast else 'false'}", "--reload_interval", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if "http://" in line:
                    base = line[line.index("http://") :].split()[0].rstrip("/")
                    break

            def ask(path: str, **query: Any) -> Any:
                url = f"{base}/data/{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
                data = urllib.request.urlopen(url, timeout=PATIENCE).read()
                try:
                    return json.loads(data)
                except ValueError:
                    return data

            yield ask
        finally:
            process.terminate()


def until(ask: Any, wanted: Any) -> Any:
    """The answer of `ask` once it is as wanted: the server reads at its own times."""
    end = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(OSError, KeyError):
            found = ask()
            if wanted(found) or time.monotonic() > end:
                return found
        assert time.monotonic() < end
        time.sleep(0.2)


@pytest.mark.parametrize("fast", [True, False], ids=["fast loader", "slow loader"])
def test_f94_its_server_shows_every_page(tmp_path: Path, fast: bool) -> None:
    write(tmp_path)
    with server(tmp_path, fast) as ask:
        points = until(lambda: ask("plugin/scalars/scalars", run="run", tag="loss"), lambda found: len(found) == STEPS)
        assert [step for _, step, _ in points] == list(range(STEPS))
        assert ask("runs") == ["run"]
        rows = ask("plugin/histograms/histograms", run="run", tag="spread")
        assert len(rows) == STEPS and sum(count for _, _, count in rows[-1][2]) == 200
        rows = ask("plugin/histograms/histograms", run="run", tag="plain/histogram")
        assert sum(count for _, _, count in rows[0][2]) == 200
        assert ask("plugin/distributions/distributions", run="run", tag="spread")
        assert set(ask("plugin/images/tags")["run"]) == {"picture/image", "plain/image"}
        pictures = ask("plugin/images/images", run="run", tag="plain/image", sample=1)
        assert [picture["step"] for picture in pictures] == list(range(STEPS))
        file = ask(f"plugin/images/individualImage?{pictures[0]['query']}")
        assert file.startswith(b"\x89PNG") and file[16:24] == struct.pack(">II", 4, 3)
        assert set(ask("plugin/audio/tags")["run"]) == {"sound/audio", "plain/audio"}
        assert "<strong>bold</strong>" in ask("plugin/text/text", run="run", tag="words")[0]["text"]
        assert "<table>" in ask("plugin/text/text", run="run", tag="plain/text")[0]["text"]
        curve = ask("plugin/pr_curves/pr_curves", run="run", tag="plain/pr")["run"][0]
        assert (curve["true_positives"][0], curve["false_positives"][0]) == (3, 1)
        assert ask("plugin/mesh/meshes", run="run", tag="plain/mesh", sample=0)
        assert ask("plugin/custom_scalars/layout")["category"][0]["title"] == "all"
        info = ask("plugin/graphs/info")["run"]
        assert info["run_graph"] and "step 2" in info["tags"]
        text = ask("plugin/graphs/graph", run="run").decode()
        assert 'name: "model/loss"' in text and "_output_shapes" in text
        told = ask("plugin/graphs/run_metadata", run="run", tag="step 2").decode()
        assert 'node_name: "model/loss"' in told and "all_end_rel_micros" in told
        assert ask("plugin/timeseries/tags")["scalars"]["runTagInfo"]["run"] == ["loss"]
        request = urllib.parse.quote(json.dumps({"experimentName": ""}))
        experiment = ask(f"plugin/hparams/experiment?request={request}")
        assert {info["name"] for info in experiment["hparamInfos"]} == {"rate", "kind", "deep", "layers"}


@pytest.mark.parametrize("fast", [True, False], ids=["fast loader", "slow loader"])
def test_points_appear_while_training_appends(tmp_path: Path, fast: bool) -> None:
    with af.summary.Writer(tmp_path / "run", flush_secs=10_000) as writer, server(tmp_path, fast) as ask:
        for step in range(3):
            writer.scalar("loss", step, step)
            writer.flush()
            points = until(
                lambda: ask("plugin/scalars/scalars", run="run", tag="loss"),
                lambda found, step=step: len(found) == step + 1,
            )
            assert [int(point[1]) for point in points] == list(range(step + 1))


def test_values_for_pages_are_those_of_tensorboards_own_writers() -> None:
    from tensorboard.plugins.histogram.summary_v2 import histogram_pb
    from tensorboard.plugins.scalar.summary_v2 import scalar_pb
    from tensorboard.plugins.text.summary_v2 import text_pb
    from tensorboard.util.tensor_util import make_ndarray

    from actorflow.models.summary import pages
    from actorflow.summary import Summary

    pairs = [
        (pages.scalar("s", 2.5, "about"), scalar_pb("s", 2.5, "about")),
        (pages.histogram("h", VALUES, 7), histogram_pb("h", VALUES, 7)),
        (pages.histogram("h", np.full(5, 3.0)), histogram_pb("h", np.full(5, 3.0))),
        (pages.histogram("h", []), histogram_pb("h", np.zeros(0))),
        (pages.text("t", [["a", "ü"]]), text_pb("t", [["a", "ü"]])),
    ]
    for mine, theirs in pairs:
        (one,), (other,) = Summary.FromString(mine).value, theirs.value
        data = other.metadata.plugin_data
        assert one.metadata.plugin_data.plugin_name == data.plugin_name
        assert one.metadata.plugin_data.content == data.content
        assert one.metadata.summary_description == other.metadata.summary_description
        wanted = make_ndarray(other.tensor)
        found = af.make_ndarray(one.tensor)
        assert found.dtype == wanted.dtype or wanted.dtype == object
        if wanted.dtype == object:
            assert found.tolist() == wanted.tolist()
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-6, err_msg=data.plugin_name)
