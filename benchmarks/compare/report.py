"""Medians of the rounds, as JSON and as a table."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Round = Mapping[str, Mapping[str, float]]
"""The figures of a round, by server and model (`litserve/mlp`)."""


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of the table: its name, its title, its digits, and whether more is better."""

    name: str
    title: str
    digits: int = 0
    more_is_better: bool = False


STEADY = (
    Column("json_per_s", "JSON, requests/s", more_is_better=True),
    Column("json_per_cpu_s", "by second of processor", more_is_better=True),
    Column("json_p50_ms", "p50, ms", 1),
    Column("json_p99_ms", "p99, ms", 1),
    Column("binary_per_s", "bytes, requests/s", more_is_better=True),
    Column("binary_per_cpu_s", "by second of processor", more_is_better=True),
    Column("binary_p50_ms", "p50, ms", 1),
    Column("binary_p99_ms", "p99, ms", 1),
    Column("alone_p50_ms", "one client, JSON, p50, ms", 2),
    Column("loop_p99_ms", "delay of the loop, p99, ms", 1),
)
STORMS = (
    Column("cold_start_s", "first answer, s", 1),
    Column("memory_mb", "memory, MB"),
    Column("left_ms", "work after 1,000 clients left, ms"),
    Column("reload_failed", "reload: failed requests"),
    Column("reload_gap_ms", "longest silence, ms"),
    Column("overload_good", "twice the load: good answers by bearable", 2, more_is_better=True),
    Column("overload_p99_ms", "their p99, ms"),
    Column("overload_refused", "refused", 2),
    Column("overload_late", "late or lost", 2),
    Column("lines", "lines of code"),
)


def medians(rounds: Sequence[Round]) -> dict[str, dict[str, float]]:
    """The median of each figure over the rounds that have it."""
    names = dict.fromkeys(key for each in rounds for key in each)
    result: dict[str, dict[str, float]] = {}
    for key in names:
        some = [each[key] for each in rounds if key in each]
        figures = dict.fromkeys(name for figures in some for name in figures)
        result[key] = {name: round(statistics.median(f[name] for f in some if name in f), 4) for name in figures}
    return result


def best_ratios(
    figures_of: Mapping[str, Mapping[str, float]], rounds: Sequence[Round], ours: Sequence[str], model: str
) -> dict[str, Any]:
    """Our requests by second of the server's processor, by the best peer's, round by round: the median, the least, the most, and
    the peer. Beside other processes a server of several processes gets more of its core, so that requests by second say less."""
    result: dict[str, Any] = {}
    for kind in ("json", "binary"):
        name = f"{kind}_per_cpu_s"
        peers = [
            key
            for key in figures_of
            if key.endswith(f"/{model}") and key.partition("/")[0] not in ours and name in figures_of[key]
        ]
        if not peers:
            continue
        best = max(peers, key=lambda key: figures_of[key][name])
        for server in ours:
            key = f"{server}/{model}"
            ratios = [
                each[key][name] / each[best][name]
                for each in rounds
                if key in each and best in each and each[best][name]
            ]
            if ratios:
                low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
                result[f"{server}/{model}/{kind}"] = {
                    "peer": best.partition("/")[0],
                    "median": round(middle, 3),
                    "least": round(low, 3),
                    "most": round(high, 3),
                }
    return result


def _cell(value: float | None, column: Column, best: float | None) -> str:
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:.{column.digits}f}"
    return f"**{text}**" if best is not None and value == best else text


def _table(
    columns: Sequence[Column], servers: Mapping[str, str], figures_of: Mapping[str, Mapping[str, float]], model: str
) -> list[str]:
    rows = {name: figures_of.get(f"{name}/{model}", {}) for name in servers}
    bests: dict[str, float | None] = {}
    for column in columns:
        values = [v for row in rows.values() if (v := row.get(column.name)) is not None and not math.isnan(v)]
        bests[column.name] = (max if column.more_is_better else min)(values) if values else None
    lines = [f"| server | {' | '.join(column.title for column in columns)} |", f"|---|{'---|' * len(columns)}"]
    for name, title in servers.items():
        if rows[name]:
            cells = [_cell(rows[name].get(column.name), column, bests[column.name]) for column in columns]
            lines.append(f"| {title} | {' | '.join(cells)} |")
    return lines


def _setting(document: Mapping[str, Any]) -> list[str]:
    """When, where and with what it was measured."""
    machine = document["machine"]
    state = f"{(document['commit'] or 'no commit')[:10]}{' with changes' if document['dirty'] else ''}"
    busy = f"load average {document['load_average']}, other processes took {100 * document['other_cpu']:.0f} %"
    there = [row for row in document["servers"].values() if row["versions"]]
    versions = [f"{row['title']}: {', '.join(f'{k} {v}' for k, v in row['versions'].items())}" for row in there]
    return [
        f"{document['date']}, {state}, `{document['command']}`, {document['rounds']} rounds; {machine['cpu']}, "
        f"{machine['cores']} cores, Python {machine['python']}; {busy} of the machine.",
        "",
        f"{'; '.join(versions)}.",
    ]


def section(document: Mapping[str, Any]) -> str:
    """The part of the results' page, from the stored document."""
    servers = {name: row["title"] for name, row in document["servers"].items()}
    lines: list[str] = []
    for model, about in document["models"].items():
        lines += [f"The model is {about}; 64 clients, the best of each column in bold.", ""]
        lines += [*_table(STEADY, servers, document["medians"], model), ""]
    lines += [
        f"With {document['models'][document['storms']]}:",
        "",
        *_table(STORMS, servers, document["medians"], document["storms"]),
        "",
    ]
    lines += ["| work by second of processor, by that of the best peer | peer | median [least–most of the rounds] |"]
    lines += ["|---|---|---|"]
    for name, ratio in document["ratios"].items():
        server, model, kind = name.split("/")
        spread = f"{ratio['median']:.2f} [{ratio['least']:.2f}–{ratio['most']:.2f}]"
        what = f"{servers[server]}, {model}, {'JSON' if kind == 'json' else 'bytes'}"
        lines.append(f"| {what} | {servers[ratio['peer']]} | {spread} |")
    lines += ["", *_setting(document)]
    lines += [f"\nNot measured: {servers.get(name, name)} ({why})" for name, why in document["errors"].items()]
    return "\n".join(lines)
