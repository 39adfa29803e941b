"""Pure functions over an engine: what screens, reports and commands show comes from here, once."""
