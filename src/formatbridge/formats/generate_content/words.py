"""Words of enumerations: upper case, whatever case or number they come in."""

from __future__ import annotations

from collections.abc import Sequence


def word_of(value: str | int | None, numbered: Sequence[str] = ()) -> str:
    """Return the name of an enumeration's value in upper case; "" where nothing was said.

    ``numbered``: the names by number, as the vendor's protocol definitions count them. A number beyond them stays a number.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value.upper()
    return numbered[value] if 0 <= value < len(numbered) else str(value)
