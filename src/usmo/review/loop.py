"""The loop of a review: propose rows, take decisions, refit, say what is left and whether one may stop."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from usmo.columns import TableEncoder
from usmo.core.arrays import Array
from usmo.io import write
from usmo.review.course import Course
from usmo.review.decisions import Decisions
from usmo.review.encoding import encoded
from usmo.review.expected import expected_among_open
from usmo.review.fingerprint import fingerprint
from usmo.review.inputs import checked_decisions, checked_ids, checked_labels, n_rows
from usmo.review.rankers import Ranker, choose_ranker
from usmo.review.results import decision_columns
from usmo.review.stopping import Rule, Verdict, make_rule, verdict_of
from usmo.review.store import AGAIN, Entry, Store
from usmo.review.strategies import Strategy, by_score, check_strategy, spread, uncertain_first
from usmo.review.what_is_left import Remaining, what_is_left
from usmo.system import caller

_AHEAD = 20
"""Rows sorted per row asked for: strategies pass some over."""

_HELD_SECONDS = 600.0
"""How long a row that was proposed to one person is not proposed to another."""


class Candidate(NamedTuple):
    """A row proposed for review: its number, how it was chosen, and its score."""

    row: int
    how: str
    score: float


@dataclass(frozen=True)
class Model:
    """The ranking in use: scores of all rows, made from the log up to the entry ``seen``.

    ``centre`` and ``spread`` are mean and standard deviation of the scores of open rows. ``coef`` are the weights of
    the columns of X if the model is linear in them.
    """

    version: int
    scores: Array
    seen: int
    expected: float | None
    start: Any = None
    centre: float = 0.0
    spread: float = 1.0
    coef: Array | None = None

    def standardised(self, rows: Any) -> Array:
        """The scores of rows in standard deviations of those of the rows that were open when the ranking was made."""
        return (self.scores[rows] - self.centre) / self.spread


class Review:
    """Review a table row by row, the likeliest positives first.

    Parameters
    ----------
    table : array, CSR matrix, data frame or Sheet
        Data frames, sheets and dense arrays are encoded by :class:`usmo.columns.TableEncoder`, a CSR matrix is used
        as it is.
    labels : array of shape (n_rows,)
        What is known at the start: 1 positive, 0 or missing unlabelled, -1 negative. One positive is needed.
    ids : sequence of str, optional
        Names of the rows for ``export``; numbers from 1 by default.
    encoder : TableEncoder, optional
        One that is not fitted, with options; or a fitted one.
    store : path or Store, optional
        The file of the decisions. A review that it holds is continued. By default they are kept in memory.
    strategy : {"likely", "mixed", "uncertain", "diverse"}, default="likely"
        Which rows come next (:mod:`usmo.review.strategies`).
    random_share : float, default=0.1
        The share of random rows of the strategy "mixed".
    rule : {"audit", "tail", "buscar", "qbcb", "irrelevant", "estimate"} or rule, default="audit"
        The stopping rule (:mod:`usmo.review.stopping`). With "audit" and "tail", random rows are proposed when the
        ranking finds no more positives; with "qbcb" the review begins with a random sample.
    recall, confidence : float, default=0.95
        The promise that the rule is to make, if it is given by its name; a rule object has its own. The interval of
        ``remaining`` has this confidence.
    ranker : Ranker, optional
        What makes the ranking from labels; chosen for the table by default (:mod:`usmo.review.rankers`).
    random_state : int, default=0
        Seed of the random rows. The one that a store holds takes precedence.

    All methods may be called from several threads. Rows are named by their numbers, from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from usmo.review import Review
    >>> rng = np.random.default_rng(0)
    >>> truth = np.arange(200) < 20
    >>> X = rng.normal(size=(200, 5)) + 2.0 * truth[:, None]
    >>> review = Review(X, np.where(np.arange(200) == 0, 1, 0))
    >>> for _ in range(3):
    ...     rows = review.next(10)
    ...     _ = review.tell(rows, np.where(truth[rows], 1, -1))
    >>> review.found > 15
    True
    """

    def __init__(
        self, table: Any, labels: Any, *, ids: Sequence[str] | None = None, encoder: TableEncoder | None = None,
        store: str | os.PathLike[str] | Store | None = None, strategy: Strategy = "likely", random_share: float = 0.1,
        rule: str | Rule = "audit", recall: float = 0.95, confidence: float = 0.95, ranker: Ranker | None = None,
        random_state: int = 0,
    ) -> None:  # fmt: skip
        check_strategy(strategy, random_share)
        self.rule = make_rule(rule, recall, confidence)
        self.recall, self.confidence = recall, confidence
        self.strategy, self.random_share = strategy, random_share
        known = checked_labels(labels, n_rows(table))
        self.ids = checked_ids(ids, len(known))
        self.encoder, self.X = encoded(table, encoder)
        self.ranker = choose_ranker(self.X) if ranker is None else ranker
        own = not isinstance(store, Store)
        self.store: Store = Store(store, fingerprint(table, known)) if own else store  # type: ignore[arg-type,assignment]
        self._lock = threading.RLock()
        self._seed = int(self.store.setting("seed", int(random_state)))
        order = np.random.default_rng([self._seed, 1]).permutation(len(known))
        self.decisions = Decisions(known, order)
        self._random = np.random.default_rng([self._seed, 2])
        self._held: dict[int, tuple[str, str, float]] = {}
        self._model: Model | None = None
        self.background = False
        """Whether something else calls ``refit``; then ``next`` uses the last ranking instead of waiting for one."""
        self.trouble: str | None = None
        """Why the last refit failed or ranks nothing; None if it went well."""
        self._synchronise()

    # what is known

    @property
    def n_rows(self) -> int:
        return len(self.decisions.known)

    @property
    def kinds(self) -> np.ndarray:
        """The present label of each row: 1, 0 or -1."""
        with self._lock:
            return self.decisions.kinds.copy()

    @property
    def found(self) -> int:
        """The positives found by the review, those known at the start or imported not counted."""
        return self.decisions.course(None).own.found

    @property
    def model(self) -> Model | None:
        """The ranking in use; None before the first fit."""
        return self._model

    @property
    def stale(self) -> bool:
        """Whether there are decisions that the ranking does not know."""
        self._synchronise()
        return self._model is None or self._model.seen < self.decisions.seen

    def _synchronise(self) -> None:
        """Take over decisions that other processes have written to the store."""
        with self._lock:
            if self.store.last != self.decisions.seen:
                self.decisions.replay(self.store.history())

    # the ranking

    def refit(self) -> bool:
        """Fit the model to the decisions so far. If that fails, the last ranking stays, and ``trouble`` says why.

        Returns whether there is a new ranking. An error is raised only if there is no ranking to keep.
        """
        with self._lock:
            self._synchronise()
            kinds, seen, before = self.decisions.for_training(), self.decisions.seen, self._model
        try:
            ranked = self.ranker.rank(self.X, kinds, None if before is None else before.start)
            if not np.isfinite(ranked.scores).all():
                raise FloatingPointError("the scores are not finite")
        except Exception as error:
            if before is None:
                raise
            self.trouble = f"the refit failed, the last ranking stays: {' '.join(str(error).split())}"
            caller.warn(self.trouble, topic="failed-refit")
            return False
        open_scores = ranked.scores[kinds == 0]
        flat = len(open_scores) > 1 and float(np.ptp(open_scores)) == 0.0
        self.trouble = "the columns tell no row from another: the order is that of the table" if flat else None
        centre, spread = (float(open_scores.mean()), float(open_scores.std())) if len(open_scores) else (0.0, 0.0)
        with self._lock:
            if self._model is None or seen >= self._model.seen:
                model = Model(1, ranked.scores, seen, None, ranked.start, centre, spread or 1.0, ranked.coef)
                expected = expected_among_open(
                    *self.decisions.scored(), model.standardised(np.flatnonzero(kinds == 0))
                )
                version = 1 if self._model is None else self._model.version + 1
                self._model = replace(model, version=version, expected=expected)
        return True

    def _current(self) -> Model:
        """The ranking to propose rows from."""
        if self._model is None or (not self.background and self.stale):
            self.refit()
        assert self._model is not None
        return self._model

    # proposals

    def next(self, k: int = 1, *, by: str = "") -> np.ndarray:
        """The numbers of the k rows to review next; fewer if fewer are left."""
        return np.array([candidate.row for candidate in self.candidates(k, by=by)], dtype=np.intp)

    def candidates(self, k: int = 1, *, by: str = "") -> list[Candidate]:
        """The k rows to review next, with how they were chosen.

        Rows proposed to another person in the last ten minutes are left out, and rows put off come last.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k!r}")
        model = self._current()
        with self._lock:
            self._synchronise()
            draws: str = getattr(self.rule, "draws", "")
            phase = self.stop().phase if draws else "rank"
            free = self._free(by)
            if phase == "audit":
                rows = self.decisions.next_audit_rows()
                chosen = [(int(row), draws) for row in rows[free[rows]][:k]]
            else:
                chosen = self._ranked(model, k, free)
            now = time.monotonic()
            for row, how in chosen:
                self._held[row] = (by, how, now)
            return [Candidate(row, how, float(model.scores[row])) for row, how in chosen]

    def _free(self, by: str) -> np.ndarray:
        """Which rows may be proposed to a person: without a label, not put off, and not before somebody else."""
        free = self.decisions.open
        put_off = self.decisions.put_off
        free[put_off] = False
        now = time.monotonic()
        for row, (who, _, since) in list(self._held.items()):
            if now - since > _HELD_SECONDS:
                del self._held[row]
            elif who != by:
                free[row] = False
        if not free.any() and put_off:
            free[put_off] = True
        return free

    def _ranked(self, model: Model, k: int, free: np.ndarray) -> list[tuple[int, str]]:
        """Rows by the strategy; control rows that come up are marked as such and passed over."""
        hidden = set(self.decisions.hidden_control)
        free[list(hidden)] = True
        rows = np.flatnonzero(free)
        if self.strategy == "uncertain":
            ordered = uncertain_first(model.scores, rows, self.decisions.for_training())
        else:
            ordered = by_score(model.scores, rows, _AHEAD * (k + len(hidden)))
        if self.strategy == "diverse" and len(ordered):
            ordered = spread(self.X, ordered, k)
        chosen: list[tuple[int, str]] = []
        met: list[int] = []
        taken: set[int] = set()
        for row in ordered.tolist():
            if len(chosen) == k:
                break
            if row in hidden:
                met.append(row)
            elif row not in taken:
                chosen.append((row, self.strategy if self.strategy != "mixed" else "likely"))
                taken.add(row)
                if self.strategy == "mixed" and len(chosen) < k and self._random.random() < self.random_share:
                    others = np.setdiff1d(rows, [*taken, *hidden])
                    if len(others):
                        chosen.append((int(self._random.choice(others)), "random"))
                        taken.add(chosen[-1][0])
        if met:
            labels = self.decisions.kinds[met].tolist()
            self.decisions.apply(self.store.record(met, labels, how=AGAIN, model=model.version))
        return chosen

    # decisions

    def tell(
        self, ids: Any, labels: Any, *, by: str = "", note: str = "", how: str | None = None,
        request: str | None = None, after: Sequence[int] | None = None,
    ) -> list[Entry]:  # fmt: skip
        """Record decisions: 1 or True for positive, -1 or False for negative, 0 to put a row off.

        They are on disk when the call returns. A ``request`` that was recorded before is not recorded again. ``how``
        says how the rows were chosen; by default as they were proposed, "chosen" if they were not. "imported" is for
        rows that are known from elsewhere: they train the ranking and are not counted as found. ``after`` guards
        against decisions of others (:meth:`usmo.review.Store.record`).
        """
        rows, values = checked_decisions(ids, labels, self.n_rows)
        with self._lock:
            self._synchronise()
            hows = [how if how is not None else self._held.get(row, ("", "chosen", 0.0))[1] for row in rows]
            version = 0 if self._model is None else self._model.version
            scores = None if self._model is None else self._model.standardised(rows).tolist()
            entries = self.store.record(
                rows, values, by=by, note=note, how=hows, model=version, scores=scores, request=request, after=after
            )  # fmt: skip
            if entries and entries[-1].seq > self.decisions.seen:
                self.decisions.apply(entries)
            for row in rows:
                self._held.pop(row, None)
            return entries

    def undo(self, by: str | None = None, *, request: str | None = None, of: str | None = None) -> list[int]:
        """Take back the last call of ``tell``, of this person if one is given, or a request; returns its rows."""
        with self._lock:
            taken = self.store.undo(by, request, of=of)
            self.decisions.replay(self.store.history())
            return [entry.row for entry in taken]

    def history(self, row: int | None = None) -> list[Entry]:
        """All entries of the log, of one row if it is given."""
        return self.store.history(row)

    # what is left

    def course(self) -> Course:
        """The review so far, as stopping rules see it."""
        with self._lock:
            self._synchronise()
            return self.decisions.course(None if self._model is None else self._model.expected)

    def stop(self) -> Verdict:
        """Whether the review may end, with reasons."""
        return verdict_of(self.rule, self.course())

    def remaining(self) -> Remaining:
        """How many positives are left: an estimate, once there is one, and an interval."""
        return what_is_left(self.course(), self.confidence)

    # results

    def ranking(self) -> dict[str, list[Any]]:
        """The rows without a label, likeliest first: row, id, score."""
        model = self._current()
        with self._lock:
            rows = by_score(model.scores, np.flatnonzero(self.decisions.open))
        return {
            "row": rows.tolist(),
            "id": [self.ids[row] for row in rows],
            "score": np.round(model.scores[rows], 6).tolist(),
        }

    def export(
        self, target: str | os.PathLike[str] | None = None, *, which: str = "all", format: str | None = None
    ) -> dict[str, list[Any]]:
        """Rows with their labels and decisions, as columns; written to a file if one is given (CSV, Parquet, ...).

        ``which`` is "all", "positive", "negative", "reviewed" or "open". Reviewed rows come in the order of their
        decisions, after those known at the start; then the others, likeliest first.
        """
        with self._lock:
            self._synchronise()
            kinds, last, model = self.decisions.kinds.copy(), dict(self.decisions.last), self._model
        scores = np.zeros(self.n_rows) if model is None else model.scores
        columns = decision_columns(kinds, last, scores, self.ids, which)
        if target is not None:
            write(columns, target, format=format)
        return columns

    def close(self) -> None:
        """Close the store."""
        self.store.close()
