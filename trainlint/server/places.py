"""Where things are, in an editor's words and in ours: addresses and paths, units and characters."""

from __future__ import annotations

import os
from urllib.parse import quote, unquote, urlsplit

from trainlint.regex import regex

DRIVE = regex(r"/([A-Za-z]):(?=/|$)")
UNQUOTED = "/:!$&'()*+,;=@~"
"""Characters of a path that stand in an address as they are."""

UTF_8, UTF_16, UTF_32 = "utf-8", "utf-16", "utf-32"


def path_of(uri: str, system: str = os.name) -> str | None:
    """The absolute path that an address names on such a system; None where it names no file of this machine.

    >>> path_of("file:///home/me/my%20runs/%C3%A9t%C3%A9.py", "posix")
    '/home/me/my runs/été.py'
    >>> path_of("file:///c%3A/runs/train.py", "nt"), path_of("file:///C:/runs/train.py", "nt")
    ('C:\\\\runs\\\\train.py', 'C:\\\\runs\\\\train.py')
    >>> path_of("file://server/share/train.py", "nt"), path_of("file:///c%3A/runs/train.py", "posix")
    ('\\\\\\\\server\\\\share\\\\train.py', '/c:/runs/train.py')
    >>> path_of("untitled:Untitled-1") is None
    True
    """
    scheme, host, rest, _, _ = urlsplit(uri.replace("#", "%23").replace("?", "%3F"))
    path = unquote(rest)
    if scheme != "file" or not path.startswith("/"):
        return None
    if system != "nt":
        return None if host not in {"", "localhost"} else os.path.normpath(path)
    found = DRIVE.match(path)
    if host not in {"", "localhost"}:
        path = f"//{host}{path}"
    elif found:
        path = f"{found[1].upper()}:{path[found.end() :] or '/'}"
    return path.replace("/", "\\")


def uri_of(path: str, system: str = os.name) -> str:
    """The address of an absolute path.

    >>> uri_of("/home/me/my runs/#1.py", "posix"), uri_of("C:\\\\runs\\\\train.py", "nt")
    ('file:///home/me/my%20runs/%231.py', 'file:///c%3A/runs/train.py')
    """
    if system != "nt":
        return f"file://{quote(path, safe=UNQUOTED)}"
    forward = path.replace("\\", "/")
    if forward.startswith("//"):
        return f"file:{quote(forward, safe=UNQUOTED)}"
    drive, _, rest = forward.partition(":")
    return f"file:///{drive.lower()}%3A{quote(rest, safe=UNQUOTED)}"


def units(text: str, encoding: str) -> int:
    """How many units of an encoding a text takes.

    >>> [units("é😀", encoding) for encoding in (UTF_8, UTF_16, UTF_32)]
    [6, 3, 2]
    """
    if encoding == UTF_32 or text.isascii():
        return len(text)
    data = text.encode("utf-8" if encoding == UTF_8 else "utf-16-le", "surrogatepass")
    return len(data) if encoding == UTF_8 else len(data) // 2


def characters(text: str, count: int, encoding: str) -> int:
    """How many characters of a text so many units are; one of which only a part is counted does not count.

    >>> characters("é😀x", 3, UTF_16), characters("é😀x", 2, UTF_16), characters("é", 9, UTF_8)
    (2, 1, 1)
    """
    if encoding == UTF_32 or text.isascii():
        return min(count, len(text))
    if encoding == UTF_8:
        return len(text.encode("utf-8", "surrogatepass")[:count].decode("utf-8", "ignore"))
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * count].decode("utf-16-le", "ignore"))
