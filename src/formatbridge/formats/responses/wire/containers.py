"""Containers for hosted code, their network access, and the skills in them.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Literal

from formatbridge.validation.wire_base import Open, Unknown, Wire


class DomainSecret(Wire):
    """A secret that the server inserts into requests to one domain."""

    domain: str
    name: str
    value: str


class NetworkDisabled(Wire):
    """No network access."""

    type: Literal["disabled"]


class NetworkAllowlist(Wire):
    """Network access to a list of domains only."""

    allowed_domains: list[str]
    type: Literal["allowlist"]
    domain_secrets: list[DomainSecret] | None = None


NetworkPolicy = Annotated[NetworkDisabled | NetworkAllowlist | Unknown, Open("type")]
"""The network access of a container."""


class SkillReference(Wire):
    """A skill stored on the server."""

    skill_id: str
    type: Literal["skill_reference"]
    version: str | None = None


class SkillArchive(Wire):
    """The files of an inline skill."""

    data: str
    """Base64 of a zip archive."""
    media_type: str
    """Currently only ``application/zip``."""
    type: str
    """Currently only ``base64``."""


class InlineSkill(Wire):
    """A skill sent with the request."""

    description: str
    name: str
    source: SkillArchive
    type: Literal["inline"]


Skill = Annotated[SkillReference | InlineSkill | Unknown, Open("type")]
"""A skill for a hosted container."""


class LocalSkill(Wire):
    """A skill on the caller's computer."""

    description: str
    name: str
    path: str


class AutoContainer(Wire):
    """A container that the server creates for the code interpreter."""

    type: Literal["auto"]
    file_ids: list[str] | None = None
    memory_limit: str | None = None
    """``1g``, ``4g``, ``16g`` or ``64g``."""
    network_policy: NetworkPolicy | None = None


class ShellContainer(Wire):
    """A container that the server creates for the shell tool."""

    type: Literal["container_auto"]
    file_ids: list[str] | None = None
    memory_limit: str | None = None
    """``1g``, ``4g``, ``16g`` or ``64g``."""
    network_policy: NetworkPolicy | None = None
    skills: list[Skill] | None = None


class LocalEnvironment(Wire):
    """The caller's computer; the caller runs the commands."""

    type: Literal["local"]
    skills: list[LocalSkill] | None = None
    """Requests only."""


class ContainerReference(Wire):
    """An existing container."""

    container_id: str
    type: Literal["container_reference"]


CodeContainer = Annotated[AutoContainer | Unknown, Open("type")]
"""The container of the code interpreter, if it is not an id."""

Environment = Annotated[ShellContainer | LocalEnvironment | ContainerReference | Unknown, Open("type")]
"""The environment of the shell tool."""
