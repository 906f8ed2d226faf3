"""Benchmark tables, hiding of labels to turn a labelled table into a PU one, poker hands and bank customers."""

from usmo.datasets.catalogue import CATALOGUE, LARGE, SMALL, DataSet, info
from usmo.datasets.customers import make_customers
from usmo.datasets.labels import make_pu
from usmo.datasets.loading import load
from usmo.datasets.poker import make_poker_hands, poker_class

__all__ = [
    "CATALOGUE",
    "LARGE",
    "SMALL",
    "DataSet",
    "info",
    "load",
    "make_customers",
    "make_poker_hands",
    "make_pu",
    "poker_class",
]
