"""`VocabularyProcessor`: documents as ids of words."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

_TOKEN = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each text."""
    for value in iterator:
        yield _TOKEN.findall(value)


class CategoricalVocabulary:
    """Words and their ids; 0 is an unknown word.

    Args:
        unknown_token: the word that stands for unknown words.
        support_reverse: whether ids are turned into words too.
    """

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._mapping: dict[Any, int] = {unknown_token: 0}
        self._reverse: list[Any] = [unknown_token]
        self._freq: dict[Any, int] = defaultdict(int)
        self._freeze = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """From now on new words are unknown."""
        self._freeze = freeze

    def get(self, category: Any) -> int:
        """The id of a word; a new id if the vocabulary grows."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            self._reverse.append(category)
        return self._mapping[category]

    def add(self, category: Any, count: int = 1) -> None:
        """Counts a word."""
        if self.get(category) > 0:
            self._freq[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keeps the words that come more often than `min_frequency`; the most frequent get the first ids."""
        ordered = sorted(
            sorted(self._freq.items(), key=lambda pair: (isinstance(pair[0], str), pair[0])), key=lambda pair: -pair[1]
        )
        kept = [(w, n) for w, n in ordered if n > min_frequency and (max_frequency <= 0 or n < max_frequency)]
        self._mapping = {self._unknown_token: 0, **{word: index + 1 for index, (word, _) in enumerate(kept)}}
        self._reverse = [self._unknown_token, *(word for word, _ in kept)]
        self._freq = defaultdict(int, kept)

    def reverse(self, class_id: int) -> Any:
        """The word of an id."""
        return self._reverse[class_id]


class VocabularyProcessor:
    """Turns documents into arrays of ids of words.

    Args:
        max_document_length: the length of the arrays.
        min_frequency: words that do not come more often are unknown.
        vocabulary: a vocabulary that is there.
        tokenizer_fn: a function of texts that gives their words.
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[list[str]]] | None = None,
    ) -> None:
        self.max_document_length, self.min_frequency = max_document_length, min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Learns the words of documents."""
        for tokens in self._tokenizer(raw_documents):
            for token in tokens:
                self.vocabulary_.add(token)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: Any = None) -> Iterator[Any]:
        """Learns the words of documents, and gives their ids."""
        documents = list(raw_documents)
        self.fit(documents)
        return self.transform(documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[Any]:
        """An array of ids for each document."""
        for tokens in self._tokenizer(raw_documents):
            ids = np.zeros(self.max_document_length, np.int64)
            for index, token in enumerate(tokens[: self.max_document_length]):
                ids[index] = self.vocabulary_.get(token)
            yield ids

    def reverse(self, documents: Iterable[Any]) -> Iterator[str]:
        """The words of ids, joined by spaces."""
        for ids in documents:
            yield " ".join(str(self.vocabulary_.reverse(int(each))) for each in ids)

    def save(self, filename: str) -> None:
        """Writes the vocabulary to a file, as JSON."""
        content = {
            "length": self.max_document_length,
            "frequency": self.min_frequency,
            "words": self.vocabulary_._reverse,
        }
        Path(filename).write_text(json.dumps(content), encoding="utf-8")

    @classmethod
    def restore(cls, filename: str) -> VocabularyProcessor:
        """Reads what `save` wrote. TensorFlow's own files are pickled objects, which are not read."""
        content = json.loads(Path(filename).read_text(encoding="utf-8"))
        vocabulary = CategoricalVocabulary()
        for word in content["words"][1:]:
            vocabulary.get(word)
        vocabulary.freeze()
        return cls(content["length"], content["frequency"], vocabulary)
