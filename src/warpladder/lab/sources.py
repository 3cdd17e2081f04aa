"""The bibliography: the five sources that rungs name by a key, ``RD 2``."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["SOURCES", "Source", "sources_in"]


@dataclass(frozen=True, slots=True)
class Source:
    """A text that rungs come from.

    Attributes
    ----------
    key
        Two capital letters, with which the source field of a rung begins.
    authors
        As the text names them; where it names none, that is said.
    title
        In the text's own words; where it has none, what it is.
    place
        Where and when, as far as the text says.
    """

    key: str
    authors: str
    title: str
    place: str

    def __str__(self) -> str:
        return f"{self.authors}: {self.title}. {self.place}"


SOURCES: dict[str, Source] = {
    source.key: source
    for source in (
        Source(
            "CF",
            "Pedro Carrega and Vasco Ferreira",
            "A Study in CUDA Usage",
            "Faculdade de Ciências da Universidade de Lisboa",
        ),
        Source(
            "GR",
            "No author named",
            "An introduction to GPU computing with CUDA",
            "Slides, Depto. Lenguajes y Sistemas Informáticos, Universidad de Granada, 2018",
        ),
        Source(
            "HB",
            "Robert Hochberg",
            "Dynamic Programming with CUDA, Part I",
            "21 August 2012",
        ),
        Source(
            "IM",
            "Ashok Regar",
            "Cuda GPU Computing",
            "A post of Imaginea Labs",
        ),
        Source(
            "RD",
            "No author named",
            "an article on the sum of an array with CUDA, without a title in our copy",
            "Its code: GitHub, jarnesino/cuda-reduction-optimization",
        ),
    )
}


def sources_in(text: str) -> list[Source]:
    """Return the sources that the source field of a rung names, in its order.

    Examples
    --------
    >>> [source.authors for source in sources_in("CF A; HB exploration 5")]
    ['Pedro Carrega and Vasco Ferreira', 'Robert Hochberg']
    >>> sources_in("beyond")
    []
    """
    keys = dict.fromkeys(re.findall(r"\b[A-Z]{2}\b", text))
    return [SOURCES[key] for key in keys if key in SOURCES]
