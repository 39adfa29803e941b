"""What is wrong with an engine, what it costs, and what to do: rules, findings, and the milliseconds it could save."""
