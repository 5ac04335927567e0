"""Canonical bytes of a capture and the identity that follows from them."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Mapping


def canonical_json(document: Mapping[str, Any]) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces. Raises ValueError for NaN, infinities and cycles."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def digest(data: bytes) -> str:
    """`sha256:` and the hex digest."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def capture_id(document: Mapping[str, Any]) -> str:
    """Content identity of a capture document: the digest of everything in it but `captureId` itself."""
    return digest(canonical_json({key: value for key, value in document.items() if key != "captureId"}))
