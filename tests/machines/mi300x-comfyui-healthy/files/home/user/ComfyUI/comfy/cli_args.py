parser = None
