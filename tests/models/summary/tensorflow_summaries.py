"""Makes `answers.json`: with TensorFlow 2.21 installed, `python tests/models/summary/tensorflow_summaries.py` writes the bytes
of TensorFlow's summaries of `summary_programs`, and the names of its nodes."""

from __future__ import annotations

import base64
import importlib
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from models.summary.summary_programs import PROGRAMS

FILE = Path(__file__).with_name("answers.json")


def main() -> None:
    tf: Any = importlib.import_module("tensorflow.compat.v1")
    tf.disable_eager_execution()
    found = {}
    for name, program in PROGRAMS.items():
        with tf.Graph().as_default() as graph, tf.Session() as session:
            summary = session.run(program(tf))
            ops = [op.name for op in graph.get_operations() if op.type.endswith(("Summary", "SummaryV2"))]
            found[name] = [ops, base64.b64encode(summary).decode()]
    FILE.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
