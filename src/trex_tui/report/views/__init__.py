"""What commands, reports and screens show of a subject, as sections."""
