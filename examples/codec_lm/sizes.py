"""Sizes that the whole model agrees on."""

CODES = 1024
"""Entries of the codebook: audio tokens are 0 to CODES - 1."""

WIDTH = 64
EPOCHS = 120
