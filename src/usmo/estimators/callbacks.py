"""scikit-learn's callbacks (1.9 and newer): each pass of an exact fit is a subtask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from usmo.core.arrays import Array
from usmo.core.solution import PassRecord
from usmo.solvers.stopping import Progress

try:  # scikit-learn 1.9
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn before 1.9, which has no callbacks."""

    def _with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        return method


Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(method: Method) -> Method:
    """scikit-learn's decorator, which keeps the signature but has no types."""
    return cast(Method, _with_callbacks(method))


def callback_bridge(
    estimator: Any, context: Any, fitted: Callable[[Array, float], dict[str, Any]]
) -> Progress | None:
    """A progress function that reports each pass to scikit-learn's callbacks. A hook that returns True ends the fit.

    ``fitted`` makes the fitted attributes from σ and β if a callback asks for them.
    """
    if context is None or not hasattr(estimator, "_skl_callbacks"):
        return None

    def progress(record: PassRecord, sigma: Array) -> bool:
        task = context.subcontext(task_name=record.kind)
        task.call_on_fit_task_begin(estimator=estimator)
        return bool(
            task.call_on_fit_task_end(
                estimator=estimator,
                reconstruction_attributes=lambda: fitted(sigma, record.beta),
                metadata=record._asdict(),
            )
        )

    return progress
