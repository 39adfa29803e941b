"""Compare engines: match layers by evidence, attribute times, list changes, judge differences beyond noise."""
