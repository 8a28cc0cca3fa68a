"""Which recipe suits this machine, and which stack is best for it: pure functions from facts to choices."""
