"""Work that says how long it takes and how far it is."""

import numpy as np
import pytest

from usmo import PUSVC
from usmo.fitting import kernel
from usmo.fitting.estimate import expected_work
from usmo.system import work
from usmo.system.work import Work, advance, expecting, in_words, watching


def test_listener_hears_the_beginning_and_every_step():
    heard = []
    with watching(lambda w: heard.append(w.share)), expecting(Work(seconds=10.0, amount=4.0)):
        advance(1.0)
        advance(2.0)
        advance(5.0)
    advance(1.0)  # nobody expects it
    assert heard == [0.0, 0.25, 0.75, 1.0]


def test_time_left_is_the_estimate_at_first_and_follows_the_clock_later(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(work.time, "monotonic", lambda: clock[0])
    job = Work(seconds=100.0, amount=1.0, began=0.0)
    assert job.left == 100.0
    clock[0], job.done = 10.0, 0.1  # as expected
    assert job.left == pytest.approx(90.0)
    clock[0], job.done = 180.0, 0.9  # twice as slow: 20 s are left
    assert 15.0 < job.left < 21.0
    job.done = 1.0
    assert job.left == 0.0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 second"), (1.0, "1 second"), (40.4, "40 seconds"), (700, "12 minutes"), (3 * 3600, "3 hours")],
)
def test_durations_are_read_by_people(seconds, words):
    assert in_words(seconds) == words


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
