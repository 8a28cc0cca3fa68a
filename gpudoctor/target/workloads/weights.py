"""Weights and inputs by arithmetic: the same float32 numbers on every backend, machine and release, without a random generator.

One table of 262,139 numbers (a prime, so that rows of tensors do not repeat), made by an integer hash, is laid out again and again,
each tensor beginning at a place that its name gives. They look random, which matters: zeros and constants make processors faster than
real data does. Uses numpy where it is present, else the standard library (slow above some ten million numbers). Python 3.8.
"""

import array
import functools
import math
import zlib

try:
    import numpy
except ImportError:
    numpy = None

LENGTH = 262139
MASK = 0xFFFFFFFF


def _mixed(x):
    """A 32-bit integer hash, of one int or of a numpy array of uint64."""
    x = x * 2654435761 & MASK
    x = (x ^ x >> 15) * 2246822519 & MASK
    x = (x ^ x >> 13) * 3266489917 & MASK
    return x ^ x >> 16


@functools.lru_cache(maxsize=None)
def table():
    """LENGTH numbers from -1 to below 1, multiples of 2**-23 and so exact in float32, twice in a row: array('f') or a numpy array."""
    if numpy is None:
        return array.array("f", ((_mixed(place + 1) >> 8) / 8388608.0 - 1.0 for place in range(LENGTH))) * 2
    hashed = _mixed(numpy.arange(1, LENGTH + 1, dtype=numpy.uint64))
    found = ((hashed >> numpy.uint64(8)).astype(numpy.float64) / 8388608.0 - 1.0).astype(numpy.float32)
    return numpy.concatenate((found, found))


def start(name):
    """The index in the table at which the tensor of this name begins."""
    return zlib.crc32(name.encode("utf-8")) % LENGTH


def values(name, shape, centre=0.0, spread=1.0):
    """float32 numbers centre + spread * table, each operation rounded to float32: numpy array of that shape, or a flat array('f')."""
    count, begin = math.prod(shape), start(name)
    if numpy is None:
        return _plain(count, begin, centre, spread)
    found = numpy.empty(count, numpy.float32)
    turned = table()[begin : begin + min(count, LENGTH)] * numpy.float32(spread)
    if centre:
        turned += numpy.float32(centre)
    for place in range(0, count, LENGTH):
        found[place : place + LENGTH] = turned[: count - place]
    return found.reshape(shape)


def _plain(count, begin, centre, spread):
    turned = array.array("f", (value * spread for value in table()[begin : begin + min(count, LENGTH)]))
    if centre:
        turned = array.array("f", (value + centre for value in turned))
    return (turned * -(-count // len(turned)))[:count]


def number_range(which):
    """(centre, spread) of the values of an Input that holds real numbers: variance 1, or timesteps from 100 to 900."""
    return (500.0, 400.0) if which.kind == "timestep" else (0.0, 1.7320508)


def whole_numbers(which):
    """The values of an Input of kind index or positions, as a flat list of int."""
    count = math.prod(which.shape)
    if which.kind == "positions":
        return [which.limit + place for place in range(count)]
    return classes(which.name, count, which.limit)


def classes(name, count, limit):
    """`count` ints from 0 to below limit: labels of a classifier, tokens of a text."""
    begin = start(name)
    return [_mixed(begin + place) % limit for place in range(count)]


def inputs(network):
    """{name: numpy array} for every input of a network: float32 and int64. Needs numpy."""
    found = {}
    for which in network.inputs:
        if which.kind in ("index", "positions"):
            found[which.name] = numpy.array(whole_numbers(which), dtype=numpy.int64).reshape(which.shape)
        else:
            found[which.name] = values(which.name, which.shape, *number_range(which))
    return found
