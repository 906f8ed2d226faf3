"""Columns of text are told from ids, codes, addresses and names."""

import uuid

import pytest

from tests.tables_of_text import CHINESE, GERMAN, JAPANESE, documents
from usmo.io.prose import is_prose

HEX = [uuid.UUID(int=i * 7919**9 % 2**128) for i in range(40)]


@pytest.mark.parametrize(
    ("texts", "prose"),
    [
        (documents(), True),
        (documents(words=GERMAN), True),
        (documents(words=CHINESE, between=""), True),
        (documents(words=JAPANESE, between=""), True),
        ([f"Ein Käse, {i} Bücher – und keine Prüfung!" for i in range(40)], True),
        ([f"Исследование качества программ номер {i}" for i in range(40)], True),
        ([f"It's a well-known fact about item {i}." for i in range(40)], True),
        ([f"doc-{i}" for i in range(40)], False),
        ([str(each) for each in HEX], False),
        ([each.hex for each in HEX], False),
        ([" ".join(each.hex[k : k + 4] for k in range(0, 32, 4)) for each in HEX], False),
        ([f"https://example.org/a/long/path/of/words/{i}?and=more" for i in range(40)], False),
        ([f"https://example.org/{i} https://example.com/words-of-{i}" for i in range(40)], False),
        ([f"someone.{i}@example.org" for i in range(40)], False),
        ([f"AB {i} CD {i * 7} EF" for i in range(40)], False),
        ([f"C:\\folder\\of words\\file{i}.txt" for i in range(40)], False),
        ([f"Anna Maria Nr{i}" for i in range(40)], False),
        ([f"2024-01-{i:02d} 10:00:00 +01:00" for i in range(1, 30)], False),
        (["中文" + str(i) for i in range(40)], False),
        ([], False),
        ([""], False),
    ],
)
def test_text_is_recognised_by_its_words(texts, prose):
    assert is_prose(texts) is prose
