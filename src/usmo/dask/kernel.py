"""PUSVC on a cluster: the block solver with its shards on the workers, or mapped features with the linear one."""

from __future__ import annotations

from typing import Any

import numpy as np
from dask.base import is_dask_collection

import usmo.estimators.pusvc
from usmo.core.arrays import Array, Index
from usmo.core.problem import Certificate
from usmo.core.table import Table
from usmo.dask.blocks import Fitted, Task
from usmo.dask.driver import Predicting, current_client
from usmo.dask.linear import Trained, settled, train_blocks
from usmo.dask.partitions import Partitions, partitions, weights_of
from usmo.dask.parts import Block
from usmo.estimators.base import warn_about
from usmo.fitting import approximate as approximation
from usmo.fitting.kernel import CACHE_SHARE, MOST_CACHE
from usmo.fitting.progress import printed
from usmo.kernels.gamma import entry_variance, mean_entry, resolve_gamma, scale_gamma
from usmo.kernels.matrix import Kernel
from usmo.solvers.linear import WIDEST


class PUSVC(Predicting, usmo.estimators.pusvc.PUSVC):
    """:class:`usmo.PUSVC` for ``dask.array`` and ``dask.dataframe``, dense or CSR.

    The same problem and the same solver. The exact one keeps the decision values, and the kernel values that it
    has computed, with the rows on the workers; the labelled rows and those whose coefficients change go to every
    worker, where the kernel between them and the worker's rows is computed. ``approximation`` maps the rows where
    they are, and runs the linear solver on them. Needs a ``dask.distributed.Client``. The prior, if it is to be
    estimated, λ, if it is to be chosen, and landmarks come from a random sample of the rows.

    Parameters and fitted attributes are those of :class:`usmo.PUSVC`; ``kernel="linear"`` and "precomputed" are
    not for a cluster (:class:`usmo.dask.LinearPUSVC` is), and ``solver`` is "auto" or "blocks".
    """

    def _fit(self, X: Any, y: Any, sample_weight: Any, context: Any) -> None:
        if not is_dask_collection(X):
            super()._fit(X, y, sample_weight, context)
            return
        self._check()
        table = partitions(current_client(), X, y, sample_weight)
        kernel = Kernel(self.kernel, gamma_over(self.gamma, table), self.degree, self.coef0)
        sample, rows, known = self._known(table, kernel.gamma)
        common = {"classes_": table.classes, **known, "_kernel": kernel}
        if self.approximation is not None:
            self._fit_map(table, kernel, sample, rows, common)
        else:
            self._fit_blocks(table, kernel, sample, common)

    def _check(self) -> None:
        if self.kernel in ("linear", "precomputed"):
            raise ValueError(
                f"kernel={self.kernel!r} is not for a cluster; usmo.dask.LinearPUSVC fits linear models there"
            )
        if self.approximation is not None:
            approximation.check(self)
            if self.n_components > WIDEST:
                raise ValueError(f"n_components must be at most {WIDEST} on a cluster, got {self.n_components}")
        elif self.solver not in ("auto", "blocks"):
            raise ValueError(f"solver must be 'auto' or 'blocks' on a cluster, got {self.solver!r}")
        if self.warm_start:
            raise ValueError("warm_start does not work on a cluster; checkpoint does")

    def _fit_map(
        self, table: Partitions, kernel: Kernel, sample: Table, rows: Index, common: dict[str, Any]
    ) -> None:
        """Mapped features: landmarks and the comparison with an exact fit come from the sample."""
        kind, landmarks = str(self.approximation), None
        if kind == "nystroem":
            landmarks = approximation.chosen_landmarks(sample.X, sample.rows, self.n_components, self._seed())
            mapped: Any = approximation.NystroemMap(kernel, sample.X[landmarks])
        else:
            mapped = approximation.FourierMap(kernel, self.n_components, table.columns, self._seed())
        prior, lam = common["prior_"], common["lam_"]
        small = sample.problem(prior, lam, self.scenario)
        comparison = approximation.compared(small, sample.X, kernel, kind, mapped, self.tol, self._seed())

        def settle(found: Trained) -> None:
            model = found.model
            expansion = approximation.expansion(mapped, model.coef, sample.X, landmarks)
            if landmarks is not None:
                expansion["support_"] = rows[landmarks]
            account = {"approximation_": comparison, "n_iter_": model.iterations, "kernel_rows_": 0.0}
            self._take(table, {**common, **account, **expansion}, model.beta, model.certificate, model.history)
            settled(self, sample, found.team, found.beta)

        trained = train_blocks(
            table, mapped, prior, lam, self.scenario, tol=self.tol, max_iter=self.max_iter, max_time=self.max_time,
            progress=printed(self.verbose, self.tol), settle=settle,
        )  # fmt: skip
        warn_about(trained.model, trained.model.certificate, self.tol)

    def _take(
        self, table: Partitions, fitted: dict[str, Any], beta: float, certificate: Certificate, history: Any
    ) -> None:
        """Set every fitted attribute."""
        self._forget()
        self._named(table)
        self.__dict__.update(
            {**fitted, "intercept_": np.array([beta]), "certificate_": certificate, "history_": history}
        )

    def _fit_blocks(self, table: Partitions, kernel: Kernel, sample: Table, common: dict[str, Any]) -> None:
        task = Task(table, kernel, sample, common["prior_"], common["lam_"], self.scenario, self.tol)

        def settle(found: Fitted) -> None:
            expansion = {
                "support_": found.support,
                "support_vectors_": found.vectors,
                "dual_coef_": found.alpha[None, :],
                "n_iter_": found.solution.iterations,
                "kernel_rows_": found.solution.kernel_rows,
            }
            solution = found.solution
            self._take(table, {**common, **expansion}, solution.beta, found.certificate, solution.history)
            settled(self, sample, found.team, solution.beta)

        found = task.fit(
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            megabytes=_cache(table.client) if self._cache_megabytes is None else self._cache_megabytes,
            progress=printed(self.verbose, self.tol),
            checkpoint=None if self.checkpoint is None else (self.checkpoint, self.checkpoint_seconds),
            settle=settle,
        )
        warn_about(found.solution, found.certificate, self.tol)

    _plain = usmo.estimators.pusvc.PUSVC


def _cache(client: Any) -> float:
    """Megabytes for kernel rows if the user names none: as on one machine, for every worker."""
    limits = [worker["memory_limit"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()]
    return sum(min(MOST_CACHE, CACHE_SHARE * (limit or np.inf) / 2**20) for limit in limits) or MOST_CACHE


def gamma_over(gamma: str | float, table: Partitions) -> float:
    """γ as :func:`usmo.kernels.gamma.resolve_gamma` has it, from sums over the blocks."""
    if not isinstance(gamma, str) or gamma == "auto":
        return resolve_gamma(gamma, np.empty((1, table.columns)))
    top = max(max(facts.tops) for facts in table.facts)
    mass = float(np.sum(table.gather(_mass, top)))
    centre = float(np.sum(table.gather(_mean, top, mass)))
    return scale_gamma(table.columns, centre, float(np.sum(table.gather(_variance, top, mass, centre))))


def _share(block: Block, top: float) -> Array:
    return weights_of(block, np.arange(len(block.y)), top)


def _mass(block: Block, top: float) -> float:
    return float(_share(block, top).sum())


def _mean(block: Block, top: float, mass: float) -> float:
    return mean_entry(block.X, _share(block, top) / mass)


def _variance(block: Block, top: float, mass: float, centre: float) -> float:
    return entry_variance(block.X, _share(block, top) / mass, centre)
