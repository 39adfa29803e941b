"""Damage done to artifacts, and what must hold whatever the damage."""
