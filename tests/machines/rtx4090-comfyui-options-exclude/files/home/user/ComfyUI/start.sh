exec .venv/bin/python main.py --highvram --lowvram
