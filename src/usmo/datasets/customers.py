"""Bank customers: a made-up table with numbers, categories, dates and missing values, in any number of rows.

Everything is drawn from a seeded generator, so that the table belongs to this package and comes under its licence. No
row describes a person.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

_JOBS = ("clerk", "engineer", "manager", "nurse", "retired", "self-employed", "student", "worker")
_JOB_SHARES = (0.18, 0.13, 0.11, 0.11, 0.15, 0.10, 0.09, 0.13)
_WEALTH = np.array([0.0, 0.45, 0.7, -0.05, 0.05, 0.3, -0.9, -0.15])
"""What a job adds to the logarithm of the income."""

_REGIONS = ("north", "east", "south", "west")
_CHANNELS = ("branch", "phone", "app")
_LAST_DAY = np.datetime64("2025-06-30")

_SHARE = 0.2
"""Share of positives, about: the customers who would open a savings plan."""


def make_customers(
    n: int = 1500, *, n_known: int = 80, random_state: Any = 0
) -> tuple[dict[str, list[Any]], np.ndarray]:
    """Make up customers of a bank, some of whom are known to have opened a savings plan.

    Parameters
    ----------
    n : int, default=1500
        Customers; about a fifth of them would open a plan.
    n_known : int, default=80
        Those of them that are known; at most a tenth of ``n``.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws.

    Returns
    -------
    columns : dict of lists
        ``customer`` (an id), ``age``, ``job``, ``region``, ``income`` (skewed, some missing), ``balance``, ``channel``
        (some missing), ``logins`` per month, ``joined`` and ``last_contact`` (dates, some missing), ``newsletter``, and
        ``plan``: "yes" for ``n_known`` of the positives, else None.
    positive : ndarray of bool
        The truth: which customers would open a plan, known or not.
    """
    if not 1 <= n_known <= n // 10:
        raise ValueError(f"n_known must lie between 1 and a tenth of the {n} rows, got {n_known}")
    rng = check_random_state(random_state)
    job = rng.choice(len(_JOBS), n, p=_JOB_SHARES)
    age = _ages(job, rng)
    income = np.round(np.exp(7.6 + _WEALTH[job] + 0.35 * rng.randn(n)), -1)
    balance = np.round(np.exp(7.0 + 0.9 * np.log(income / 2000.0) + 0.9 * rng.randn(n)) - 600.0, 2)
    region, channel = rng.choice(4, n), rng.choice(3, n, p=(0.45, 0.2, 0.35))
    logins = rng.poisson(np.where(channel == 2, 14.0, 4.0))
    joined = _LAST_DAY - (365 * rng.gamma(2.0, 4.0, n)).astype(int) - 30
    since_contact = rng.exponential(240.0, n).astype(int)
    newsletter = rng.rand(n) < np.where(channel == 2, 0.6, 0.3)
    years = (_LAST_DAY - joined).astype(int) / 365.0
    # wealthy, in contact lately and with some years at the bank; or young, busy on the app and reading the newsletter
    settled = 1.7 * np.log(income / 2400.0) + 0.6 * np.log1p(np.maximum(balance, 0.0) / 3000.0)
    settled += 1.4 * np.exp(-since_contact / 60.0) + 0.9 * np.tanh((years - 4.0) / 3.0) - 0.5 * (region == 1)
    busy = 2.2 * newsletter + 0.14 * logins - 0.07 * np.maximum(age - 30.0, 0.0) - 2.0
    wish = 8.0 * np.logaddexp(1.6 * settled, 0.8 * busy) + rng.logistic(size=n)
    positive = wish > np.quantile(wish, 1.0 - _SHARE)
    known = np.zeros(n, dtype=bool)
    known[rng.permutation(np.flatnonzero(positive))[:n_known]] = True
    no_income, no_channel, no_contact = (rng.rand(n) < share for share in (0.05, 0.04, 0.12))
    columns: dict[str, list[Any]] = {
        "customer": [f"C-{number}" for number in 10_000 + np.cumsum(rng.randint(1, 6, n))],
        "age": age.tolist(),
        "job": [_JOBS[k] for k in job],
        "region": [_REGIONS[k] for k in region],
        "income": [None if gap else float(value) for value, gap in zip(income, no_income, strict=True)],
        "balance": balance.tolist(),
        "channel": [None if gap else _CHANNELS[k] for k, gap in zip(channel, no_channel, strict=True)],
        "logins": logins.tolist(),
        "joined": [str(day) for day in joined],
        "last_contact": [
            None if gap else str(_LAST_DAY - days) for days, gap in zip(since_contact, no_contact, strict=True)
        ],
        "newsletter": ["yes" if each else "no" for each in newsletter],
        "plan": ["yes" if each else None for each in known],
    }
    return columns, positive


def _ages(job: np.ndarray, rng: Any) -> np.ndarray:
    """Whole years: students are young, the retired old."""
    age = 42.0 + 11.0 * rng.randn(len(job))
    age = np.where(job == _JOBS.index("student"), 22.0 + 3.0 * rng.randn(len(job)), age)
    age = np.where(job == _JOBS.index("retired"), 69.0 + 6.0 * rng.randn(len(job)), age)
    return np.clip(np.round(age), 18, 95).astype(int)
