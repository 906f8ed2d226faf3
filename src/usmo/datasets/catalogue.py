"""Catalogue of the seventeen tables of the paper's evaluation: size, classes, source, checksum, caveats."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class OpenML:
    """A data set on OpenML, and how it is converted: the positive class, scaling, dropped columns, training rows."""

    data_id: int
    positive: str | None
    scaled: bool = True
    drop_constant: bool = False
    rows: int | None = None


@dataclass(frozen=True)
class DataSet:
    """One table: size, positive class, source, caveats.

    ``classes`` counts the rows of each value of y; ``positive`` says what y = 1 means, None for tables with several
    classes, any of which can be the positive one. ``sha256`` is the checksum of the file in ``USMO_DATA``.
    """

    name: str
    rows: int
    columns: int
    classes: dict[int, int]
    source: str
    sha256: str
    positive: str | None = None
    caveats: str = ""
    test_rows: int = 0
    openml: OpenML | None = field(default=None)

    @property
    def prior(self) -> float | None:
        """Share of y = 1; None for tables with many classes."""
        return None if self.positive is None else self.classes[1] / self.rows


def _small(
    name: str, columns: int, positives: int, negatives: int, positive: str, source: str, sha256: str,
    caveats: str = "", openml: OpenML | None = None,
) -> DataSet:  # fmt: skip
    classes = {0: negatives, 1: positives}
    return DataSet(name, positives + negatives, columns, classes, source, sha256, positive, caveats, openml=openml)


_SETS = [
    _small(
        "australian", 42, 383, 307, "class '-', credit refused", "UCI Credit Approval, one-hot",
        "8f63cbd6e90e9a44bfd22959402ef7605e00d7920e22358f10f81c985aaacdd1",
        "the positive class is the refused one, the reverse of the usual choice",
    ),
    _small(
        "clean1", 166, 207, 269, "musk", "UCI Musk (Version 1)",
        "d2709b416b3b3975449b4a322becd28e4c71c45d3887720ee2621373b5f47af5", "rows are ordered by class",
    ),
    _small(
        "diabetes", 8, 268, 500, "tested positive", "UCI Pima Indians Diabetes",
        "fcae078f934d503664ebedce82fecb11b2be6ba4fdc642e18c2df611a3cd4b10", "zeros stand for missing values",
        OpenML(37, "tested_positive"),
    ),
    _small(
        "heart", 9, 120, 150, "heart disease present", "UCI Statlog Heart, projected",
        "45521d91d89a8f088fe233f2885201df2bb113c7ce48329728df05abbc4c8750",
        "principal components of heart-statlog, the same patients: the two are not independent",
    ),
    _small(
        "heart-statlog", 13, 120, 150, "heart disease present", "UCI Statlog Heart",
        "6fd32d70256d2c1adf4eb3dcfa7d805613caac03026419b11ba810e46be0b15c",
        "the same patients as heart", OpenML(53, "present"),
    ),
    _small(
        "house", 16, 108, 124, "republican", "UCI Congressional Voting Records, complete rows",
        "e87c615634953c974c6f472e0ee09b8c8b3f93b885065e426815ea263c051100",
        "72 repeated rows; the rows of house-votes without missing votes, with the other class as positive",
    ),
    _small(
        "house-votes", 16, 267, 168, "democrat", "UCI Congressional Voting Records",
        "7dce85d98e318f3c2010b2112a09c20cc75a4c6e86e8f5440254c948e385fd23",
        "93 repeated rows; a missing vote is coded 1, beyond yes (0.5)",
    ),
    _small(
        "ionosphere", 33, 225, 126, "good", "UCI Ionosphere",
        "b3e3416efad49a2587b6e515cd53d8995b60f8dfc4ef18a43bde0c322b488936", "one repeated row",
        OpenML(59, "g", drop_constant=True),
    ),
    _small(
        "isolet", 51, 300, 300, "one of two letters", "UCI ISOLET, two letters, projected",
        "ed99bf645a8b29fb5d2a5c056413ab5e377f73457c3a82e5b25680c9f5e3708b",
        "unscaled; which letters is not recorded; rows are ordered by class",
    ),
    _small(
        "krvskp", 36, 1527, 1669, "no win", "UCI Chess (King-Rook vs. King-Pawn)",
        "77414f2278f56a8edaa9abcb98bdf689a8fa2cbdcc2676e9eacdbf4bd0b85834",
    ),
    _small(
        "liverDisorders", 6, 200, 145, "selector = 2", "UCI Liver Disorders (BUPA)",
        "98b913184604c11b8e970cf7e93669dbaedc900bab179c079a743f99a45fe6f4",
        "4 repeated rows; the selector is a split of the original study, not a diagnosis",
    ),
    _small(
        "spectf", 44, 254, 95, "abnormal", "UCI SPECTF Heart (train and old test file)",
        "7727c7150cfda42d6ba691aaaa0bee902114a9e6221b289605a1fd81426da485",
        "82 of the 349 rows are repeats, so random splits share rows",
    ),
    DataSet(
        "bank-marketing", 41188, 20, {0: 36548, 1: 4640}, "UCI Bank Marketing, bank-additional-full.csv",
        "dbe2436df90f14d6351083a4b253b9c43f063f6bc028058f10076c4182a24c67", "subscribed",
        "in date order; categorical columns hold codes; duration is known only after the call; the paper uses "
        "28,000 rows without saying which",
    ),
    DataSet(
        "adult-a9a", 32561, 123, {0: 24720, 1: 7841}, "LIBSVM a9a (UCI Adult)",
        "200f64ad3a4d7cc3d1419a658d4b9279627d2d6a0323bd17c83cf9ed61ff7c94", "income above 50K",
        "sparse, all values 1", 16281,
    ),
    DataSet(
        "shuttle", 43500, 9, {1: 34108, 2: 37, 3: 132, 4: 6748, 5: 2458, 6: 6, 7: 11}, "UCI Statlog (Shuttle)",
        "bb5b90bd7b69fbb7e6f4226f100f68bc86ce44b7ade309b23e78fc1948bc786d", None,
        "columns of very different range; classes 2, 3, 6 and 7 are tiny", 14500,
    ),
    DataSet(
        "mnist", 60000, 784,
        dict(enumerate([5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949])), "MNIST (LeCun)",
        "bc76bc6d95bfadac4961122cdba511aeb17f4685941f9760d8b2e89361f991c2", None, "grey levels 0 to 255", 10000,
        OpenML(554, None, scaled=False, rows=60000),
    ),
    DataSet(
        "poker-hand", 100000, 10, dict(enumerate([50100, 42185, 4873, 2098, 379, 195, 150, 18, 1, 1])),
        "UCI Poker Hand, the first 100,000 rows of the test file",
        "08523f8693731d94c76c04fde0d2e12a4703120dee37f2a2e2ad9ca04e99733d", None,
        "a tenth of the paper's million rows; make_poker_hands draws more from the same distribution", 25010,
    ),
]  # fmt: skip

CATALOGUE = {entry.name: entry for entry in _SETS}
"""The benchmark tables by name."""
SMALL = tuple(entry.name for entry in _SETS[:12])
"""Names of the twelve small tables of the paper."""
LARGE = tuple(entry.name for entry in _SETS[12:])
"""Names of the five large tables of the paper."""


def info(name: str) -> DataSet:
    """The catalogue entry of a table."""
    if name not in CATALOGUE:
        raise ValueError(f"name must be one of {', '.join(CATALOGUE)}; got {name!r}")
    return CATALOGUE[name]
