"""Names of devices, as `check` lists them and as frameworks accept them."""


def bare(device, *prefixes):
    """'GPU.0' of 'openvino:GPU.0' and of 'GPU.0'."""
    head, colon, rest = (device or "").partition(":")
    return rest if colon and head in prefixes else device or ""


def processor():
    """The name of the processor; 'CPU' where the system does not say."""
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        import platform

        return platform.processor() or "CPU"
