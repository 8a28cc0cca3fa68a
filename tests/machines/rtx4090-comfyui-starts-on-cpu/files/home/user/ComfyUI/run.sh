#!/bin/sh
# main.py --lowvram was here
.venv/bin/python main.py --cpu --listen
