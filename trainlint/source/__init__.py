"""The observer that reads code and runs none of it: paths in, facts out."""

from trainlint.source.observe import Project, observe, sites

__all__ = ["Project", "observe", "sites"]
