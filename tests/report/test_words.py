"""A page about documents: their titles, and the words that speak for and against them."""

import numpy as np
import pytest
from scipy import sparse

from usmo import LinearPUSVC, report
from usmo.report.explanations import speaking_words


def test_words_are_summed_over_the_columns_that_share_them():
    X = sparse.csr_matrix(np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 4.0, 0.0]]))
    coef, words = np.array([1.0, 0.5, -1.0, -3.0]), ["cat", "cat", "dog", "year"]
    assert speaking_words(X, coef, np.array([0, 1, 2]), words) == [
        ([("cat", 2.0)], [("year", -3.0)]),
        ([], []),
        ([("cat", 0.5)], [("dog", -4.0)]),
    ]
    assert speaking_words(X.toarray(), coef, np.array([2]), words) == [([("cat", 0.5)], [("dog", -4.0)])]


def test_titles_and_words_are_shown_and_are_no_markup():
    rng = np.random.default_rng(0)
    X = sparse.random(40, 6, 0.5, random_state=0, format="csr") + sparse.csr_matrix(np.eye(40, 6))
    known = rng.permutation(40) < 12
    model = LinearPUSVC(0.3, lam=0.1).fit(X, known.astype(int))
    options = {"model": model, "X": X, "known": known, "sensitivity": None}
    page = report.build(**options, titles=["<b>bold</b> title"] * 40, words=["<i>", *"abcde"])
    assert "&lt;b&gt;bold&lt;/b&gt; title" in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert "“For” and “against”" in page
    assert "raised by" not in page
    assert "What speaks for and against it" in report.build(**options)
    for name, length in (("titles", 39), ("words", 5)):
        with pytest.raises(ValueError, match=f"{name} must hold"):
            report.build(**options, **{name: ["x"] * length})
