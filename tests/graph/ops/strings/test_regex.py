"""Regular expressions: RE2 and Python's `re` give the same, and no pattern holds a worker for long."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import numpy as np
import pytest
from graph.ops.strings.rows_elementwise import REPLACED, WRONG

import actorflow as af
from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.kernels.strings import regex
from actorflow.kernels.strings.regex import compiled, rewriter

CATASTROPHIC = [
    (b"(a+)+$", b"a" * 60 + b"!"),
    (b"(a|a)*b", b"a" * 60),
    (b"(a|aa)+$", b"a" * 90 + b"!"),
    (b"(.*a){20}$", b"a" * 50 + b"!"),
    (b"(x+x+)+y", b"x" * 60),
    (b"^(([a-z])+.)+[A-Z]([a-z])+$", b"a" * 60),
    (b"a?" * 40 + b"a" * 40, b"a" * 39),
    (b"(a*)*(a*)*b", b"a" * 60),
    (b"a*" * 12 + b"b", b"a" * 5000),
    (b"(?:a{0,30}){0,30}b", b"a" * 100),
    (b".*.*.*=.*", b"x" * 20_000),
    (rb"\s+$", b" " * 200_000 + b"x"),
]


@pytest.fixture(params=["RE2", "re"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """With RE2, and as where it is not installed."""
    if request.param == "RE2":
        pytest.importorskip("re2")
    else:
        monkeypatch.setattr(regex, "_library", lambda: None)
    compiled.cache_clear()
    yield request.param
    compiled.cache_clear()


def replaced(pattern: bytes, rewrite: bytes, value: bytes, *, once: bool = False) -> bytes:
    expression = compiled(pattern)
    return expression.replaced(value, rewriter(rewrite, expression), once)


@pytest.mark.parametrize(("pattern", "rewrite", "value", "expected", "full"), REPLACED)
def test_both_engines_know_res_syntax(
    engine: str, pattern: bytes, rewrite: bytes, value: bytes, expected: bytes, full: bool
) -> None:
    assert replaced(pattern, rewrite, value) == expected
    assert compiled(pattern).fits(value) == full


@pytest.mark.parametrize("pattern", [*WRONG, b"\xff", b"(" * 30_000])
def test_both_engines_refuse_what_is_no_pattern(engine: str, pattern: bytes) -> None:
    with pytest.raises((ValueError, UnimplementedError)):
        compiled(pattern)


@pytest.mark.parametrize("pattern", [b"", b"b*", b"(a|b)*", b"x?", rb"\b", b"$"])
@pytest.mark.parametrize("value", ["", "ä", "aäb", "日本", "xa ä"])
def test_a_match_of_nothing_lies_between_characters(engine: str, pattern: bytes, value: str) -> None:
    found = replaced(pattern, b"-", value.encode())
    assert found.decode().replace("-", "") == re.sub(pattern.decode().replace("$", r"\Z"), "", value)


def test_unicode_classes_need_re2(engine: str) -> None:
    for pattern, value in ((rb"\pL+", "äb".encode()), (b"(?U)a+", b"a")):
        if engine == "RE2":
            assert compiled(pattern).fits(value)
        else:
            with pytest.raises(UnimplementedError):
                compiled(pattern)


@pytest.mark.parametrize(("pattern", "value"), CATASTROPHIC)
def test_a_catastrophic_pattern_is_linear_or_refused(engine: str, pattern: bytes, value: bytes) -> None:
    expression = compiled(pattern)
    if engine == "RE2":
        assert not expression.fits(value)
        assert replaced(pattern, b"", value) == value
        return
    with pytest.raises(UnimplementedError, match="very long") as caught:
        replaced(pattern, b"", value)
    assert "actorflow[strings]" in str(caught.value)


def test_quick_patterns_take_long_strings_without_re2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex, "_library", lambda: None)
    compiled.cache_clear()
    text = b"key=value; " * 100_000
    assert replaced(b"value", b"v", text) == text.replace(b"value", b"v")
    assert replaced(b"[;=]", b"", text) == text.replace(b";", b"").replace(b"=", b"")
    assert replaced(rb"(\w+)=(\w+)", rb"\2=\1", b"a=b cd=ef") == b"b=a ef=cd"
    assert compiled(rb"\d+").fits(b"7" * 5_000)
    assert not compiled(b"(?:ab){1000}").fits(b"ab" * 999)
    compiled.cache_clear()


def test_patterns_that_are_taken_end_soon(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """The bound on backtracking holds: patterns drawn at random either are refused or take few steps."""
    monkeypatch.setattr(regex, "_library", lambda: None)
    monkeypatch.setattr(regex, "MOST_STEPS", 20_000)
    rng = random.Random(seed)

    def drawn(depth: int) -> str:
        def atom() -> str:
            return f"({drawn(depth - 1)})" if depth and rng.random() < 0.4 else rng.choice(["a", "b", "[ab]", "."])

        parts = [atom() + rng.choice(["", "", "*", "+", "?", "{2}", "{0,3}"]) for _ in range(rng.randint(1, 3))]
        return "".join(parts) + (f"|{atom()}" if rng.random() < 0.3 else "")

    taken = 0
    for _ in range(300):
        pattern = drawn(2).encode()
        value = b"a" * rng.randint(1, 40) + rng.choice([b"", b"!"])
        try:
            expression = compiled(pattern)
            fits = expression.fits(value)
        except UnimplementedError:
            continue
        taken += 1
        assert fits == (re.fullmatch(pattern.replace(b".", rb"[^\n]"), value) is not None)
    assert taken > 50
    compiled.cache_clear()


async def test_a_run_tells_of_a_refused_string(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex, "_library", lambda: None)
    compiled.cache_clear()
    with af.Graph().as_default() as graph:
        text = af.placeholder(af.string, [None])
        cleaned = af.regex_replace(text, "(a+)+$", "")
        wrong = af.regex_replace(text, "(", "")
    async with af.Session(graph=graph) as session:
        with pytest.raises(UnimplementedError, match="very long"):
            await session.run(cleaned, {text: np.array([b"a" * 60 + b"!"], object)})
        with pytest.raises(InvalidArgumentError, match="Invalid pattern"):
            await session.run(wrong, {text: np.array([b"a"], object)})
        assert (await session.run(cleaned, {text: np.array([b"aaa"], object)})).tolist() == [b""]
    compiled.cache_clear()


QUICK = [
    b"[0-9]+",
    b"a|ab",
    rb"\w+@\w+",
    b"(a)(b)?",
    b"[^a-c ]",
    rb"\bx",
    b"(?i)word",
    b"x{2,3}?y",
    rb"\s\s*",
    b"(?:ab)+c?",
]


@pytest.mark.parametrize("pattern", QUICK)
@pytest.mark.parametrize("rewrite", [b"", b"-", rb"<\0>", rb"a\\b", rb"[\1]"])
def test_what_re_takes_in_place_of_re2_is_what_re2_gives(
    pattern: bytes, rewrite: bytes, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("re2")
    rng = random.Random(seed)
    texts = ["".join(rng.choices("abcxyW 019@-é\n", k=rng.randrange(30))).encode() for _ in range(60)]
    quick = compiled(pattern)
    assert isinstance(quick, regex.Re2Pattern) and quick._quick is not None
    monkeypatch.setattr(regex, "_quick", lambda pattern: None)
    slow = regex.Re2Pattern(regex._library(), pattern)
    if b"1" in rewrite and not slow.groups:
        return
    for text in texts:
        written = rewriter(rewrite, slow)
        assert quick.fits(text) == slow.fits(text), text
        for once in (False, True):
            assert quick.replaced(text, written, once) == slow.replaced(text, written, once), text


@pytest.mark.parametrize("pattern", [b"", b"a*", rb"\b", b"$", b"(?:a|b*)", rb"\b\B*", b"(a?)+"])
def test_patterns_of_matches_that_may_be_empty_stay_with_re2(pattern: bytes) -> None:
    pytest.importorskip("re2")
    assert regex._quick(pattern) is None


def test_long_strings_stay_with_re2() -> None:
    pytest.importorskip("re2")
    quick = regex._quick(b"[0-9]+[a-z]+[0-9]+")
    assert quick is not None and quick.is_quick(20)
    assert not quick.is_quick(10_000)
    assert not quick.is_quick(20_000)
    assert quick.is_quick(10)
