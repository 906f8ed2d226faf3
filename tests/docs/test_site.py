"""The built site: links, requests to other hosts, and a page for every public name."""

import importlib
import pkgutil
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import usmo


class Page(HTMLParser):
    """Links, ids and loaded files of an HTML page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids, self.loaded = [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids.update(values[key] for key in ("id", "name") if values.get(key))
        reference = tag == "link" and values.get("rel") in ("next", "prev", "index", "search")
        if (tag == "a" or reference) and values.get("href"):
            self.links.append(values["href"])
        elif tag in ("script", "link", "img", "iframe", "source", "video", "audio", "embed", "object"):
            self.loaded += [values[key] for key in ("src", "href", "data") if values.get(key)]


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}


def test_site_has_its_six_parts(site):
    index = (site / "index.html").read_text(encoding="utf-8")
    parts = ["guide", "gallery/index", "api/index", "theory", "benchmarks", "architecture"]
    assert all(f'href="{part}.html"' in index and (site / f"{part}.html").exists() for part in parts)


def test_every_internal_link_leads_to_a_page_and_a_heading(pages):
    broken, checked = [], 0
    for path, page in pages.items():
        for link in page.links + page.loaded:
            url = urlsplit(link)
            if url.scheme or url.netloc or (link.startswith("#") and len(link) == 1):
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            checked += 1
            if not target.exists():
                broken.append(f"{path.name}: {link}")
            elif url.fragment and target in pages and unquote(url.fragment) not in pages[target].ids:
                broken.append(f"{path.name}: {link} (no such heading)")
    assert broken == [], broken
    assert checked > 1000


def test_pages_load_nothing_from_other_hosts(site, pages):
    outside = [
        f"{path.name}: {url}" for path, page in pages.items() for url in page.loaded if re.match(r"(\w+:)?//", url)
    ]
    for style in site.rglob("*.css"):
        urls = re.findall(r"""(?:url\(|@import\s+)\s*["']?([^"')\s;]+)""", style.read_text(encoding="utf-8"))
        outside += [f"{style.name}: {url}" for url in urls if re.match(r"(https?:)?//", url)]
    assert outside == []


def test_a_prompt_is_not_copied_with_its_command(site):
    assert '<span class="gp">$ </span>' in (site / "first-ranking.html").read_text(encoding="utf-8")
    rules = (site / "_static" / "site.css").read_text(encoding="utf-8")
    assert re.search(r"\.gp \{\s*user-select: none;", rules)


def public_names():
    """The names of ``__all__`` of the package, and of each public room and module below it."""
    rooms = [module.name for module in pkgutil.iter_modules(usmo.__path__, "usmo.")]
    for room in ["usmo", *rooms]:
        if not room.endswith("__main__"):
            for name in getattr(importlib.import_module(room), "__all__", ()):
                yield f"{room}.{name}"


def test_every_public_name_has_a_page(site):
    names = list(public_names())
    assert len(names) > 80
    missing = [name for name in names if not (site / "api" / "generated" / f"{name}.html").exists()]
    assert missing == []
    empty = [name for name in names if f'id="{name}"' not in page_text(site, name)]
    assert empty == []


def page_text(site, name):
    return (site / "api" / "generated" / f"{name}.html").read_text(encoding="utf-8")


def test_every_documented_name_is_public():
    """A page of a name that has left ``__all__`` would not be noticed otherwise."""
    listed = set()
    for page in (Path(__file__).parents[2] / "docs" / "api").glob("*.rst"):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule::"):
                module = line.split("::")[1].strip()
            elif module and re.fullmatch(r"   \w+", line):
                listed.add(f"{module}.{line.strip()}")
    assert listed == set(public_names())
