"""Pretrained transformers: their weights, tokenizers, encoders and cross-encoders."""
