"""The vocabulary: what can be true of a training program.

An observer makes facts (``source`` reads code, ``probe`` watches a run), a rule turns one fact into findings. Facts
hold no syntax node, no tensor and no file handle, so a rule cannot tell who is speaking.
"""

from trainlint.facts.copies import KeptWeights, LoadedModel, Sharing, WeightAverage
from trainlint.facts.fact import Fact, Facts, Unjudged
from trainlint.facts.loop import StuckEval
from trainlint.facts.precision import (
    Accumulator,
    Compensation,
    Device,
    Dtype,
    LossArithmetic,
    Optimizer,
    Spelling,
    Storage,
)
from trainlint.facts.runs import ClassCoverage, ZeroSignal
from trainlint.facts.selection import Measured, NewestBest, Purpose, Selection
from trainlint.facts.targets import (
    Activation,
    Alias,
    ClassCut,
    CtcLoss,
    Embedding,
    EmptyMean,
    Fill,
    Form,
    Ids,
    Job,
    LabelledLayer,
    LabelMask,
    LabelShift,
    Layer,
    Loss,
    LossInput,
    Metric,
    Relabelling,
    ReservedClass,
    SentinelIndex,
    Service,
    StopCheck,
    Targets,
    UnusedSentinel,
)
from trainlint.facts.tool import Crash, Unreadable

__all__ = [
    "Accumulator",
    "Activation",
    "Alias",
    "ClassCoverage",
    "ClassCut",
    "Compensation",
    "Crash",
    "CtcLoss",
    "Device",
    "Dtype",
    "Embedding",
    "EmptyMean",
    "Fact",
    "Facts",
    "Fill",
    "Form",
    "Ids",
    "Job",
    "KeptWeights",
    "LabelMask",
    "LabelShift",
    "LabelledLayer",
    "Layer",
    "LoadedModel",
    "Loss",
    "LossArithmetic",
    "LossInput",
    "Measured",
    "Metric",
    "NewestBest",
    "Optimizer",
    "Purpose",
    "Relabelling",
    "ReservedClass",
    "Selection",
    "SentinelIndex",
    "Service",
    "Sharing",
    "Spelling",
    "StopCheck",
    "Storage",
    "StuckEval",
    "Targets",
    "Unjudged",
    "Unreadable",
    "UnusedSentinel",
    "WeightAverage",
    "ZeroSignal",
]
