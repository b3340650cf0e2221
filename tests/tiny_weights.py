"""Pretrained weights for tests: a BERT of two layers and its tokenizer, drawn at random, in a folder as `save_pretrained` leaves it."""

from pathlib import Path

import pytest
import torch

WHY = "pretrained encoders need transformers: pip install 'qaexp[pretrained]'"

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [*SPECIAL, ".", ",", "?", "'", *LETTERS, *(f"##{letter}" for letter in LETTERS), "the", "is", "##ing"]


def write_tiny_weights(folder: Path, max_length: int = 64, seed: int = 3) -> Path:
    """The folder, with weights in it. Skips the test where the library is missing."""
    transformers = pytest.importorskip("transformers", reason=WHY)
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    transformers.utils.logging.disable_progress_bar()
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    folder.mkdir(parents=True, exist_ok=True)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]"
    ).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(PIECES),
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=max_length,
        initializer_range=0.3,
    )
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    transformers.BertModel(config).save_pretrained(folder)
    torch.set_rng_state(state)
    return folder
