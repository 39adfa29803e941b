"""What a person sees: one module per screen."""

from __future__ import annotations
