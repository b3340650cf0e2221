"""Pretrained transformers: their weights, tokenizers, states, and the models that they make."""
