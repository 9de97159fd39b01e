"""`dead_links`: the links within the finished site that lead to no file, or to no place in it."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit


class _Reader(HTMLParser):
    """Collects the targets and the places of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes what has an id, and what leads somewhere."""
        for name, value in attrs:
            if value and name == "id":
                self.places.add(value)
            elif value and name in ("href", "src"):
                self.links.append(value)


def dead_links(folder: Path) -> list[str]:
    """A sentence for each dead link of the site in a folder. Links to other hosts are not followed."""
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        reader = _Reader()
        reader.feed(path.read_text(encoding="utf-8"))
        pages[path.resolve()] = reader
    return sorted({*_dead(folder, pages)})


def _dead(folder: Path, pages: dict[Path, _Reader]) -> Iterator[str]:
    for path, reader in pages.items():
        for link in reader.links:
            target, place = urldefrag(link)
            if urlsplit(link).scheme or link.startswith("//"):
                continue
            found = (path.parent / unquote(urlsplit(target).path)).resolve() if target else path
            found = found / "index.html" if found.is_dir() else found
            page = path.relative_to(folder.resolve())
            if not found.is_file():
                yield f"{page}: {link} leads nowhere"
            elif place and found in pages and unquote(place) not in pages[found].places:
                yield f"{page}: {link}: the page has no such place"
