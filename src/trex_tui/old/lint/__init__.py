"""Find problems of an engine, with their cost, a remedy, and the possible savings in milliseconds."""
