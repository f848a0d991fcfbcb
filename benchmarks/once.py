"""Run one command and print what it took: ``python once.py SECONDS COMMAND ...`` -> one line of JSON.

A process of its own, as small as it can be: the largest size that the system reports of a command is never less than
that of the process which started it. A command that takes longer than SECONDS is ended, with all that it started.
"""

import json
import os
import signal
import sys
import time


def main() -> None:
    limit, command = float(sys.argv[1]), sys.argv[2:]
    silent = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    ended = []
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=silent, setpgroup=0)

    def end(*_: object) -> None:
        ended.append(limit)
        os.killpg(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, limit)
    _, status, used = os.wait4(child, 0)
    wall = time.perf_counter() - start
    signal.setitimer(signal.ITIMER_REAL, 0)
    took = {"processor": used.ru_utime + used.ru_stime, "wall": wall,
            "memory": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
            "status": os.waitstatus_to_exitcode(status), "limit": limit if ended else 0.0}  # fmt: skip
    print(json.dumps(took))


if __name__ == "__main__":
    main()
