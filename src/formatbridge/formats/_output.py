"""The shape of an answer where servers give objects alone."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.losses import Ledger


def note_root(format: ir.OutputFormat, losses: Ledger) -> None:
    """Note a schema whose root is no object: it is written as it is, and the vendor's own server refuses it.

    To wrap it in an object would change the answer that the caller reads. A root without a type may be one all the same.
    """
    kind = format.schema.get("type") if format.schema else None
    if kind is not None and kind != "object" and not (isinstance(kind, list) and "object" in kind):
        losses.changed(format, "schema/type", kind, "out_of_range")
