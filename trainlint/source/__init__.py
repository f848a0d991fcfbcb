"""The observer that reads code and runs none of it: paths in, facts out."""

from trainlint.source.observe import Project, cells, definitions, foreign, observe, settle, sites

__all__ = ["Project", "cells", "definitions", "foreign", "observe", "settle", "sites"]
