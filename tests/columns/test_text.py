"""Text columns: which they are, the numbers they give, and what a model file keeps of them."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import normalize

import usmo
from tests.files.models import opened, saved, written
from tests.tables_of_text import CHINESE, ENGLISH, GERMAN, JAPANESE, documents
from usmo import LinearPUSVC
from usmo.columns import TableEncoder
from usmo.columns.words import HASHED_TERMS, fewest_texts, normalised, token_pattern
from usmo.files import ModelFileError
from usmo.io import Sheet, TableError

MIXED = {
    "id": [f"doc-{i}" for i in range(60)],
    "title": documents(length=5, seed=1),
    "abstract": [None if i % 10 == 0 else text for i, text in enumerate(documents(length=30))],
    "year": [2000 + i % 7 for i in range(60)],
    "venue": [("journal", "workshop")[i % 3 > 0] for i in range(60)],
}


def kinds(encoder):
    return {schema["name"]: schema["kind"] for schema in encoder.columns_}


@pytest.mark.parametrize(
    ("column", "options", "kind"),
    [
        (documents(), {}, "text"),
        (documents(), {"text": "hash"}, "text"),
        (documents(), {"text": "none"}, "ignored"),
        (documents(), {"text": "none", "text_columns": ["c"]}, "text"),
        (documents(words=CHINESE, between=""), {}, "text"),
        (documents(words=JAPANESE, between=""), {}, "text"),
        (documents(words=GERMAN), {}, "text"),
        ([f"doc-{i}" for i in range(60)], {}, "ignored"),
        ([f"https://example.org/{i}/some/words/here" for i in range(60)], {}, "ignored"),
        ([f"doc-{i}" for i in range(60)], {"text_columns": ["c"]}, "text"),
        (["a", "b"] * 30, {}, "category"),
        (["a red one", "a blue one"] * 30, {"text_columns": ("c",)}, "text"),
        (["one text of many words for all"] * 60, {}, "ignored"),
        (["one text of many words for all"] * 60, {"text_columns": ["c"]}, "text"),
        ([None] * 60, {"text_columns": ["c"]}, "ignored"),
        (["?!"] * 60, {"text_columns": ["c"]}, "ignored"),
        ([str(i) for i in range(1900, 1960)], {"text_columns": ["c"]}, "text"),
    ],
)
@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_text_is_recognised_or_named(frame, column, options, kind):
    table = frame({"c": column, "x": [float(i % 7) for i in range(60)]})
    assert kinds(TableEncoder(**options).fit(table))["c"] == kind


def test_summary_and_names_say_what_was_found():
    encoder = TableEncoder().fit(pl.DataFrame(MIXED))
    n_terms, none = (len(schema["terms"]) for schema in encoder.columns_[1:3])
    assert none == 0
    assert encoder.summary() == [
        "id: ignored, text with 60 different values: looks like ids, codes or names",
        f"title: text, {n_terms:,} words and pairs of words of all text columns",
        "abstract: text, read together with the other text, 6 missing",
        "year: number",
        "venue: 2 categories",
    ]
    names = encoder.get_feature_names_out().tolist()
    assert len(names) == n_terms + 3 == encoder.transform(pl.DataFrame(MIXED)).shape[1]
    assert {"title + abstract: defect", "year", "venue=journal"} <= set(names)
    words = encoder.words()
    assert len(words) == len(names)
    assert words.count("defect") == 1
    assert TableEncoder(text="none").fit(pl.DataFrame(MIXED)).words() is None


def test_the_numbers_are_those_of_scikit_learn():
    texts = documents(200, seed=3)
    expected = TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, min_df=2, preprocessor=normalised, token_pattern=token_pattern()
    )
    Z = TableEncoder().fit_transform(pl.DataFrame({"c": texts}))
    plain = expected.fit_transform(texts)
    halved = plain @ sparse.diags([0.5 if " " in term else 1.0 for term in expected.get_feature_names_out()])
    np.testing.assert_allclose(Z.toarray(), normalize(halved).toarray(), rtol=1e-12)
    np.testing.assert_allclose(sparse.linalg.norm(Z, axis=1), 1)


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
@pytest.mark.parametrize("method", ["tfidf", "hash"])
def test_several_text_columns_are_read_as_one_text(frame, method):
    """Row by row the joined texts in one column give the same numbers; a missing text adds nothing."""
    title, abstract = MIXED["title"], MIXED["abstract"]
    both = [
        first if second is None else f"{first}\n{second}" for first, second in zip(title, abstract, strict=True)
    ]
    two = TableEncoder(text=method).fit(frame({"title": title, "x": [1.0, 2.0] * 30, "abstract": abstract}))
    one = TableEncoder(text=method).fit(frame({"title": both, "x": [1.0, 2.0] * 30}))
    Z = two.transform(frame({"title": title, "x": [1.0, 2.0] * 30, "abstract": abstract}))
    np.testing.assert_array_equal(
        Z.toarray(), one.transform(frame({"title": both, "x": [1.0, 2.0] * 30})).toarray()
    )
    nothing = two.transform(frame({"title": [None, "defect"], "x": [1.0, 1.0], "abstract": [None, None]}))
    words = np.array([": " in name for name in two.get_feature_names_out()])
    assert [nothing[i, words].nnz > 0 for i in range(2)] == [False, True]
    with pytest.raises(TableError, match="abstract"):
        two.transform(frame({"title": title, "x": [1.0, 2.0] * 30}))


def test_tags_and_references_are_no_words():
    texts = documents(60, seed=5)
    marked = [f"<p>{text}</p><p>CO<sub>2</sub> &amp; caf&eacute; p&lt;0.05</p>" for text in texts]
    plain = [f"{text} CO2 & café p<0.05" for text in texts]
    encoder = TableEncoder().fit(pl.DataFrame({"c": marked}))
    assert encoder.columns_[0]["markup"] is True
    expected = TableEncoder().fit(pl.DataFrame({"c": plain}))
    assert expected.columns_[0]["markup"] is False
    assert encoder.columns_[0]["terms"] == expected.columns_[0]["terms"]
    assert {"co2", "café"} <= set(encoder.columns_[0]["terms"])
    Z = encoder.transform(pl.DataFrame({"c": marked}))
    np.testing.assert_allclose(Z.toarray(), expected.transform(pl.DataFrame({"c": plain})).toarray(), atol=1e-15)


@pytest.mark.parametrize(("rows", "least"), [(1, 1), (19, 1), (20, 2), (9_999, 2), (10_000, 3), (100_000, 5)])
def test_a_term_must_occur_more_often_among_more_rows(rows, least):
    assert fewest_texts(rows) == least


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Straße, Übung", ["straße", "straße übung", "übung"]),
        ("软件缺陷", ["件", "件缺", "缺", "缺陷", "软", "软件", "陷"]),
        ("雨とBERT", ["bert", "と", "と bert", "雨", "雨と"]),
        ("ＢＥＲＴ ｶﾅ", ["bert", "bert カ", "カ", "カナ", "ナ"]),
        ("cafe\u0301", ["café"]),
        ("हिन्दी भाषा", ["भाषा", "हिन्दी", "हिन्दी भाषा"]),
        ("snake_case x 42", ["42", "case", "case 42", "snake", "snake case"]),
    ],
)
def test_words_of_any_language(text, terms):
    encoder = TableEncoder(text_columns=["c"]).fit(pl.DataFrame({"c": [text]}))
    names = [name.removeprefix("c: ") for name in encoder.get_feature_names_out()]
    assert sorted(names) == sorted(terms)


@pytest.mark.parametrize(
    ("words", "between"),
    [(ENGLISH, " "), (GERMAN, " "), (CHINESE, ""), (JAPANESE, "")],
    ids=["en", "de", "zh", "ja"],
)
@pytest.mark.parametrize("method", ["tfidf", "hash"])
def test_subjects_are_told_apart_in_any_language(words, between, method):
    texts = documents(80, words, between=between)
    Z = TableEncoder(text=method).fit_transform(pl.DataFrame({"c": texts}))
    scores = Z @ np.asarray(Z[:20:2].mean(axis=0)).ravel()
    assert scores[20::2].min() > scores[21::2].max()


def test_other_columns_spread_as_far_as_the_text_and_alone_are_as_before():
    table = pl.DataFrame(MIXED)
    encoder = TableEncoder().fit(table)
    Z = encoder.transform(table)
    words = np.array([": " in name for name in encoder.get_feature_names_out()])
    spread = [
        np.linalg.svd((B - B.mean(axis=0)), compute_uv=False)[0]
        for B in (Z[:, words].toarray(), Z[:, ~words].toarray())
    ]
    assert spread[1] == pytest.approx(spread[0], rel=0.05)
    plain = TableEncoder().fit(table.select("id", "year", "venue"))
    assert plain.other_scale_ == 1.0
    alone = plain.transform(table.select("id", "year", "venue"))
    np.testing.assert_array_equal(Z[:, ~words].toarray(), alone * encoder.other_scale_)


def test_every_frame_and_every_part_of_it_gives_the_same_rows():
    table = pl.DataFrame(MIXED)
    encoder = TableEncoder().fit(table)
    Z = encoder.transform(table).toarray()
    np.testing.assert_array_equal(TableEncoder().fit_transform(pd.DataFrame(MIXED)).toarray(), Z)
    np.testing.assert_array_equal(encoder.transform(Sheet(table)).toarray(), Z)
    np.testing.assert_array_equal(encoder.transform(table[::-7]).toarray(), Z[::-7])


def test_new_rows_may_have_unknown_words_no_text_or_numbers():
    encoder = TableEncoder().fit(pl.DataFrame({"c": documents()}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Z = encoder.transform(pl.DataFrame({"c": ["zebra quagga", None, "", "defect", "NA"]}))
        np.testing.assert_allclose(sparse.linalg.norm(Z, axis=1), [0, 0, 0, 1, 0])
        assert encoder.transform(pl.DataFrame({"c": [1984, 2001]})).nnz == 0
    with pytest.raises(TableError, match="holds date values, but text in the training table"):
        encoder.transform(pl.DataFrame({"c": [pd.Timestamp("2020-01-01")]}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text_columns": ["d"]}, "no column 'd' in the table"),
        ({"text_columns": ["x"]}, "column 'x' is to be text, and holds values of type number"),
        ({"embedding_columns": ["x"]}, "column 'x' must hold lists of numbers, got values of type number"),
        ({"text_columns": "c"}, "text_columns"),
        ({"text": "bert"}, "text"),
    ],
)
def test_wrong_choices_are_refused(options, message):
    with pytest.raises((TableError, ValueError), match=message):
        TableEncoder(**options).fit(pl.DataFrame({"c": documents(), "x": [float(i % 7) for i in range(60)]}))


def fitted_pipeline(method, table):
    known = np.array([i % 2 == 0 and i < 30 for i in range(60)], dtype=int)
    model = usmo.PUSVC(0.5, kernel="linear", lam=0.01)
    return Pipeline([("columns", TableEncoder(text=method)), ("model", model)]).fit(table, known)


@pytest.fixture(params=["tfidf", "hash"])
def model(request, tmp_path):
    pipeline = Pipeline(
        [("columns", TableEncoder(text=request.param)), ("model", usmo.PUSVC(0.5, kernel="linear"))]
    )
    y = np.array([i % 2 == 0 and i < 30 for i in range(60)], dtype=int)
    pipeline.fit(pl.DataFrame(MIXED), y)
    usmo.files.save(pipeline, tmp_path / "m.usmo")
    return pipeline, tmp_path / "m.usmo"


def test_a_model_file_encodes_new_rows_exactly_as_before(model):
    pipeline, path = model
    loaded, new = (
        usmo.load(path),
        pl.DataFrame({**MIXED, "title": documents(seed=9), "abstract": documents(seed=8)}),
    )
    for table in (pl.DataFrame(MIXED), new):
        X, again = pipeline[0].transform(table), loaded[0].transform(table)
        np.testing.assert_array_equal(again.toarray(), X.toarray())
        np.testing.assert_array_equal(loaded.decision_function(table), pipeline.decision_function(table))
    assert path.stat().st_size < 3_000_000


def changed(terms, idf, how):
    if how == "unsorted":
        terms[0], terms[1] = terms[1], terms[0]
    elif how == "twice":
        terms[1] = terms[0]
    elif how == "empty":
        terms[0] = ""
    elif how == "long":
        terms[-1] += "z" * 1000
    elif how == "number":
        terms[0] = 7
    elif how == "fewer":
        terms.pop()
    elif how == "none":
        terms.clear()
    elif how in ("nan", "negative", "huge"):
        idf[0] = {"nan": np.nan, "negative": -1.0, "huge": 1e300}[how]


@pytest.mark.parametrize(
    "how", ["unsorted", "twice", "empty", "long", "number", "fewer", "none", "nan", "negative", "huge"]
)  # fmt: skip
def test_forged_vocabularies_are_refused(how, tmp_path):
    pipeline = fitted_pipeline("tfidf", pl.DataFrame({"c": documents()}))
    changed(pipeline[0].columns_[0]["terms"], pipeline[0].columns_[0]["idf"], how)
    with pytest.raises(ModelFileError, match=r"columns_\[0\]\.(terms|idf) must be"):
        usmo.files.save(pipeline, tmp_path / "m.usmo")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("terms", ["a", "a"], r"terms must be sorted words"),
        ("terms", ["a", "b"], r"terms must be sorted words"),
        ("terms", "ab", "terms must be of type list"),
        ("terms", [1.5], "terms must be sorted words"),
        ("method", "pickle", "method must be tfidf or hash"),
        ("method", "hash", "must have 65,536 idf"),
        ("kind", "vector", "must have the fields"),
        ("code", "x", "must have the fields"),
    ],
)
def test_a_forged_file_is_refused_when_it_is_read(tmp_path, field, value, message):
    pipeline = fitted_pipeline("tfidf", pl.DataFrame({"c": documents()}))
    manifest, entries = opened(saved(pipeline, tmp_path))
    schema = manifest["model"]["state"]["steps"][0]["tuple"][1]["state"]["columns_"][0]["dict"]
    schema[field] = value
    with pytest.raises(ModelFileError, match=message):
        usmo.load(written(tmp_path / "x", manifest, entries))


def test_text_never_becomes_a_dense_matrix_and_a_matrix_has_no_text(tmp_path):
    pipeline = fitted_pipeline("tfidf", pl.DataFrame({"c": documents()}))
    pipeline[0].sparse_output_ = False
    with pytest.raises(ModelFileError, match="sparse_output_ must be True"):
        saved(pipeline, tmp_path)
    with pytest.raises(TableError, match="X is a matrix"):
        TableEncoder(text_columns=["x0"]).fit(np.eye(3))


def test_a_hashed_column_has_a_fixed_width_and_no_vocabulary():
    encoder = TableEncoder(text="hash").fit(pl.DataFrame({"c": documents()}))
    assert encoder.columns_[0]["terms"] == []
    Z = encoder.transform(pl.DataFrame({"c": ["software defect", "quagga"]}))
    assert Z.shape == (2, HASHED_TERMS)
    assert Z.nnz == 4


def test_a_pipeline_learns_from_text():
    table = pl.DataFrame(MIXED)
    y = np.array([i % 2 == 0 and i < 30 for i in range(60)], dtype=int)
    f = (
        Pipeline([("columns", TableEncoder()), ("model", LinearPUSVC(0.3, lam=0.01))])
        .fit(table, y)
        .decision_function(table)
    )
    assert f[30::2].min() > f[31::2].max()
