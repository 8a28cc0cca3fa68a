"""What to set up: which recipe serves this machine, which stack is best for it. Pure: facts in, choices out."""
