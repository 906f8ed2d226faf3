"""Benchmark tables, hiding labels to turn a labelled table into a PU one, and poker hands in any number."""

from usmo.datasets.catalogue import CATALOGUE, LARGE, SMALL, DataSet, info
from usmo.datasets.loading import load
from usmo.datasets.making import make_poker_hands, make_pu, poker_class

__all__ = ["CATALOGUE", "LARGE", "SMALL", "DataSet", "info", "load", "make_poker_hands", "make_pu", "poker_class"]
