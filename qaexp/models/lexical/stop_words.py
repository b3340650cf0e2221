"""Which words say something of a text's content."""

import torch
from jaxtyping import Bool
from torch import Tensor

from qaexp.data.vocabulary import Vocabulary


def content_words(vocabulary: Vocabulary) -> Bool[Tensor, " word"]:
    """False for the stop words of gensim's list, and for every token without a letter or digit.

    >>> content_words(Vocabulary.of_words(["The", "soup", "?"])).tolist()[2:]
    [False, True, False]
    """
    from gensim.parsing.preprocessing import STOPWORDS  # most of a second to import

    return torch.tensor([any(map(str.isalnum, word)) and word.lower() not in STOPWORDS for word in vocabulary.words])
