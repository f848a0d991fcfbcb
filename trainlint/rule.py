"""What a rule is, and how the installed ones are found."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.machinery import all_suffixes
from typing import Any

from trainlint.facts import Fact
from trainlint.finding import Finding
from trainlint.packs import Pack, packs
from trainlint.record import record, replace

Check = Callable[[Any], Iterator[Finding]]


class PackError(ValueError):
    """Rule packs that cannot be used together, or one that cannot be used at all; the message names them."""


@record
class Rule:
    """A check, the kind of fact it asks for, the page that explains it, and whether it runs with nothing selected."""

    code: str
    name: str
    page: str
    wants: type[Fact]
    check: Check
    on: bool = True

    @property
    def summary(self) -> str:
        """The page's first sentence, without the code."""
        return self.page.partition("\n")[0].partition(": ")[2]

    def run(self, fact: Fact) -> Iterator[Finding]:
        for finding in self.check(fact):
            yield replace(finding, code=self.code, name=self.name, call=finding.call or fact.call)


def rule(code: str, *, on: bool = True) -> Callable[[Check], Rule]:
    """Make a rule of a function: its name, its argument's annotation and its module's docstring say the rest."""

    def make(check: Check) -> Rule:
        page = _page(sys.modules[check.__module__].__doc__ or "")
        return Rule(code, check.__name__.replace("_", "-"), page, _wanted(check), check, on)

    return make


def _wanted(check: Check) -> type[Fact]:
    """What the first argument of a function is said to be."""
    said = next(iter(check.__annotations__.values()))
    found = check.__globals__.get(said) if isinstance(said, str) else said
    if not isinstance(found, type):
        from typing import get_type_hints

        found = next(iter(get_type_hints(check).values()))
    return found


def _page(text: str) -> str:
    """A docstring without the margin that it has in code; one of a module seldom has any."""
    _, *others = text.split("\n")
    if others and not any(line[:1].strip() for line in others):
        from inspect import cleandoc

        return cleandoc(text)
    return text.expandtabs().lstrip(" ").strip("\n")


def installed() -> dict[str, Rule]:
    """Every rule of every installed pack, by code.

    Raises:
        PackError: a pack cannot be loaded, or two claim one code; both are named.
    """
    rules: dict[str, Rule] = {}
    claims: dict[str, str] = {}
    for pack in packs():
        for found in _loaded(pack):
            claim = f"{found.name} of the pack {pack.name!r} ({pack.value})"
            if claims.setdefault(found.code, claim) != claim:
                raise PackError(f"{found.code} is claimed by both {claims[found.code]} and {claim}")
            rules[found.code] = found
    return dict(sorted(rules.items()))


def _loaded(pack: Pack) -> list[Rule]:
    try:
        return list(rules_in(pack.load()))
    except Exception as error:
        raise PackError(f"the rule pack {pack.name!r} ({pack.value}) cannot be loaded: {error!r}") from error


def rules_in(pack: Any) -> Iterator[Rule]:
    """The rules of one pack: every module of the package that defines one."""
    for name in dict.fromkeys(each for folder in pack.__path__ for each in _modules(folder)):
        module = import_module(f"{pack.__name__}.{name}")
        yield from (value for value in vars(module).values() if isinstance(value, Rule))


def _modules(folder: str) -> list[str]:
    """The names of the modules and packages in a folder, as ``pkgutil`` finds them, which takes longer."""
    if not os.path.isdir(folder):
        from pkgutil import iter_modules

        return [each.name for each in iter_modules([folder])]
    found = []
    for entry in sorted(os.listdir(folder)):
        suffix = next((each for each in all_suffixes() if entry.endswith(each)), "")
        is_package = not suffix and os.path.isfile(os.path.join(folder, entry, "__init__.py"))
        name = entry.removesuffix(suffix)
        if (suffix or is_package) and name != "__init__" and "." not in name:
            found.append(name)
    return found
