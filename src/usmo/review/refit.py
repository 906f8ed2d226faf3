"""Refits in the background: a thread that fits as soon as there are decisions the ranking does not know."""

from __future__ import annotations

import threading
from types import TracebackType

from usmo.review.loop import Review


class BackgroundRefit:
    """Keep the ranking of a review fresh from a thread of its own; ``with BackgroundRefit(review): ...``

    While it runs, ``review.next`` never waits for a fit. A fit that fails leaves the last ranking in use, and
    ``review.trouble`` says why; the next decision starts another one. Fits start from the last solution.

    Parameters
    ----------
    review : Review
        The review to keep fresh.
    poll_seconds : float, default=1.0
        How often the store is asked for decisions of other processes.
    """

    def __init__(self, review: Review, *, poll_seconds: float = 1.0) -> None:
        self.review = review
        self.poll_seconds = poll_seconds
        self.running = False
        """Whether a fit runs just now."""
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._idle = threading.Condition()
        self._thread: threading.Thread | None = None

    def start(self) -> BackgroundRefit:
        """Make the first ranking if there is none, and start the thread."""
        if self.review.model is None:
            self.review.refit()
        self.review.background = True
        self._ended.clear()
        self._thread = threading.Thread(target=self._work, name="usmo-refit", daemon=True)
        self._thread.start()
        return self

    def stop(self, timeout: float | None = None) -> None:
        """End the thread after the fit that runs, or after ``timeout`` seconds without waiting further."""
        self._ended.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout)
        self.review.background = False

    def poke(self) -> None:
        """Say that there are new decisions; without it they are noticed within ``poll_seconds``."""
        self._wake.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the ranking knows all decisions, or could not be made; returns whether it does."""
        self.poke()
        with self._idle:
            return self._idle.wait_for(lambda: not self._due() and not self.running, timeout)

    def _due(self) -> bool:
        return self.review.stale and self._tried != self.review.decisions.seen

    _tried = -1

    def _work(self) -> None:
        while not self._ended.is_set():
            self._wake.wait(self.poll_seconds)
            self._wake.clear()
            while not self._ended.is_set() and self._due():
                self.running = True
                self._tried = self.review.decisions.seen
                try:
                    self.review.refit()
                except Exception as error:  # no ranking to keep: say so, and try again with the next decision
                    self.review.trouble = f"no ranking could be made: {' '.join(str(error).split())}"
                finally:
                    with self._idle:
                        self.running = False
                        self._idle.notify_all()
            with self._idle:
                self._idle.notify_all()

    def __enter__(self) -> BackgroundRefit:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
