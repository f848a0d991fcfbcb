"""Find training bugs that the loss curve cannot show.

This module is the whole API that a rule may use: the facts to ask for, the findings to answer with, and the decorator that
joins the two.
"""

from trainlint.facts import CtcLoss, Fact, Facts, Fill, Job, Layer, Loss, Metric, Targets, Unjudged
from trainlint.finding import Finding, Severity
from trainlint.rule import Rule, rule
from trainlint.span import Span
from trainlint.value import Integer, Position, Proof, Role, Step, Symbol, Table, Unknown

__version__ = "0.1.0"

__all__ = [
    "CtcLoss", "Fact", "Facts", "Fill", "Finding", "Integer", "Job", "Layer", "Loss", "Metric", "Position", "Proof",
    "Role", "Rule", "Severity", "Span", "Step", "Symbol", "Table", "Targets", "Unjudged", "Unknown", "rule",
]
