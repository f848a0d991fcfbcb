"""Comments that silence: text in; what it silences, what of it is idle or wrong, and where more would stand out."""

from trainlint.suppress.ignores import ignores
from trainlint.suppress.remarks import Ran, invalid, unexplained, unused
from trainlint.suppress.silences import Silence, silenced, silences

__all__ = ["Ran", "Silence", "ignores", "invalid", "silenced", "silences", "unexplained", "unused"]
