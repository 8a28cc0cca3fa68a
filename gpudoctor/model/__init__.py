"""Plain data: facts, checks, stacks, findings, reports. No behaviour beyond small look-ups, no I/O."""
