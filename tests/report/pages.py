"""A report page as its tests read it."""

import re
from html.parser import HTMLParser

import numpy as np

from tests.oracles import random_table
from usmo.report import build

VOID = {"meta", "input", "br", "img", "link", "base"}
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style><!--", "a&b", "' onclick='x"]


class Page(HTMLParser):
    """Tags, attributes and texts of a page; refuses tags that are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open, self.inside = [], [], [], {}
        self.feed(text)
        self.close()
        assert self.open == []
        self.text = re.sub(r"\s+", " ", "".join(self.texts)).replace("\xa0", " ")

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            self.inside[self.open[-1]] = self.inside.get(self.open[-1], "") + data
        else:
            self.texts.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def table(seed=0, n=120, p=40, d=3):
    X, y = random_table(seed, n=n, p=p, d=d)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order] == y.max()


def page_of(model, X, known, **kw):
    return Page(build(model=model, X=X, known=known, **kw))


def cells_of(text, column):
    """Values of one column of the ranking."""
    body = text[text.index('<table id="ranking">') :]
    body = body[body.index("<tbody>") : body.index("</tbody>")]
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in body.split("</tr>")[:-1]]
    return [re.sub(r"<.*?>", "", row[column]) for row in cells]
