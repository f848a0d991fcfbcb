"""A vocabulary as data: the bytes of ``tokenizer.json``, ``vocab.json`` or ``vocab.txt`` in, the id of each token out.

It may have hundreds of thousands of entries of which a program names a few, so the standard library reads it, and where
a token is written is looked for when somebody asks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from trainlint.record import thing
from trainlint.source.data.datum import Broken, Place, text_of


@thing
class Vocabulary:
    """The ids of a model's own tokens, those of the tokens added to them, and the text in which they are written."""

    ids: Mapping[str, int]
    added: Mapping[str, int]
    text: str

    def number(self, token: str) -> int | None:
        """The id of a token; an added one counts first, as it does when texts are cut."""
        return self.added.get(token, self.ids.get(token))

    def place(self, token: str) -> Place:
        """Where a token is written; a list of words has no quotes."""
        import json

        spelled = {json.dumps(token), json.dumps(token, ensure_ascii=False)}
        quoted = "|".join(map(re.escape, sorted(spelled)))
        content = rf'"content"\s*:\s*({quoted})'
        shapes = (content, rf"({quoted})\s*:\s*\d", rf"\[\s*({quoted})", rf"(?m)^({re.escape(token)})$")
        found = next(filter(None, (re.search(shape, self.text) for shape in shapes)), None)
        if found is None:
            return Place()
        row, start = self.text.count("\n", 0, found.start(1)) + 1, self.text.rfind("\n", 0, found.start(1)) + 1
        return Place(row, found.start(1) - start + 1, row, found.end(1) - start + 1)


def of_json(data: bytes) -> Vocabulary:
    """The vocabulary of ``tokenizer.json``, or a plain table of tokens and ids."""
    text = text_of(data)
    import json

    try:
        found: object = json.loads(text)
    except ValueError as error:
        raise Broken("it is no JSON", getattr(error, "lineno", 1)) from None
    except RecursionError:
        raise Broken("it is nested too deep") from None
    table = found if isinstance(found, dict) else {}
    model = table.get("model")
    if not isinstance(model, dict):
        return Vocabulary(_ids(found), {}, text)
    listed = table.get("added_tokens") or []
    pairs = [(each.get("content"), each.get("id")) for each in listed if isinstance(each, dict)]
    return Vocabulary(_ids(model.get("vocab")), _ids(dict(pairs) if _are_texts(pairs) else None), text)


def of_lines(data: bytes) -> Vocabulary:
    """The vocabulary of ``vocab.txt``: a token a line, its id the number of the line."""
    text = text_of(data).replace("\r\n", "\n")
    return Vocabulary({token: row for row, token in enumerate(text.removesuffix("\n").split("\n"))}, {}, text)


def _are_texts(pairs: list[tuple[object, object]]) -> bool:
    return all(isinstance(token, str) for token, _ in pairs)


def _ids(table: object) -> dict[str, int]:
    """Tokens with their ids, or with their scores in the order of their ids."""
    if isinstance(table, list) and all(isinstance(each, list) and each and isinstance(each[0], str) for each in table):
        return {each[0]: row for row, each in enumerate(table)}
    if isinstance(table, dict) and all(type(number) is int and number >= 0 for number in table.values()):
        return table
    raise Broken("it holds no vocabulary")
