"""One line over all stages of a command: which one runs, how long it has taken, and about how long is left."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from usmo.cli.messages import Messages
from usmo.system import stages
from usmo.system.work import LONG, Work, in_words, watching

READ, RANK, REPORT = "reading the table", "ranking", "writing the report"

_SHARES = {
    READ: 0.1,
    stages.PRIOR: 0.25,
    stages.PROPENSITY: 0.3,
    stages.LAMBDA: 0.35,
    stages.FIT: 0.1,
    RANK: 0.03,
    REPORT: 0.6,
}
"""Parts of the time of a run, about (``python -m benchmarks.rank``); only their ratios count."""


class RunProgress:
    """Stages of one command. A terminal shows them in one line, which is gone at the end; a file gets a line each."""

    def __init__(self, messages: Messages, planned: list[str]) -> None:
        self._messages, self._planned = messages, planned
        self._began = time.monotonic()

    @classmethod
    def of(
        cls, messages: Messages, *, prior: bool, lam: bool, report: bool, propensity: bool = False
    ) -> RunProgress:
        """The progress of a fit that estimates the prior and the propensity, chooses λ and writes a report, or not."""
        wanted = {stages.PRIOR: prior, stages.PROPENSITY: propensity, stages.LAMBDA: lam, REPORT: report}
        return cls(messages, [stage for stage in _SHARES if wanted.get(stage, True)])

    def begin(self, stage: str) -> None:
        """Show that a stage begins."""
        if self._messages.live:
            self._messages.show_line(self.text(stage))
        elif stage not in (READ, RANK):  # soon over
            self._messages.say(stage)

    def text(self, stage: str) -> str:
        """The line of a stage."""
        at = self._planned.index(stage) if stage in self._planned else 0
        elapsed = time.monotonic() - self._began
        weights = [_SHARES[each] for each in self._planned]
        done = sum(weights[:at]) / sum(weights)
        rest = f", about {elapsed * (1.0 - done) / done:.0f} s left" if done > 0 and elapsed > 1 else ""
        return f"usmo: {at + 1} of {len(self._planned)}: {stage} ({elapsed:.0f} s{rest})"

    @contextlib.contextmanager
    def fitting(self) -> Iterator[None]:
        """A block in which the stages of a fit are shown, and how far a long fit is."""
        with stages.listening(self.begin), watching(self.advance):
            yield

    def advance(self, work: Work) -> None:
        """Show how far a long fit is: at its beginning, and on a terminal at every step."""
        if work.seconds < LONG:
            return
        if work.done == 0.0:
            self._messages.say(f"this fit takes about {in_words(work.seconds)}")
        elif self._messages.live:
            left = in_words(work.left)
            self._messages.show_line(f"usmo: {stages.FIT}: {100 * work.share:.0f} %, about {left} left")
