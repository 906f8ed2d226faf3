"""What model files hold of this room: the encoder. It runs no compiled code, so that few rules are enough."""

from __future__ import annotations

from usmo.columns.encoder import TableEncoder
from usmo.files import register
from usmo.files.rules import instance, size

register(TableEncoder, rules={"n_features_in_": size("columns"), "columns_": instance(list)})
