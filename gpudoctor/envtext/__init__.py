"""The text of an environment, at most 8 KB: asked with the standard library alone, written for people, and read back as a recorded machine.

`gpudoctor-env.py` consists of the modules of this folder but for `reading.py`, in one file (docs/env_script.py); nothing here imports another
part of gpudoctor, and all of it runs under Python 3.8.
"""
