"""Small programs, one for each rule that can be watched: an arm with the bug, an arm without, numbers out of each.

A program needs torch alone and runs by itself, too. It has ``ARMS``, the wrong one first, the names of its ``LOSS`` and
of the ``CAPABILITY`` that differs, and ``train``, which takes an arm and gives its numbers by name.
"""
