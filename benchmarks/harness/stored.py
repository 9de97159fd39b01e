"""Results as JSON, one file a family, and the table that is made of all of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.harness import catalog, targets
from benchmarks.harness.definitions import Options, Side
from benchmarks.harness.environment import ROOT
from benchmarks.harness.rounds import Result

_INNERMOST = re.compile(r"[\[{][^\[\]{}]*[\]}]")
FOLDER = ROOT / "benchmarks" / "results"
ABOUT = """# Results

Made by `python -m benchmarks`, which writes this file anew from the JSON files beside it. [How to read](../README.md).
A ratio is ours by the peer's, the median over rounds with the 10th and 90th percentile: below 1 we are faster.
"""


def as_json(result: Result) -> dict[str, Any]:
    """One figure with its target, as it is stored."""
    target = targets.target(result.name)
    return {
        "name": result.name,
        "work": result.work,
        "unit": result.unit,
        "medians": {side: round(value, 4) for side, value in zip(result.sides, result.medians)},
        "spread": {side: spread.as_json() for side, spread in zip(result.sides, result.spreads)},
        "ratio": result.ratio.as_json() if result.ratio else None,
        "ratio_of_means": None if result.mean_ratio is None else round(result.mean_ratio, 5),
        "target": None if target is None else asdict(target) | {"text": target.text(result.unit)},
        "ok": None if target is None else target.met(result),
        "other_cpu": None if result.other_cpu is None else round(result.other_cpu, 3),
        "disturbed_rounds": None if result.disturbed is None else round(result.disturbed, 3),
        "load_average": result.load,
        "note": result.note,
    }


def document(
    family: str, results: Sequence[Result], errors: Mapping[str, str], options: Options, setting: Mapping[str, Any]
) -> dict[str, Any]:
    """All that is stored of one family: where, when and how it was measured, and its figures."""
    return {
        "family": family,
        **setting,
        "options": asdict(options),
        "figures": [as_json(result) for result in results],
        "errors": dict(errors),
    }


def save(found: Mapping[str, Any], folder: Path = FOLDER) -> Path:
    """Writes one family's file. A file is one run: nothing of an older one stays in it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{found['family']}.json"
    path.write_text(as_text(found), encoding="utf-8")
    return path


def as_text(document: Any) -> str:
    """A document as JSON, each of its innermost lists and objects on a line."""
    return _INNERMOST.sub(_on_a_line, json.dumps(document, indent=1, ensure_ascii=False)) + "\n"


def _on_a_line(match: re.Match[str]) -> str:
    return re.sub(r"\n *", " ", match[0])


def number(value: float | None, unit: str = "") -> str:
    """Three digits that count, and the unit."""
    if value is None:
        return ""
    size = abs(value)
    if size >= 1e4:
        text = f"{value:,.0f}".replace(",", " ")
    elif size >= 100 or value == int(value):
        text = f"{value:.0f}"
    else:
        text = f"{value:.3g}"
    return f"{text} {unit}".strip()


def line(figure: Mapping[str, Any]) -> str:
    """One line of the table."""
    unit, ratio, target = figure["unit"], figure["ratio"], figure["target"]
    cells = (
        figure["work"],
        number(figure["medians"].get("ours"), unit),
        number(figure["medians"].get("peer"), unit),
        f"{ratio['median']:.3g} [{ratio['p10']:.3g}–{ratio['p90']:.3g}]" if ratio else "",
        target["text"] if target else "",
        {True: "yes", False: "**no**", None: ""}[figure["ok"]],
    )
    return f"| {' | '.join(cells)} |"


def _extras(machine: Mapping[str, Any]) -> str:
    """Which packages that speed kernels up were installed; results of older versions don't tell."""
    if "extras" not in machine:
        return ""
    return f"extras {', '.join(machine['extras'].values()) or 'none'}, "


def table(documents: Sequence[Mapping[str, Any]]) -> str:
    """The whole of `results/README.md`."""
    parts = [ABOUT]
    for found in documents:
        machine = found["machine"]
        state = f"{(found['commit'] or 'no commit')[:10]}{' with changes' if found['dirty'] else ''}"
        others = [f["other_cpu"] for f in found["figures"] if f["other_cpu"] is not None]
        busy = f"; other processes took {100 * sum(others) / len(others):.0f} % of the machine" if others else ""
        parts.append(f"\n## {found['family']}\n")
        parts.append("| work | ours | peer | ratio median [p10–p90] | target | met |\n|---|---|---|---|---|---|")
        parts.extend(line(figure) for figure in found["figures"])
        parts.append(
            f"\n{found['date']}, {state}, `{found['command']}`; {machine['cpu']}, {machine['cores']} cores, "
            f"Python {machine['python']}, {machine['numpy']}, {_extras(machine)}peer {machine['peer']}{busy}."
        )
        notes = dict.fromkeys(f["note"] for f in found["figures"] if f["note"])
        parts.extend(f"\n{note}" for note in notes)
        parts.extend(f"\nNot measured: `{name}` ({error.splitlines()[-1]})" for name, error in found["errors"].items())
    return "\n".join(parts) + "\n"


def write_table(folder: Path = FOLDER) -> Path:
    """Makes `README.md` of all files of the folder, in the order of the families, and of the comparison of servers."""
    files = [folder / f"{family}.json" for family in catalog.FAMILIES]
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in files if file.exists()]
    text = table(documents)
    compared = folder / "compare.json"
    if compared.exists():
        from benchmarks.compare.report import section

        text += f"\n## compare\n\n{section(json.loads(compared.read_text(encoding='utf-8')))}\n"
    path = folder / "README.md"
    path.write_text(text, encoding="utf-8")
    return path


def sides_of(null: Side | None, alone: Side | None) -> tuple[Side, ...]:
    """The sides that a run measures: both, one twice, or one alone."""
    if null:
        return (null, null)
    return (alone,) if alone else ("ours", "peer")
