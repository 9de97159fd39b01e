"""The table of docs/reference/gpu_kernels.md: which ops have a kernel for a GPU. Run as a script, this module writes it."""

from __future__ import annotations

from pathlib import Path

from actorflow.base.registry import kernel, opdef, plugins

DOC = Path(__file__).resolve().parents[2] / "docs" / "reference" / "gpu_kernels.md"
BEGIN, END = "<!-- kernel coverage: begin -->", "<!-- kernel coverage: end -->"


def table() -> str:
    """By the modules of the ops: which have a kernel for GPUs of their own, which run the one for every device, and how many
    are the CPU's alone."""
    plugins.load_kernels()
    own: dict[str, list[str]] = {}
    shared: dict[str, list[str]] = {}
    only: dict[str, int] = {}
    for op, entries in sorted(kernel.registered().items()):
        where = opdef.lookup(op).where
        if op.startswith("_") or "/actorflow/graph/ops/" not in where:
            continue
        module = where.rpartition(":")[0].rpartition("/actorflow/graph/ops/")[2].removesuffix(".py")
        if any(entry.device == "GPU" for entry in entries):
            own.setdefault(module, []).append(op)
        elif kernel.includes(kernel.devices_of(op), "GPU"):
            shared.setdefault(module, []).append(op)
        else:
            only[module] = only.get(module, 0) + 1
    lines = [
        "| ops of | on a GPU, with the kernel for every device | with one of its own | on the CPU only |",
        "|---|---|---|---|",
    ]
    for module in sorted({*own, *shared, *only}):
        names = (", ".join(found.get(module, ())) for found in (shared, own))
        lines.append(f"| {module} | {' | '.join(names)} | {only.get(module, 0) or ''} |")
    count = [sum(map(len, found.values())) for found in (shared, own)]
    lines.append(f"| all | {count[0]} | {count[1]} | {sum(only.values())} |")
    return "\n".join(lines)


def written() -> str:
    """The table as it is in the document."""
    return DOC.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()


def main() -> None:
    before, _, rest = DOC.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    DOC.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
