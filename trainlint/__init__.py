"""Find training bugs that the loss curve cannot show.

This module is the whole API that a rule may use: the facts to ask for, the findings to answer with, the words
that names are read by, and the decorator that joins them.
"""

import sys

if sys.argv[:1] == ["-m"] and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    # ``python -m trainlint`` is starting. The working directory, often the one that is linted, comes before the
    # standard library: an ``ast.py`` in it would be executed, and so would a rule pack that it says is installed.
    del sys.path[0]

from trainlint.facts import (
    Accumulator,
    Activation,
    Alias,
    ClassCoverage,
    ClassCut,
    Crash,
    CtcLoss,
    Device,
    Dtype,
    Embedding,
    EmptyMean,
    Fact,
    Facts,
    Fill,
    Form,
    Ids,
    Job,
    KeptWeights,
    LabelledLayer,
    LabelMask,
    LabelShift,
    Layer,
    Loss,
    LossArithmetic,
    LossInput,
    Metric,
    Relabelling,
    ReservedClass,
    SentinelIndex,
    Service,
    Sharing,
    Spelling,
    StopCheck,
    Storage,
    StuckEval,
    Targets,
    Unjudged,
    Unreadable,
    UnusedSentinel,
    ZeroSignal,
)
from trainlint.finding import Finding, Severity
from trainlint.knowledge.numerics import cutoff
from trainlint.knowledge.roles import END_TEXT_IDS, entry_role, index_roles, roles
from trainlint.rule import Rule, rule
from trainlint.span import Span
from trainlint.value import Integer, Position, Proof, Real, Role, Step, Symbol, Table, Unknown, given, joined, taken

__version__ = "0.1.0"

__all__ = [
    "END_TEXT_IDS",
    "Accumulator",
    "Activation",
    "Alias",
    "ClassCoverage",
    "ClassCut",
    "Crash",
    "CtcLoss",
    "Device",
    "Dtype",
    "Embedding",
    "EmptyMean",
    "Fact",
    "Facts",
    "Fill",
    "Finding",
    "Form",
    "Ids",
    "Integer",
    "Job",
    "KeptWeights",
    "LabelMask",
    "LabelShift",
    "LabelledLayer",
    "Layer",
    "Loss",
    "LossArithmetic",
    "LossInput",
    "Metric",
    "Position",
    "Proof",
    "Real",
    "Relabelling",
    "ReservedClass",
    "Role",
    "Rule",
    "SentinelIndex",
    "Service",
    "Severity",
    "Sharing",
    "Span",
    "Spelling",
    "Step",
    "StopCheck",
    "Storage",
    "StuckEval",
    "Symbol",
    "Table",
    "Targets",
    "Unjudged",
    "Unknown",
    "Unreadable",
    "UnusedSentinel",
    "ZeroSignal",
    "cutoff",
    "entry_role",
    "given",
    "index_roles",
    "joined",
    "roles",
    "rule",
    "taken",
]
