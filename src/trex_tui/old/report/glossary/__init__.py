"""The glossary of all numbers: a module of terms per subject, and the registry that finds a term by key, path or label."""
