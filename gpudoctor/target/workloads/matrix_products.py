"""One float32 matrix product on the processor by several libraries: what this processor can do at most, and what another path would give.

Standard library and NumPy, Python 3.8. Each is the fastest of some repetitions: other work on the machine only makes them slower.
"""

import time

LONG_ENOUGH = 0.15
"""Seconds for each library."""


def row(name, call, side, error=None):
    """What a library reached. `call()`: one product of square matrices of `side`."""
    return {"name": name, "flops": 2 * side**3 / fastest(call), "max_relative_error": error}


def fastest(call, long_enough=LONG_ENOUGH):
    """Seconds."""
    call()
    best, end = float("inf"), time.perf_counter() + long_enough
    while True:
        begin = time.perf_counter()
        call()
        now = time.perf_counter()
        best = min(best, now - begin)
        if now >= end:
            return best


def by_numpy(side):
    """Rows of NumPy, where it is there."""
    try:
        import numpy
    except ImportError:
        return []
    left = numpy.linspace(-1, 1, side * side, dtype=numpy.float32).reshape(side, side)
    right, out = left.T.copy(), numpy.empty_like(left)
    return [row(numpy_library(numpy), lambda: numpy.dot(left, right, out=out), side)]


def numpy_library(numpy):
    """'OpenBLAS of NumPy', as far as it tells."""
    try:
        name = str(numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"])
    except Exception:  # older ones only print it
        return "NumPy"
    known = {"openblas": "OpenBLAS", "mkl": "MKL", "accelerate": "Accelerate", "blis": "BLIS"}
    return next((title for word, title in known.items() if word in name.lower()), name) + " of NumPy"
