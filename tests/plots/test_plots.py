"""The displays: the numbers they hold, and that what is drawn are these numbers."""

import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.integrate import trapezoid
from scipy.stats import gaussian_kde, spearmanr
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.oracles import shuffled_table
from usmo import PUSVC, LinearPUSVC, path
from usmo.fitting.select import Selection
from usmo.metrics import pu_f1
from usmo.plots import (
    BoundaryDisplay,
    ConvergenceDisplay,
    PathDisplay,
    PriorDisplay,
    ScoreDisplay,
    SensitivityDisplay,
)
from usmo.priors import BestBin

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

MISSING = r'pip install "usmo-learn\[plot\]"'


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def table():
    return shuffled_table(0, n=200, p=50, d=2)


@pytest.fixture(scope="module")
def model(table):
    return PUSVC(0.4, lam=0.01).fit(*table)


@pytest.fixture(scope="module")
def estimated(table):
    return make_pipeline(StandardScaler(), PUSVC(lam=0.01)).fit(*table)


def labels_of(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def drawn_without_warnings(display):
    """Lay the figure out as saving would; a layout that finds no room, or a missing glyph, warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.figure_.canvas.draw()
    return display


def test_densities_integrate_to_one_and_are_those_of_the_kernel_estimate(table, model):
    X, y = table
    f = model.decision_function(X)
    display = ScoreDisplay.from_estimator(model, X, y)
    for density in (display.density_positive, display.density_unlabelled):
        assert trapezoid(density, display.grid) == pytest.approx(1.0, abs=1e-6)
    smooth = 0.9 * min(f[y == 1].std(), f[y == 0].std()) * 50**-0.2
    oracle = gaussian_kde(f[y == 0], bw_method=smooth / f[y == 0].std(ddof=1))(display.grid)
    np.testing.assert_allclose(display.density_unlabelled, oracle, atol=2e-3 * oracle.max())


def test_scores_are_drawn_with_the_positives_at_their_share(table, model):
    X, y = table
    display = drawn_without_warnings(ScoreDisplay.from_estimator(model, X, y))
    unlabelled, positives = (fill.get_paths()[0].vertices[:, 1].max() for fill in display.ax_.collections)
    assert unlabelled == pytest.approx(display.density_unlabelled.max())
    assert positives == pytest.approx(0.4 * display.density_positive.max())
    rug, threshold = display.ax_.lines
    np.testing.assert_array_equal(rug.get_xdata(), model.decision_function(X)[y == 1])
    assert list(threshold.get_xdata()) == [0.0, 0.0]
    assert any("0.4" in label for label in labels_of(display.ax_))


def test_scores_from_an_estimator_are_those_from_its_predictions(table):
    X, y = table
    censored = make_pipeline(StandardScaler(), PUSVC(0.4, lam=0.01, scenario="censored")).fit(X, y)
    a = ScoreDisplay.from_estimator(censored, X, y)
    b = ScoreDisplay.from_predictions(y, censored.decision_function(X), prior=0.4, scenario="censored")
    np.testing.assert_array_equal(a.density_unlabelled, b.density_unlabelled)
    plain = ScoreDisplay.from_predictions(y, censored.decision_function(X), prior=0.4, threshold=0.3)
    assert not np.allclose(plain.density_unlabelled, b.density_unlabelled)
    assert plain.ax_.lines[1].get_xdata()[0] == 0.3


def test_densities_count_weights_as_rows(table, model):
    X, y = table
    f, weight = model.decision_function(X), np.random.default_rng(0).integers(0, 3, size=len(y))
    a = ScoreDisplay.from_predictions(y, f, prior=0.4, sample_weight=weight)
    b = ScoreDisplay.from_predictions(np.repeat(y, weight), np.repeat(f, weight), prior=0.4)
    np.testing.assert_allclose(a.grid, b.grid)
    np.testing.assert_allclose(a.density_positive, b.density_positive, atol=1e-9)
    np.testing.assert_allclose(a.density_unlabelled, b.density_unlabelled, atol=1e-9)


@pytest.mark.parametrize("f", [[1.0, 1.0, 1.0], [2.0, 0.0, 0.0], [0.0, -1.0, 1e6]])
def test_scores_that_do_not_vary_or_vary_wildly_have_a_density(f):
    display = drawn_without_warnings(ScoreDisplay.from_predictions([1, 0, 0], f, prior=0.3))
    assert trapezoid(display.density_unlabelled, display.grid) == pytest.approx(1.0, abs=1e-3)
    with pytest.raises(ValueError, match=r"prior must lie in \(0, 1\), got 3"):
        ScoreDisplay.from_predictions([1, 0, 0], f, prior=3)


@pytest.mark.parametrize("solver", ["blocks", "usmo"])
def test_convergence_shows_the_history_against_time_and_kernel_rows(table, solver):
    model = PUSVC(0.4, lam=1e-3, solver=solver).fit(*table)
    display = drawn_without_warnings(ConvergenceDisplay.from_estimator(model))
    history = model.history_
    assert len(history) > 2
    np.testing.assert_array_equal(display.violation, [record.violation for record in history])
    assert display.objective_gap[-1] == 0.0
    assert display.objective_gap[0] > 0.0
    for axis, name, label in zip(display.ax_, ("seconds", "kernel_rows"), ("seconds", "kernel rows"), strict=True):
        violation, gap, tol = axis.lines
        np.testing.assert_array_equal(violation.get_xdata(), [getattr(record, name) for record in history])
        np.testing.assert_array_equal(violation.get_ydata(), display.violation)
        positive = display.objective_gap > 0
        np.testing.assert_array_equal(gap.get_ydata()[positive], display.objective_gap[positive])
        assert np.isnan(gap.get_ydata()[~positive]).all()
        assert tol.get_ydata()[0] == model.tol
        assert axis.get_xlabel() == label
        assert axis.get_yscale() == "log"


def test_convergence_of_a_linear_model_is_shown_against_its_iterations(table):
    model = LinearPUSVC(0.4).fit(*table)
    display = drawn_without_warnings(ConvergenceDisplay.from_estimator(make_pipeline(model)))
    assert display.ax_[1].get_xlabel() == "iterations"
    assert display.work[-1] == model.n_iter_


def test_convergence_needs_a_history(table):
    with pytest.raises(NotFittedError, match="PUSVC has no history_"):
        ConvergenceDisplay.from_estimator(PUSVC(0.4))
    with pytest.raises(ValueError, match="at least one pass"):
        ConvergenceDisplay(())


LAMS = np.array([1e-4, 1e-3, 1e-2, 1e-1, 1.0])
RISK = np.array([0.30, 0.20, 0.22, 0.26, 0.40])
ERROR = np.array([0.03, 0.03, 0.02, 0.02, 0.02])


def marked(display):
    """Abscissae of the marks: chosen, lowest, one standard error, by the legend."""
    names = {line.get_label().split(",")[0]: line.get_xdata()[0] for line in display.ax_.lines}
    return names["chosen"], names["lowest risk"], names["within one standard error"]


def test_path_marks_the_lowest_risk_the_choice_and_the_one_standard_error_rule():
    display = drawn_without_warnings(PathDisplay.from_predictions(LAMS, RISK, ERROR))
    assert (display.chosen, display.best, display.one_se) == (1e-3, 1e-3, 1e-2)
    assert marked(display) == (1e-3, 1e-3, 1e-2)
    band = display.ax_.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(0.42)
    assert band[:, 1].min() == pytest.approx(0.17)
    other = PathDisplay.from_predictions(LAMS[::-1], RISK[::-1], ERROR[::-1], chosen=0.1)
    assert marked(other) == (0.1, 1e-3, 1e-2)
    np.testing.assert_array_equal(other.ax_.lines[0].get_xdata(), LAMS)


def selection(lam, gamma):
    chosen = Selection(
        lams=LAMS, gammas=np.array([0.1, 1.0, 10.0]), mean=np.stack([RISK + 0.1, RISK + 0.05, RISK]),
        error=np.tile(ERROR, (3, 1)), lam=lam, gamma=gamma, best_lam=1e-3, rows=np.empty(0, np.intp),
        held_out=np.empty(0),
    )  # fmt: skip
    return SimpleNamespace(selection_=chosen)


def test_path_of_a_selection_has_a_line_per_gamma_with_the_chosen_one_marked():
    display = drawn_without_warnings(PathDisplay.from_estimator(selection(1e-2, 1.0)))
    assert display.chosen_gamma == 1.0
    assert marked(display) == (1e-2, 1e-3, 1e-2)
    curves = [line for line in display.ax_.lines if len(line.get_xdata()) == 5]
    assert len(curves) == 3
    thickest = max(curves, key=lambda line: line.get_linewidth())
    np.testing.assert_allclose(thickest.get_ydata(), RISK + 0.05)
    assert {text.get_text() for text in display.ax_.texts} == {"γ = 0.1", "γ = 10"}


def test_path_of_a_cross_validated_fit_is_that_of_its_selection():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(1.0, 1.0, (20, 2)), rng.normal(0.0, 1.0, (60, 2))])
    model = PUSVC(0.4, lam="cv").fit(X, np.arange(80) < 20)
    display = drawn_without_warnings(PathDisplay.from_estimator(model))
    assert display.chosen == model.lam_
    np.testing.assert_allclose(np.sort(display.mean), np.sort(model.selection_.mean[0]))


def test_path_without_gamma_may_say_so_by_nan():
    display = PathDisplay.from_predictions(LAMS, RISK, ERROR, gammas=np.full(5, np.nan), chosen_gamma=np.nan)
    assert display.chosen_gamma is None
    assert marked(display) == (1e-3, 1e-3, 1e-2)


def test_path_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="of one length"):
        PathDisplay.from_predictions(LAMS, RISK[:3], ERROR)
    with pytest.raises(ValueError, match=r"chosen must be one of the lams, got 0\.5"):
        PathDisplay.from_predictions(LAMS, RISK, ERROR, chosen=0.5)
    with pytest.raises(ValueError, match="chosen_gamma must be one of"):
        PathDisplay.from_estimator(selection(1e-2, 3.0))
    with pytest.raises(NotFittedError, match="selection_"):
        PathDisplay.from_estimator(SimpleNamespace())


def test_priors_are_drawn_with_their_intervals_and_the_true_value(model):
    estimate = SimpleNamespace(prior_=0.35, interval_=(0.3, 0.45))
    display = PriorDisplay.from_estimator({"best bin": estimate, "given": model}, true=0.4)
    drawn_without_warnings(display)
    assert display.names == ["best bin", "given"]
    assert display.intervals == [estimate.interval_, None]
    first, second = display.ax_.containers
    assert first.lines[0].get_xdata()[0] == estimate.prior_
    np.testing.assert_allclose(first.lines[2][0].get_segments()[0][:, 0], estimate.interval_)
    assert second.lines[0].get_xdata()[0] == 0.4
    assert labels_of(display.ax_) == ["true: 0.400"]
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["best bin", "given"]
    assert display.ax_.get_xlim()[1] >= estimate.interval_[1]


def test_one_prior_is_named_after_its_class_and_drawn_as_its_numbers(estimated):
    fitted, one = estimated[-1], PriorDisplay.from_estimator(estimated)
    assert (one.names, one.intervals) == (["PUSVC"], [fitted.prior_interval_])
    same = PriorDisplay.from_predictions(["PUSVC"], [fitted.prior_], [fitted.prior_interval_])
    assert same.ax_.get_xlim() == one.ax_.get_xlim()
    with pytest.raises(NotFittedError, match="prior_"):
        PriorDisplay.from_estimator(BestBin())
    with pytest.raises(ValueError, match="of one length"):
        PriorDisplay(["a"], [0.1, 0.2])


def test_sensitivity_holds_what_fits_with_other_priors_give(table, model):
    X, y = table
    priors = [0.5, 0.2, 0.4]
    display = drawn_without_warnings(SensitivityDisplay.from_estimator(model, X, y, priors=priors, top=30))
    np.testing.assert_array_equal(display.priors, [0.2, 0.4, 0.5])
    base, rows = model.decision_function(X), y == 0
    highest = set(np.argsort(-base[rows])[:30])
    for k, fit in enumerate(path(model, X, y, lams=[0.01], priors=[0.2, 0.4, 0.5])):
        f = fit.decision_function(X)
        assert display.positives[k] == (f[rows] > 0).sum()
        assert display.f1[k] == pytest.approx(pu_f1(y, f, prior=display.priors[k]))
        assert display.spearman[k] == pytest.approx(spearmanr(f[rows], base[rows]).statistic)
        assert display.overlap[k] == len(highest & set(np.argsort(-f[rows])[:30])) / 30
    assert display.overlap[1] == 1.0
    assert display.positives[0] < display.positives[2]
    np.testing.assert_array_equal(display.ax_[0].lines[0].get_ydata(), display.positives)
    np.testing.assert_array_equal(display.ax_[1].lines[0].get_ydata(), display.f1)
    assert "same among the top 30" in labels_of(display.ax_[2])


def test_sensitivity_goes_over_the_interval_of_the_estimate(table, estimated):
    display = SensitivityDisplay.from_estimator(estimated, *table)
    low, high = estimated[-1].prior_interval_
    assert len(display.priors) == 9
    assert display.priors[0] == pytest.approx(low)
    assert display.priors[-1] == pytest.approx(min(high, 0.999))
    assert estimated[-1].prior_ in display.priors
    assert display.top == round(estimated[-1].prior_ * 200)
    assert estimated[-1].prior == "estimate"


def test_sensitivity_of_a_censored_sample_compares_the_positives_left_among_its_unlabelled_rows(table):
    """π = 0.5 of 250 rows are 125 positives, of which 50 are labelled."""
    X, y = table
    censored = PUSVC(0.5, lam=0.01, scenario="censored").fit(X, y)
    display = SensitivityDisplay.from_estimator(censored, X, y, priors=[0.3, 0.5])
    assert display.top == 75
    low, own = (fit.decision_function(X)[y == 0] for fit in path(censored, X, y, lams=[0.01], priors=[0.3, 0.5]))
    first = set(np.argsort(-own)[:75])
    np.testing.assert_array_equal(display.overlap, [len(first & set(np.argsort(-low)[:75])) / 75, 1.0])
    with pytest.raises(ValueError, match="top must lie between 1 and the 200"):
        SensitivityDisplay.from_estimator(censored, X, y, top=201)


def test_sensitivity_of_a_given_prior_goes_from_half_to_one_and_a_half(table, model):
    display = SensitivityDisplay.from_estimator(model, *table)
    np.testing.assert_allclose(display.priors, np.linspace(0.2, 0.6, 9))
    assert display.interval is None
    with pytest.raises(ValueError, match="top must lie between 1 and the 200"):
        SensitivityDisplay.from_estimator(model, *table, top=201)
    with pytest.raises(ValueError, match=r"prior must lie in \(0, 1\), got 1\.5"):
        SensitivityDisplay.from_estimator(model, *table, priors=[0.3, 1.5])


def test_boundary_shows_f_its_three_lines_and_the_rows(table, model):
    X, y = table
    display = drawn_without_warnings(BoundaryDisplay.from_estimator(model, X, y, resolution=20))
    corner = [[display.x0[3, 5], display.x1[3, 5]]]
    assert display.response[3, 5] == pytest.approx(model.decision_function(corner)[0])
    assert display.x0.min() < X[:, 0].min()
    lines = next(c for c in display.ax_.collections if list(getattr(c, "levels", [])) == [-1.0, 0.0, 1.0])
    assert lines.get_linewidths()[1] > lines.get_linewidths()[0]
    points = {c.get_label(): c.get_offsets() for c in display.ax_.collections if len(c.get_offsets()) > 1}
    np.testing.assert_array_equal(points["known positives"], X[y == 1])
    np.testing.assert_array_equal(points["unlabelled"], X[y == 0])


@pytest.mark.filterwarnings("error")
def test_boundary_takes_named_columns_and_sparse_rows(table):
    X, y = table
    frame = pd.DataFrame(X, columns=["height", "weight"])
    display = BoundaryDisplay.from_estimator(LinearPUSVC(0.4, tol=1e-8).fit(frame, y), frame, y, resolution=5)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("height", "weight")
    rows = sparse.csr_matrix(X)
    plain = BoundaryDisplay.from_estimator(LinearPUSVC(0.4, tol=1e-8).fit(rows, y), rows, y, resolution=5)
    np.testing.assert_allclose(plain.response, display.response, atol=1e-6)


def test_boundary_is_for_two_features(table):
    X, y = table
    wide = LinearPUSVC(0.4).fit(np.hstack([X, X]), y)
    with pytest.raises(ValueError, match="2 features, the model has 4"):
        BoundaryDisplay.from_estimator(wide, np.hstack([X, X]), y)


def test_displays_draw_on_axes_that_are_given(table, model):
    figure, axes = plt.subplots(1, 3)
    display = ScoreDisplay.from_estimator(model, *table, ax=axes[0], linewidth=3.0)
    assert display.ax_ is axes[0]
    assert display.figure_ is figure
    assert display.ax_.collections[0].get_linewidth()[0] == 3.0
    course = ConvergenceDisplay.from_estimator(model, ax=axes[1:], marker="x")
    assert list(course.ax_) == list(axes[1:])
    assert course.ax_[0].lines[0].get_marker() == "x"
    with pytest.raises(ValueError, match="ax must be 2 axes for ConvergenceDisplay, got 3"):
        ConvergenceDisplay.from_estimator(model, ax=axes)
    assert plt.get_fignums() == [figure.number]
    again = course.plot()
    assert again is course
    assert again.figure_ is not figure


@pytest.mark.parametrize(
    "draw",
    [
        lambda model, X, y: ScoreDisplay.from_estimator(model, X, y),
        lambda model, X, y: ConvergenceDisplay.from_estimator(model),
        lambda model, X, y: PathDisplay.from_predictions(LAMS, RISK, ERROR),
        lambda model, X, y: PriorDisplay.from_estimator(model),
        lambda model, X, y: SensitivityDisplay.from_estimator(model, X, y, priors=[0.4]),
        lambda model, X, y: BoundaryDisplay.from_estimator(model, X, y, resolution=5),
    ],
)
def test_missing_matplotlib_is_reported_with_the_extra_to_install(monkeypatch, table, model, draw):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=MISSING):
        draw(model, *table)


def test_importing_the_displays_does_not_load_matplotlib():
    code = "import sys, usmo.plots; print('matplotlib' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "False"
