"""What every number is: a module of terms per subject, and the registry that finds a term by key, path or label."""
