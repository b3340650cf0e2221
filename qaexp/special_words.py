"""Ids that are no word's: 0 is padding, 1 stands for every unknown word."""

PADDING, UNKNOWN = 0, 1
SPECIAL_WORDS = ("<pad>", "<unk>")
