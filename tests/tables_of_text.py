"""Documents made of words by chance: half of them about one subject, half about another."""

from __future__ import annotations

from typing import Any

import numpy as np

GERMAN = (
    ["Prüfung", "Größe", "Straße", "Übung", "Fälschung", "Käse", "Bücher", "Maß"],
    ["Regen", "Wolke", "Sturm", "Nebel", "Sonne", "Wind", "Hagel", "Schnee"],
)
CHINESE = ("机器学习模型预测软件缺陷", "天气云雨风雪雷电雾霜冰雹")
JAPANESE = ("ソフトウェアの欠陥を予測する", "雨雲と風と雪がふる冬の日")
ENGLISH = (
    ["software", "defect", "prediction", "metrics", "fault", "module", "test", "code", "quality", "model"],
    ["weather", "rain", "cloud", "storm", "wind", "snow", "hail", "fog", "frost", "sun"],
)
COMMON = ["the", "of", "and", "in", "we", "this", "is", "a", "study", "on"]


def documents(n: int = 60, words: Any = ENGLISH, seed: int = 0, length: int = 12, between: str = " ") -> list[str]:
    """Texts of which those with even index are about the first subject."""
    rng = np.random.default_rng(seed)
    texts = []
    for i in range(n):
        own = [str(word) for word in rng.choice(list(words[i % 2]), length)]
        common = [str(word) for word in rng.choice(COMMON, length // 2)] if between else []
        texts.append(between.join([*own, *common]))
    return texts
