"""Tables in parts: ``PartFeatures``, the ``.npy`` or Parquet files of a folder as one table."""

from usmo.kernels.row_blocks import PartFeatures

__all__ = ["PartFeatures"]
