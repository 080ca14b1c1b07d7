"""Where hosted code runs: containers, their network, and the skills put into them."""

from typing import Annotated, Literal

from formatbridge.validation.wire_base import Open, Unknown, Wire


class DomainSecret(Wire):
    """A secret that is put into requests to one domain.

    Source: official SDK types, 2026-11.
    """

    domain: str
    name: str
    value: str


class NetworkDisabled(Wire):
    """No network.

    Source: official SDK types, 2026-11.
    """

    type: Literal["disabled"]


class NetworkAllowlist(Wire):
    """Network to named domains alone.

    Source: official SDK types, 2026-11.
    """

    allowed_domains: list[str]
    type: Literal["allowlist"]
    domain_secrets: list[DomainSecret] | None = None


NetworkPolicy = Annotated[NetworkDisabled | NetworkAllowlist | Unknown, Open("type")]
"""Which hosts a container may reach."""


class SkillReference(Wire):
    """A skill kept by the server.

    Source: official SDK types, 2026-11.
    """

    skill_id: str
    type: Literal["skill_reference"]
    version: str | None = None


class SkillArchive(Wire):
    """The files of an inline skill.

    Source: official SDK types, 2026-11.
    """

    data: str
    """Base64 of a zip archive."""
    media_type: str
    """Today only ``application/zip``."""
    type: str
    """Today only ``base64``."""


class InlineSkill(Wire):
    """A skill sent with the request.

    Source: official SDK types, 2026-11.
    """

    description: str
    name: str
    source: SkillArchive
    type: Literal["inline"]


Skill = Annotated[SkillReference | InlineSkill | Unknown, Open("type")]
"""A skill for a hosted container."""


class LocalSkill(Wire):
    """A skill on the caller's machine.

    Source: official SDK types, 2026-11.
    """

    description: str
    name: str
    path: str


class AutoContainer(Wire):
    """A container that the server makes for the code interpreter.

    Source: official SDK types, 2026-11.
    """

    type: Literal["auto"]
    file_ids: list[str] | None = None
    memory_limit: str | None = None
    """``1g``, ``4g``, ``16g`` or ``64g``."""
    network_policy: NetworkPolicy | None = None


class ShellContainer(Wire):
    """A container that the server makes for the shell tool.

    Source: official SDK types, 2026-11.
    """

    type: Literal["container_auto"]
    file_ids: list[str] | None = None
    memory_limit: str | None = None
    """``1g``, ``4g``, ``16g`` or ``64g``."""
    network_policy: NetworkPolicy | None = None
    skills: list[Skill] | None = None


class LocalEnvironment(Wire):
    """The caller's own machine; the caller runs the commands.

    Source: official SDK types, 2026-11.
    """

    type: Literal["local"]
    skills: list[LocalSkill] | None = None
    """Requests only."""


class ContainerReference(Wire):
    """A container that exists already.

    Source: official SDK types, 2026-11.
    """

    container_id: str
    type: Literal["container_reference"]


CodeContainer = Annotated[AutoContainer | Unknown, Open("type")]
"""Where the code interpreter runs, when no id is given."""

Environment = Annotated[ShellContainer | LocalEnvironment | ContainerReference | Unknown, Open("type")]
"""Where the shell tool runs."""
