"""What the tables of an engine say: functions from an engine to columns, frames and facts."""
