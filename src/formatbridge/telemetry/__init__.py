"""OpenTelemetry: requests and answers of every format as attributes of the GenAI semantic conventions, and spans of calls.

The names are those of ``open-telemetry/semantic-conventions-genai`` (status: development), schema ``SCHEMA_URL``, as of 2026-11:
``docs/gen-ai/client-inference.md`` and the models in ``docs/gen-ai/non-normative/models.py``. No package of OpenTelemetry is needed to
compute attributes; ``opentelemetry-api`` is needed only to record spans.
"""

from formatbridge.telemetry.attributes import SCHEMA_URL, genai_attributes
from formatbridge.telemetry.spans import Tracer

__all__ = ["SCHEMA_URL", "Tracer", "genai_attributes"]
