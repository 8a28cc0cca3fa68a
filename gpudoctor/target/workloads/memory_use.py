"""The memory of this process while it measures: resident bytes and reserved addresses. Standard library, Python 3.8."""

import os
import sys

MOST_MARKS = 400
SHORTEST = 0.01
"""The least number of seconds between two readings."""
RUNAWAY = 1 << 30
"""The growth in bytes at which sampling ends, where memory grows with the steps: before the memory of the machine is full."""


def of_process():
    """(resident bytes, bytes of reserved addresses), each None where the system does not say."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            words = file.read().split()
        page = os.sysconf("SC_PAGE_SIZE")
        return int(words[1]) * page, int(words[0]) * page
    except (OSError, ValueError, IndexError, AttributeError):
        pass
    try:
        return (_of_windows() if sys.platform == "win32" else _peak()), None
    except (ImportError, OSError, AttributeError):
        return None, None


def _peak():
    """The largest resident size so far in bytes; growth with each step shows in it too."""
    import resource

    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024


def _of_windows():
    """PrivateUsage of PROCESS_MEMORY_COUNTERS_EX in bytes; None where Windows does not give it."""
    import ctypes

    class Counters(ctypes.Structure):
        _fields_ = [("cb", ctypes.c_uint32), ("faults", ctypes.c_uint32)]
        _fields_ += [("size" + str(place), ctypes.c_size_t) for place in range(8)]
        _fields_ += [("private", ctypes.c_size_t)]

    found = Counters()
    found.cb = ctypes.sizeof(found)
    kernel = ctypes.WinDLL("kernel32")
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    if not kernel.K32GetProcessMemoryInfo(ctypes.c_void_p(kernel.GetCurrentProcess()), ctypes.byref(found), found.cb):
        return None
    return found.private


class Marks:
    """Readings of memory: [steps so far, resident bytes, bytes of addresses, bytes of the device] each."""

    def __init__(self, device=None, of=of_process):
        self._device, self._of, self._looked = device, of, None
        self.found = []

    def look(self, now, steps):
        if self._looked is not None and now - self._looked < SHORTEST:
            return
        self._looked = now
        resident, addresses = self._of()
        self.found.append([steps, resident, addresses, self._device() if self._device is not None else None])
        if len(self.found) > MOST_MARKS:
            self.found = self.found[::2]

    def runs_away(self):
        """Whether memory has grown by RUNAWAY bytes or more, and in each quarter of the steps."""
        marks = self.found
        if len(marks) < 8:
            return False
        for place in (1, 3):
            values = [mark[place] for mark in marks]
            if None in values or values[-1] - values[0] < RUNAWAY:
                continue
            quarters = [values[len(values) * part // 4] for part in range(4)] + [values[-1]]
            if all(later - before > (values[-1] - values[0]) / 10 for before, later in zip(quarters, quarters[1:])):
                return True
        return False
