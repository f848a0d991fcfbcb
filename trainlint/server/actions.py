"""Changes that somebody may want in, code actions out: fixes, comments that silence, and all safe fixes at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from lsprotocol import types

from trainlint.server.diagnostics import Atlas, diagnostic, shown_by
from trainlint.server.work import Change, Look

FIX_ALL = "source.fixAll.trainlint"
QUICK_FIX = types.CodeActionKind.QuickFix.value
KINDS = (QUICK_FIX, FIX_ALL)


def is_wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a kind of action is among those that are asked for; the kinds are a tree of words.

    >>> is_wanted(FIX_ALL, ["source"]), is_wanted(FIX_ALL, ["quickfix"]), is_wanted(FIX_ALL, None)
    (True, False, True)
    """
    return only is None or any(kind == each or kind.startswith(f"{each}.") for each in only)


def action(
    change: Change, kind: str, look: Look, atlas: Atlas, client: types.ClientCapabilities
) -> types.CodeAction | None:
    """A change as the editor applies it, preferred only if it is a safe fix; None where it knows no place for it."""
    if any(atlas.is_inside(edit.where) for edit in change.edits):
        return None
    return types.CodeAction(
        change.title,
        kind=kind,
        diagnostics=[diagnostic(finding, atlas, shown_by(client)) for finding in change.findings],
        is_preferred=(change.is_safe and kind == QUICK_FIX) or None,
        edit=_edit(change, look, atlas, client),
    )


def _edit(change: Change, look: Look, atlas: Atlas, client: types.ClientCapabilities) -> types.WorkspaceEdit:
    by_uri: dict[str, list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit]] = defaultdict(list)
    versions: dict[str, int | None] = {}
    for edit in change.edits:
        opened = look.opened.get(edit.where.path)
        buffer = opened.buffers.get(edit.where.cell) if opened else None
        place, newline = atlas.location(edit.where), buffer.newline if buffer else "\n"
        versions[place.uri] = buffer.version if buffer else None
        by_uri[place.uri].append(types.TextEdit(place.range, edit.text.replace("\n", newline)))
    wants = client.workspace and client.workspace.workspace_edit
    if not (wants and wants.document_changes):
        return types.WorkspaceEdit(
            changes={uri: [each for each in edits if isinstance(each, types.TextEdit)] for uri, edits in by_uri.items()}
        )
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, versions[uri]), edits)
            for uri, edits in by_uri.items()
        ]
    )
