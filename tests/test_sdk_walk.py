"""The walk over SDK types finds what it is for; a walk that finds nothing proves little."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Required, TypedDict

import pytest

from formatbridge.validation.wire_base import Open, Unknown, Wire
from tests import sdk_walk


class SdkText(TypedDict, total=False):
    type: Required[Literal["text"]]
    text: Required[str | None]


class SdkImage(TypedDict, total=False):
    type: Required[Literal["image", "image_v2"]]
    size: int


class SdkBody(TypedDict, total=False):
    parts: Iterable[SdkText | SdkImage]


class Text(Wire):
    type: Literal["text"]
    text: str | None


class Deaf(Wire):
    type: Literal["text"]


class Strict(Wire):
    type: Literal["text"]
    text: str


class Image(Wire):
    type: Literal["image", "image_v2"]
    size: float | None = None


class HalfImage(Wire):
    type: Literal["image"]
    size: int | None = None


class Whole(Wire):
    parts: list[Annotated[Text | Image | Unknown, Open("type")]]


class LacksField(Wire):
    parts: list[Annotated[Deaf | Image | Unknown, Open("type")]]


class LacksMember(Wire):
    parts: list[Annotated[Text | Unknown, Open("type")]]


class LacksTag(Wire):
    parts: list[Annotated[Text | HalfImage | Unknown, Open("type")]]


class LacksNull(Wire):
    parts: list[Annotated[Strict | Image | Unknown, Open("type")]]


class LacksArray(Wire):
    parts: Annotated[Text | Image | Unknown, Open("type")]


class Untyped(Wire):
    parts: list[dict[str, Any]]


@pytest.mark.parametrize(
    ("ours", "findings"),
    [
        (Whole, []),
        (LacksField, ["Deaf.text: unknown field"]),
        (
            LacksMember,
            ["LacksMember.parts(type=image): no such member", "LacksMember.parts(type=image_v2): no such member"],
        ),
        (LacksTag, ["LacksTag.parts(type=image_v2): no such member"]),
        (LacksNull, ["Strict.text: takes no null"]),
        (LacksArray, ["LacksArray.parts: takes no array"]),
        (Untyped, ["Untyped.parts: free-form, typed in the SDK: SdkImage, SdkText"]),
    ],
)
def test_whatever_only_the_sdk_knows_is_found(ours: type[Wire], findings: list[str]) -> None:
    """Fails when the walk overlooks a place; then the comparison with the SDKs passes for nothing."""
    found = sdk_walk.walk([("Body", SdkBody, ours)])

    assert [f"{finding.place}: {finding.trouble}" for finding in found] == findings


class Tool(Wire):
    type: Literal["custom"] | None = None


class Other(Wire):
    type: Literal["other"]


class SdkTool(TypedDict, total=False):
    type: Literal["custom"] | None


def test_an_object_without_its_tag_needs_a_member_of_ours() -> None:
    """An SDK's user may leave an optional tag out; a union that names no member for that misses the object."""
    named, unnamed = Annotated[Tool | Other, Open("type", absent="custom")], Annotated[Tool | Other, Open("type")]

    assert sdk_walk.walk([("Tool", SdkTool, named)]) == []
    assert [finding.place for finding in sdk_walk.walk([("Tool", SdkTool, unnamed)])] == ["Tool(type=None)"]
