"""The public function ``preload``, which builds validators at the start of a service.

It is a separate module because it imports both ``input`` and ``event_parser``.
"""

from __future__ import annotations

from collections.abc import Iterable

from formatbridge.arguments import shown
from formatbridge.convert.event_parser import event_reader
from formatbridge.convert.input import COUNTS, KINDS, validator_of
from formatbridge.errors import ConfigurationError
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.registry import FORMATS, load
from formatbridge.formats.target import FormatOrName


def preload(formats: Iterable[FormatOrName] | None = None) -> None:
    """Load formats and build their validators before the first conversion.

    ``formats``: the formats that the process will use, for example ``("messages", "responses")``; None: all built-in formats, which takes
    about 0.7 seconds of CPU time. Without this call the first conversion of each kind takes up to 0.25 seconds longer. A second call
    does nothing. Raises ``UnknownFormatError`` for an unknown name.
    """
    for format in _specs(formats):
        # A request for a token count has the validator of a whole request.
        kinds = [kind for kind in KINDS.values() if kind not in COUNTS or (kind == "count_response" and format.count is not None)]
        for kind in kinds:
            validator_of(format, kind)
        event_reader(format)


def _specs(chosen: Iterable[FormatOrName] | None) -> list[FormatSpec]:
    if chosen is None:
        return [load(name) for name in FORMATS]
    if isinstance(chosen, str | bytes) or not isinstance(chosen, Iterable):
        raise ConfigurationError(f"formats is {shown(chosen)}, expected names of formats in a tuple, list or set")
    return [load(format) for format in chosen]
