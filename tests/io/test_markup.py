"""Markup in texts: what is taken for it, and what is left of a text without it."""

import pytest

from usmo.io.markup import is_marked_up, without_markup


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("no markup", "no markup"),
        ("<p>one</p><p>two</p>", " one  two "),
        ("one<br>two<br/>three", "one two  three"),
        ("CO<sub>2</sub> and 10<sup>-3</sup>", "CO2 and 10-3"),
        ('<div style="font-size: .9em;">First Page</div>', " First Page "),
        ("p &lt; 0.05, R&amp;D, &eacute;t&eacute;, &#8217;", "p < 0.05, R&D, été, \u2019"),
        ("AT&T, a < b, x <5 and y> 3", "AT&T, a < b, x <5 and y> 3"),
        ("if a<b and c>d then", "if a<b and c>d then"),
        ("before <!-- a remark --> after", "before  after"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;", "<script>alert(1)</script>"),
    ],
)
def test_text_without_markup(text, plain):
    assert without_markup(text) == plain


@pytest.mark.parametrize(
    ("texts", "marked"),
    [
        (["a < b", "x > y and AT&T", "p<0.05"], False),
        (["a<b and c>d", "R & D; more"], False),
        (["plain", "<i>in vitro</i>"], True),
        (["one<br>two"], True),
        (["p &lt; 0.05"], True),
        (["&#x3b1; particles"], True),
        ([], False),
    ],
)
def test_a_column_is_marked_up_if_a_text_has_what_only_markup_has(texts, marked):
    assert is_marked_up(texts) is marked
