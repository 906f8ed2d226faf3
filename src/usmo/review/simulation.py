"""Reviews of a table whose labels are all known: how soon the positives are found, and where rules would stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usmo.review.loop import Review
from usmo.review.measures import average_time_to_discovery, places_of, recall_at, work_saved
from usmo.review.rankers import Ranker
from usmo.review.replay import replay
from usmo.review.stopping import RULES, make_rule
from usmo.review.strategies import Strategy, check_strategy

SHARES = (0.05, 0.1, 0.2)
"""Shares of the rows at which the recall is reported."""

_GROWTH = 0.1
"""Rows reviewed between two fits, as a share of those reviewed so far. With 0.05 work saved is the same to 0.003."""


@dataclass(frozen=True)
class Plan:
    """What is simulated."""

    strategy: Strategy = "likely"
    rules: tuple[str, ...] = tuple(RULES)
    start: int = 1
    batch: int = 10
    random_share: float = 0.1
    recall: float = 0.95
    confidence: float = 0.95

    def check(self, truth: NDArray[np.bool_]) -> None:
        """Refuse a plan that cannot be carried out."""
        check_strategy(self.strategy, self.random_share)
        for rule in self.rules:
            make_rule(rule, self.recall, self.confidence)
        if self.batch < 1:
            raise ValueError(f"batch must be at least 1, got {self.batch}")
        positives = int(truth.sum())
        if not 1 <= self.start < positives:
            raise ValueError(
                f"start must be at least 1 and below the {positives:,} positives of the table, got {self.start}"
            )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Order:
    """The order in which a simulated review went through the rows, and the model's estimate of what was left."""

    rows: NDArray[np.intp]
    expected: NDArray[np.float64]


def review_order(
    X: Any, truth: NDArray[np.bool_], seed: int, plan: Plan | None = None, ranker: Ranker | None = None
) -> Order:
    """Review a table, started from random positives, until all are found; the other rows follow by the last scores."""
    plan = Plan() if plan is None else plan
    rng = np.random.default_rng(seed)
    known = np.zeros(len(truth), dtype=np.int8)
    known[rng.choice(np.flatnonzero(truth), plan.start, replace=False)] = 1
    review = Review(
        X, known, ranker=ranker, strategy=plan.strategy, random_share=plan.random_share, rule="irrelevant",
        random_state=seed,
    )  # fmt: skip
    wanted = int(truth.sum()) - plan.start
    rows: list[int] = []
    expected: list[float] = []
    found = 0
    while found < wanted:
        batch = review.next(max(plan.batch, int(_GROWTH * len(rows))))
        review.tell(batch, truth[batch])
        rows.extend(batch.tolist())
        found += int(truth[batch].sum())
        estimate = review.model.expected if review.model is not None else None
        expected.extend([np.nan if estimate is None else estimate] * len(batch))
    rest = review.ranking()["row"]
    review.refit()
    assert review.model is not None
    last = np.nan if review.model.expected is None else review.model.expected
    return Order(np.array([*rows, *rest], dtype=np.intp), np.array([*expected, *[last] * len(rest)]))


def measured(order: Order, truth: NDArray[np.bool_], seed: int, plan: Plan) -> dict[str, Any]:
    """The measures of an order, and where each rule stops on it."""
    along = truth[order.rows]
    places, n = places_of(along), len(along)
    stopping = {}
    for name in plan.rules:
        rule = make_rule(name, plan.recall, plan.confidence)
        stopping[name] = replay(rule, along, seed, order.expected).as_dict()
    return {
        "seed": seed,
        "wss95": work_saved(places, n),
        "recall_at": {f"{share:g}": recall_at(places, n, share) for share in SHARES},
        "atd": average_time_to_discovery(places, n),
        "stopping": stopping,
        "rows": n,
        "places": places.astype(int).tolist(),
    }


def simulate(X: Any, truth: NDArray[np.bool_], seed: int, plan: Plan) -> dict[str, Any]:
    """One simulated review, as the command prints it."""
    return measured(review_order(X, truth, seed, plan), truth, seed, plan)


def means(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The mean of each measure over runs; of ``kept``, the share of the runs in which a recall was promised."""
    return {
        "wss95": _mean([run["wss95"] for run in runs]),
        "recall_at": {key: _mean([run["recall_at"][key] for run in runs]) for key in runs[0]["recall_at"]},
        "atd": _mean([run["atd"] for run in runs]),
        "stopping": {
            rule: {
                key: _mean([run["stopping"][rule][key] for run in runs]) for key in runs[0]["stopping"][rule]
            }
            for rule in runs[0]["stopping"]
        },
    }  # fmt: skip


def _mean(values: Sequence[Any]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return float(np.mean(known)) if known else None
