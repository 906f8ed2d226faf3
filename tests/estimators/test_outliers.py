"""PUOutlierDetector: scikit-learn's conventions, and what known inliers and background rows bring."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from usmo import PUSVC, LinearPUSVC, PUOutlierDetector, load


@parametrize_with_checks([PUOutlierDetector(), PUOutlierDetector(background=0.0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def table(seed=0, inliers=300, outliers=30, known=40):
    """Inliers on a ring, outliers in its middle: nearer to the mean than any inlier."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, inliers)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * 3 + rng.normal(scale=0.2, size=(inliers, 2))
    X = np.r_[ring, rng.normal(scale=0.4, size=(outliers, 2))]
    y = (np.arange(len(X)) < known).astype(int)
    return X, y, np.r_[np.ones(inliers), np.zeros(outliers)]


def test_outliers_in_the_middle_of_the_inliers_are_found():
    X, y, truth = table()
    detector = PUOutlierDetector(contamination=30 / 290).fit(X, y)
    assert roc_auc_score(truth[y == 0], detector.score_samples(X[y == 0])) > 0.99
    assert (detector.predict(X)[truth == 0] == -1).mean() > 0.9
    assert detector.classifier_.certificate_.relative_gap < 1e-3


@pytest.mark.parametrize("contamination", [0.1, 0.2, 0.5])
def test_the_share_of_outliers_among_the_unlabelled_rows_is_the_contamination(contamination):
    X, y, _ = table()
    detector = PUOutlierDetector(contamination=contamination).fit(X, y)
    count = np.count_nonzero(detector.predict(X[y == 0]) == -1)
    assert count == round(contamination * np.count_nonzero(y == 0))
    assert detector.contamination_ == pytest.approx(contamination)


def test_contamination_is_estimated():
    X, y, truth = table(known=150)
    detector = PUOutlierDetector().fit(X, y)
    assert abs(detector.contamination_ - np.mean(truth[y == 0] == 0)) < 0.12


def test_decision_is_the_score_minus_the_offset():
    X, y, _ = table()
    detector = PUOutlierDetector(contamination=0.1).fit(X, y)
    np.testing.assert_allclose(detector.decision_function(X), detector.score_samples(X) - detector.offset_)
    np.testing.assert_array_equal(detector.fit_predict(X, y), detector.predict(X))


def test_background_finds_outliers_that_no_unlabelled_row_resembles():
    X, y, _ = table(outliers=0)
    far = np.array([[0.0, 0.0]])
    with_background, without = (
        PUOutlierDetector(contamination=0.05, background=share).fit(X, y) for share in (0.85, 0.0)
    )
    ranks = [
        np.mean(detector.score_samples(X) < detector.score_samples(far)) for detector in (with_background, without)
    ]
    assert ranks[0] < 0.02
    assert ranks[1] > ranks[0]


def test_known_outliers_lower_the_scores_of_rows_like_them():
    X, y, truth = table()
    marked = y.copy()
    marked[np.flatnonzero(truth == 0)[:10]] = -1
    rest = np.flatnonzero(truth == 0)[10:]
    scores = [
        PUOutlierDetector(contamination=0.05).fit(X, labels).decision_function(X[rest]) for labels in (y, marked)
    ]
    assert scores[1].mean() < scores[0].mean()


def test_sparse_tables_and_linear_models_work_without_background():
    X, y, _ = table()
    dense, csr = (
        PUOutlierDetector(contamination=0.1, background=0.0).fit(Z, y).score_samples(Z)
        for Z in (X, sparse.csr_array(X))
    )
    np.testing.assert_allclose(dense, csr, atol=1e-2)
    assert PUOutlierDetector(LinearPUSVC(), contamination=0.1, background=0.0).fit(X[:, :1] ** 2, y).offset_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": PUSVC(kernel="linear")}, r"background must be 0 with kernel='linear', got 0.85"),
        ({"estimator": LinearPUSVC()}, "background must be 0 with kernel='linear'"),
        ({"contamination": 0.6}, "'contamination' parameter of PUOutlierDetector must be"),
        ({"background": 1.0}, "'background' parameter of PUOutlierDetector must be"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y, _ = table()
    with pytest.raises(ValueError, match=message):
        PUOutlierDetector(**parameters).fit(X, y)


def test_one_known_inlier_does_not_say_what_share_is_outlying():
    X, y, _ = table()
    single = (np.arange(len(y)) == np.flatnonzero(y)[0]).astype(int)
    message = rf"contamination='estimate' needs .* got 1 and {len(y) - 1}; give contamination as a number"
    with pytest.raises(ValueError, match=message):
        PUOutlierDetector().fit(X, single)
    assert PUOutlierDetector(contamination=0.1).fit(X, single).contamination_ == pytest.approx(0.1)


def test_a_saved_detector_gives_the_same_scores(tmp_path):
    X, y, _ = table()
    detector = PUOutlierDetector(contamination=0.1).fit(X, y)
    detector.save(tmp_path / "detector.usmo")
    np.testing.assert_array_equal(load(tmp_path / "detector.usmo").predict(X), detector.predict(X))
