"""Any accepted input as the files that trex wrote and read, so that older notebooks go on working."""
