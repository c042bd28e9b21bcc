"""The scalar types that the contracts share, each with its bounds."""

from typing import Annotated, Any

from pydantic import Field

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

# SQLite keeps integers of 64 bits, so a larger one can never be indexed and is refused in every contract.
Int64 = Annotated[int, Field(ge=INT64_MIN, le=INT64_MAX)]
Natural = Annotated[int, Field(ge=0, le=INT64_MAX)]
Positive = Annotated[int, Field(ge=1, le=INT64_MAX)]

# A number may be written as an integer, hence the same bound; `lt` because 2**63 - 1 is no float.
Number = Annotated[float, Field(ge=0, lt=2**63)]
NullableNumber = Natural | Number | None

Text = Annotated[str, Field(min_length=1)]
Text64 = Annotated[str, Field(min_length=1, max_length=64)]
Text128 = Annotated[str, Field(min_length=1, max_length=128)]
Max64 = Annotated[str, Field(max_length=64)]
Max128 = Annotated[str, Field(max_length=128)]
Max256 = Annotated[str, Field(max_length=256)]
Max1024 = Annotated[str, Field(max_length=1024)]
Max4096 = Annotated[str, Field(max_length=4096)]

# The patterns are matched by Rust's regex engine, whose `$` is the very end: a trailing newline does not match.
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
GitRevision = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
ShortDigest = Annotated[str, Field(pattern=r"^[0-9a-f]{24}$")]

Texts = list[str]
SomeTexts = Annotated[list[str], Field(min_length=1)]
SomeNonEmptyTexts = Annotated[list[Text], Field(min_length=1)]

# What a contract leaves open: any JSON object, any JSON value.
FreeObject = dict[str, Any]
FreeArray = list[Any]
