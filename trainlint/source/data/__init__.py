"""Data files as data: the bytes of one in, its values out, each with the place where it is written.

Nothing is executed and no object of a file's own making is built: what is no plain number, text or container is said to
be so.
"""
