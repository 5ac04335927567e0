"""Canonical bytes of a capture and the identity that follows from them."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Mapping

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def canonical_json(document: Mapping[str, Any]) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces. Raises ValueError for NaN, infinities and cycles.

    A lone surrogate, as in a file name that is not UTF-8, has no place in UTF-8 and becomes U+FFFD.
    """
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text).encode("utf-8")


def digest(data: bytes) -> str:
    """`sha256:` and the hex digest."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def capture_id(document: Mapping[str, Any]) -> str:
    """Content identity of a capture document: the digest of everything in it but `captureId` itself."""
    return digest(canonical_json({key: value for key, value in document.items() if key != "captureId"}))
