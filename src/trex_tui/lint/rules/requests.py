"""REQ: precisions, types and devices that were requested for layers by name, against those that run."""

from __future__ import annotations

RULES = ()
