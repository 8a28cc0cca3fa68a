"""Facts and catalogue to findings and ladders: pure, no I/O."""
