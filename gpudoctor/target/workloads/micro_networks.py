"""Small measurements as networks of one layer, for runtimes that compute networks only: OpenVINO, ONNX Runtime, PopART."""

from network_ir import GraphBuilder

SIDE, ELEMENTS, FEW = 1024, 1 << 26, 16


def draw(name, options):
    """(network, items of one step, unit), or None for a measurement that no network can make."""
    if name == "matmul":
        side = int(options.get("side") or SIDE)
        d = GraphBuilder(name)
        return d.finish(d("linear", "product", d.input("left", (side, side)), out=side, bias=False)), 2 * side**3, "FLOP/s"
    if name in ("memory_bandwidth", "bandwidth"):
        count = int(options.get("bytes") or 4 * ELEMENTS) // 4
        d = GraphBuilder(name)
        network = d.finish(d("add", "sum", d.input("left", (1, count)), d.input("right", (1, count))))
        return network, 3 * count, "B/s"  # the caller multiplies it by the size of a number in bytes
    if name == "launch":
        d = GraphBuilder(name)
        return d.finish(d("add", "sum", d.input("left", (1, FEW)), d.input("right", (1, FEW)))), 1, "launches/s"
    return None


SMALL = {"matmul": {"side": 192}, "memory_bandwidth": {"bytes": 4096}, "bandwidth": {"bytes": 4096}, "launch": {}}
"""Options for the comparison with the reference."""
