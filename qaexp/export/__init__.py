"""Writes a trained run in other people's formats: ONNX, a folder of sentence-transformers, a model card."""
