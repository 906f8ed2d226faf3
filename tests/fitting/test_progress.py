"""Progress on stderr, and the work a long fit says it expects."""

import io

import numpy as np
import pytest

from tests.oracles import random_table
from usmo import PUSVC
from usmo.fitting import kernel
from usmo.fitting.estimate import expected_work
from usmo.fitting.progress import printed
from usmo.system.work import watching


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self):
        return True


def test_live_line_on_a_terminal(monkeypatch):
    X, y = random_table(0, n=400, p=30)
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    model = PUSVC(0.4, lam=1e-4, verbose=1).fit(X, y)
    shown = screen.getvalue().split("\r")[1:]
    assert len(shown) == len(model.history_)
    assert shown[-1].startswith("usmo [####################] violation")
    assert shown[-1].endswith("\n")
    assert shown[0].startswith("usmo [                    ]")


def test_verbose_0_prints_nothing():
    assert printed(0, 1e-3) is None


def test_verbose_2_prints_a_line_per_pass_and_verbose_1_nothing_without_a_terminal(capsys):
    X, y = random_table(0, n=150, p=30, d=4)
    model = PUSVC(0.4, verbose=2).fit(X, y)
    output = capsys.readouterr()
    assert output.out == ""
    assert len(output.err.strip().splitlines()) == len(model.history_)
    PUSVC(0.4, verbose=1).fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_expected_work_grows_with_the_square_of_the_rows():
    X = np.random.default_rng(0).normal(size=(3000, 4))
    one, two = expected_work(X, 100_000), expected_work(X, 200_000)
    assert one is not None
    assert two is not None
    assert two.amount == pytest.approx(4 * one.amount)
    assert one.seconds > 0


def test_fit_reports_its_work_as_it_goes(monkeypatch):
    monkeypatch.setattr(kernel, "_LONG", 5000)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9000, 6)), (np.arange(9000) < 100).astype(int)
    shares = []
    with watching(lambda w: shares.append(w.share)):
        PUSVC(0.4, lam=1e-4, gamma=0.5).fit(X, y)
    assert shares[0] == 0.0
    assert (np.diff(shares) >= 0).all()
    assert shares[-1] > 0.2  # cached kernel rows are not reported
