"""gpudoctor: why does this GPU not do deep learning, and what is the one thing to do."""

__version__ = "0.1.0"
