"""Prints OpenCL platforms and devices as JSON, by ctypes alone. It runs in a process of its own, because a driver may crash or hang it.

It runs under Python 3.8 and newer, because any interpreter on the machine may run it.
"""

import ctypes
import ctypes.util
import json
import sys

PLATFORM = {"name": 0x0902, "vendor": 0x0903, "version": 0x0901}
DEVICE_TEXT = {"name": 0x102B, "vendor": 0x102C, "driver_version": 0x102D, "version": 0x102F, "extensions": 0x1030}
DEVICE_UINT = {"vendor_id": 0x1001, "compute_units": 0x1002, "max_clock_mhz": 0x100C}
DEVICE_ULONG = {"type": 0x1000, "memory_bytes": 0x101F, "max_alloc_bytes": 0x1010}
ALL_TYPES = 0xFFFFFFFF


def load():
    names = {"win32": ["OpenCL.dll"], "darwin": ["/System/Library/Frameworks/OpenCL.framework/OpenCL"]}
    error = "no OpenCL loader"
    for name in names.get(sys.platform, ["libOpenCL.so.1", "libOpenCL.so"]):
        try:
            return ctypes.CDLL(name), name, ""
        except OSError as problem:
            error = str(problem)
    return None, "", error


def text(function, handle, what):
    size = ctypes.c_size_t(0)
    if function(handle, ctypes.c_uint(what), ctypes.c_size_t(0), None, ctypes.byref(size)) or not size.value:
        return ""
    buffer = ctypes.create_string_buffer(size.value)
    if function(handle, ctypes.c_uint(what), size, buffer, None):
        return ""
    return buffer.value.decode("utf-8", "replace")


def number(function, handle, what, kind):
    value = kind(0)
    if function(handle, ctypes.c_uint(what), ctypes.c_size_t(ctypes.sizeof(value)), ctypes.byref(value), None):
        return None
    return value.value


def main():
    library, name, error = load()
    if library is None:
        return {"loader": None, "error": error, "platforms": []}
    count = ctypes.c_uint(0)
    status = library.clGetPlatformIDs(0, None, ctypes.byref(count))
    result = {"loader": name, "status": status, "error": "", "platforms": []}
    if status or not count.value:
        return result
    ids = (ctypes.c_void_p * count.value)()
    library.clGetPlatformIDs(count, ids, None)
    for platform in ids:
        handle = ctypes.c_void_p(platform)
        entry = {key: text(library.clGetPlatformInfo, handle, what) for key, what in PLATFORM.items()}
        number_of = ctypes.c_uint(0)
        found = library.clGetDeviceIDs(handle, ctypes.c_ulong(ALL_TYPES), 0, None, ctypes.byref(number_of))
        entry["devices"] = []
        entry["status"] = found
        if not found and number_of.value:
            devices = (ctypes.c_void_p * number_of.value)()
            library.clGetDeviceIDs(handle, ctypes.c_ulong(ALL_TYPES), number_of, devices, None)
            for device in devices:
                one = ctypes.c_void_p(device)
                record = {key: text(library.clGetDeviceInfo, one, what) for key, what in DEVICE_TEXT.items()}
                record.update({key: number(library.clGetDeviceInfo, one, what, ctypes.c_uint) for key, what in DEVICE_UINT.items()})
                record.update({key: number(library.clGetDeviceInfo, one, what, ctypes.c_ulonglong) for key, what in DEVICE_ULONG.items()})
                entry["devices"].append(record)
        result["platforms"].append(entry)
    return result


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main()))
