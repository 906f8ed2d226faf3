"""Collections on a Dask cluster: Parquet files, weights, labels, blocks of the user, and how often rows are read."""

from uuid import uuid4

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import usmo
from tests.dask.clusters import assert_equal_models, lazy, random_rows
from usmo.dask import PUSVC, LinearPUSVC
from usmo.dask.cluster import payload
from usmo.dask.collections import as_rows
from usmo.kernels.kernel import Kernel
from usmo.kernels.maps import NystroemMap


def test_labels_and_rows_of_one_parquet_table(client, tmp_path):
    """Dask alone would read the narrow label column in fewer parts than the rows."""
    X, y = random_rows()
    table = pd.DataFrame(X, columns=list("abcde")).assign(known=y)
    for k in range(6):
        table[225 * k : 225 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet")
    collection = dd.read_parquet(tmp_path)
    model = LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(collection.drop(columns="known"), collection["known"])
    plain = usmo.LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(table.drop(columns="known"), y)
    assert_equal_models(model, plain, table.drop(columns="known"))


@pytest.mark.parametrize("name", ["LinearPUSVC", "PUSVC"])
def test_rows_of_weight_zero_are_in_no_sample(client, name):
    X, y = random_rows(n=400, p=60)
    chunks = (100, 160, 200)
    weight = np.random.default_rng(0).integers(0, 2, len(y)).astype(float)
    plain = getattr(usmo, name)(tol=1e-5).fit(X, y, weight)
    model = getattr(usmo.dask, name)(tol=1e-5).fit(lazy(X, chunks), lazy(y, chunks), weight)
    assert model.prior_ == pytest.approx(plain.prior_, abs=1e-9)
    assert_equal_models(model, plain, X, atol=1e-3)


def test_rows_are_read_once_also_with_labels_of_this_process(client, tmp_path):
    X, y = random_rows(n=400, p=60)

    def read(k, folder):
        (folder / f"{k}-{uuid4()}").touch()
        return X[115 * k : 115 * (k + 1)]

    for size in (115, np.nan):
        folder = tmp_path / str(size)
        folder.mkdir()
        parts = [dask.delayed(read)(k, folder) for k in range(4)]
        table = [da.from_delayed(part, (size, 5), float) for part in parts]
        LinearPUSVC(0.3).fit(da.concatenate(table, allow_unknown_chunksizes=True), y)
        assert sorted(path.name[0] for path in folder.iterdir()) == ["0", "1", "2", "3"]


def test_chunks_of_the_user_are_not_changed():
    chunk = sparse.csr_matrix((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 3))
    chunk.data.flags.writeable = chunk.indices.flags.writeable = False
    rows = as_rows(chunk, 3, "x")
    assert (chunk.nnz, rows.nnz) == (3, 2)
    np.testing.assert_array_equal(rows.toarray(), [[0, 2, 0], [1, 0, 0]])


def test_size_of_a_map_counts_when_arguments_are_sent():
    mapped = NystroemMap(Kernel("rbf"), np.random.default_rng(0).normal(size=(100, 5)))
    assert payload([mapped, None, "text", random_rows]) >= mapped.inverse.nbytes


def test_text_labels_warn_and_missing_ones_are_unlabelled(client):
    X, y = random_rows()
    text = np.where(y, "b", "a").astype(object)
    with pytest.warns(UserWarning, match=r"y holds text: .*'b'.* counts as labelled positive"):
        LinearPUSVC(0.3).fit(lazy(X), lazy(text))
    expected = LinearPUSVC(0.3).fit(lazy(X), lazy(y)).coef_
    words = np.where(y, "positive", "unlabeled").astype(object)
    np.testing.assert_allclose(LinearPUSVC(0.3).fit(lazy(X), lazy(words)).coef_, expected, rtol=1e-10)
    for missing in (None, np.nan, pd.NA):
        some = np.where(y == 1, "yes", None).astype(object)
        some[y == 0] = missing
        model = LinearPUSVC(0.3).fit(lazy(X), lazy(some))
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-10)
        assert model.classes_.tolist() == ["not yes", "yes"]
    predicted = (
        LinearPUSVC(0.3)
        .fit(lazy(X), lazy(y.astype(float)))
        .predict(dd.from_pandas(pd.DataFrame(X), npartitions=2))
    )
    assert predicted.name == "class"


def test_weights_count_in_the_share_of_labelled_rows_and_of_negatives(client):
    X, y = random_rows()
    light = np.where(y == 1, 0.1, 1.0)
    share = float(light[y == 1].sum() / light.sum())
    prior = 0.5 * (share + y.mean())
    options = {"scenario": "censored", "lam": 1e-2}
    model = LinearPUSVC(prior, **options).fit(lazy(X), lazy(y), light)
    assert_equal_models(model, usmo.LinearPUSVC(prior, **options).fit(X, y, light), X)
    with pytest.raises(ValueError, match="prior must be at least"):
        LinearPUSVC(prior, **options).fit(lazy(X), lazy(y))
    kinds, heavy = y.astype(int), np.ones(len(y))
    kinds[-40:] = -1
    heavy[-40:] = 3.0
    model = LinearPUSVC(0.3, lam=1e-2).fit(lazy(X), lazy(kinds), heavy)
    assert model.eta_ == pytest.approx(usmo.LinearPUSVC(0.3, lam=1e-2).fit(X, kinds, heavy).eta_)


@pytest.mark.parametrize("case", ["numbers of rows", "a scale", "a large scale"])
def test_weights_stand_for_the_same_as_on_one_machine(client, case):
    """Also where the weights of one kind of row, or of one partition, are integers and the others are not."""
    X, y = random_rows()
    weight = np.where(y == 1, 2.0, 9.0)
    if case != "numbers of rows":
        weight[y == 0] = np.random.default_rng(0).random(np.count_nonzero(y == 0)) + 0.5
    if case == "a large scale":
        weight *= 1e307
    model = LinearPUSVC(0.3, lam=1e-2).fit(lazy(X), lazy(y), weight)
    plain = usmo.LinearPUSVC(0.3, lam=1e-2).fit(X, y, weight)
    assert_equal_models(model, plain, X)
    for name in ("n_labelled", "n_unlabelled"):
        assert getattr(model.reference_, name) == pytest.approx(getattr(plain.reference_, name))
    model, plain = (own(0.3, lam=1e-2) for own in (PUSVC, usmo.PUSVC))
    assert_equal_models(model.fit(lazy(X), lazy(y), weight), plain.fit(X, y, weight), X, atol=1e-3)
    assert model.reference_.n_labelled == pytest.approx(plain.reference_.n_labelled)
