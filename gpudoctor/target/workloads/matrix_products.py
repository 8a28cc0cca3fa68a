"""One float32 matrix product on the processor by several libraries, which shows what the processor can reach and what another library
would.

Standard library and NumPy, Python 3.8. Each time is the fastest of some repetitions, because other work on the machine only makes them
slower.
"""

import time

LONG_ENOUGH = 0.15
"""The seconds of repetitions for each library."""


def row(name, call, side, error=None):
    """The row of a library: the speed that it reached. `call()` computes one product of square matrices of `side`."""
    return {"name": name, "flops": 2 * side**3 / fastest(call), "max_relative_error": error}


def fastest(call, long_enough=LONG_ENOUGH):
    """The seconds of the fastest call, repeated for `long_enough` seconds."""
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
    """The rows of NumPy; none where it is not installed."""
    try:
        import numpy
    except ImportError:
        return []
    left = numpy.linspace(-1, 1, side * side, dtype=numpy.float32).reshape(side, side)
    right, out = left.T.copy(), numpy.empty_like(left)
    return [row(numpy_library(numpy), lambda: numpy.dot(left, right, out=out), side)]


def numpy_library(numpy):
    """'OpenBLAS of NumPy', for example; 'NumPy' where NumPy does not say which library it uses."""
    try:
        name = str(numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"])
    except Exception:  # older releases only print it
        return "NumPy"
    known = {"openblas": "OpenBLAS", "mkl": "MKL", "accelerate": "Accelerate", "blis": "BLIS"}
    return next((title for word, title in known.items() if word in name.lower()), name) + " of NumPy"
