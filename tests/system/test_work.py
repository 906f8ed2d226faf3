"""Work that says how long it takes and how far it is."""

import pytest

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
