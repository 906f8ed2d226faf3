"""The classifiers on a Dask cluster: for tables whose rows do not fit one machine (``docs/scale.md``).

>>> from dask.distributed import Client                     # doctest: +SKIP
>>> from usmo.dask import LinearPUSVC                       # doctest: +SKIP
>>> client = Client()  # or Client("tcp://…:8786")          # doctest: +SKIP
>>> model = LinearPUSVC(0.1).fit(X, y)  # dask collections  # doctest: +SKIP
"""

from usmo.system.extras import load_extra

load_extra("distributed", "usmo.dask needs Dask", "dask")
load_extra("dask.array", "usmo.dask needs Dask", "dask")

from usmo.dask.linear import LinearPUSVC  # noqa: E402
from usmo.dask.pusvc import PUSVC  # noqa: E402

__all__ = ["PUSVC", "LinearPUSVC"]
