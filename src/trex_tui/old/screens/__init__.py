"""Screens of the explorer, one module each."""

from __future__ import annotations
