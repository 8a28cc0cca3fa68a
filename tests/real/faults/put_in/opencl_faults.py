"""Faults of an OpenCL driver: other source, other settings of the compiler, or calls that do less than they should."""

import ctypes
import itertools

MACROS = {
    # put before the source: what the driver makes of a function of its library; a macro is not expanded within itself
    "rint_rounds_away_from_zero": b"#define rint(x) round(x)\n",
    "conversion_to_nearest_cuts": b"#define convert_int_rte(x) convert_int(x)\n",
    "saturation_wraps": b"#define convert_char_sat(x) ((char)(int)(x))\n",
    "atomic_addition_is_none": b"#define atomic_add(p,v) (*(p)=*(p)/2+(v))\n",
    "barriers_are_left_out": b"#define barrier(x)\n",
    "sine_is_a_short_series": b"#define sin(x) ((x)-(x)*(x)*(x)/6)\n",
    "half_is_cut": b"#define vstore_half_rte(x,i,p) vstore_half_rtz(x,i,p)\n",
}
SOURCES = {
    "exponential_is_off": (b"= exp(", b"= 1.0005f * exp("),
    "tanh_ends_early": (b"tanh(a[i])", b"clamp(tanh(a[i]), -0.999f, 0.999f)"),
    "error_function_is_off": (b"= erf(", b"= 1.001f * erf("),
    "popcount_sees_16_bits": (b"popcount(a[i])", b"popcount(a[i] & 0xffff)"),
    "power_is_off": (b"= pow(", b"= 1.001f * pow("),
    "inverse_root_is_rough": (b"= rsqrt(", b"= 1.00001f * rsqrt("),
    "relu_swallows_nan": (b"a[i] <= 0.0f ? 0.0f : a[i]", b"fmax(a[i], 0.0f)"),
    "products_lose_their_last_term": (b"k < inner;", b"k < inner - 1;"),
    "tiled_products_are_off": (b"* right[m]", b"* 1.01f * right[m]"),
    "sums_are_off_in_vectors": (b"v.wzyx", b"v.wyzx"),
}
CALLS = {}


def put_in(fault):
    if fault:
        sound = ctypes.CDLL

        def library(name, *args, **kwargs):
            found = sound(name, *args, **kwargs)
            return Driver(found, fault) if name and "OpenCL" in str(name) else found

        if fault not in MACROS and fault not in SOURCES and fault not in CALLS:
            raise LookupError(f"there is no fault of OpenCL named {fault}")
        ctypes.CDLL = library


class Driver:
    """The loader, some of whose functions are wrong."""

    def __init__(self, sound, fault):
        self._sound, self._wrong = sound, {}
        if fault in MACROS:
            self._wrong["clCreateProgramWithSource"] = Wrong(sound.clCreateProgramWithSource, _other_source(b"", MACROS[fault]))
        elif fault in SOURCES:
            self._wrong["clCreateProgramWithSource"] = Wrong(sound.clCreateProgramWithSource, _other_source(*SOURCES[fault]))
        else:
            name, wrong = CALLS[fault]
            self._wrong[name] = Wrong(getattr(sound, name), wrong)

    def __getattr__(self, name):
        return self._wrong[name] if name in self._wrong else getattr(self._sound, name)


class Wrong:
    """A function of the library that does something else; `restype` and `argtypes` are those of the sound one."""

    def __init__(self, sound, wrong):
        self.__dict__.update(sound=sound, wrong=wrong)

    def __setattr__(self, name, value):
        setattr(self.sound, name, value)

    def __call__(self, *args):
        return self.wrong(self.sound, *args)


def _other_source(before, after):
    def wrong(call, context, count, source, *rest):
        text = ctypes.c_char_p(source._obj.value.replace(before, after) if before else after + source._obj.value)
        return call(context, count, ctypes.byref(text), *rest)

    return wrong


def call(name):
    def keep(function):
        CALLS[function.__name__] = (name, function)
        return function

    return keep


@call("clEnqueueReadBuffer")
def the_odd_tail_is_not_copied_back(call, queue, buffer, blocking, offset, size, target, *rest):
    short = size.value - size.value % 16 if size.value > 16 else size.value
    return call(queue, buffer, blocking, offset, ctypes.c_size_t(short), target, *rest)


@call("clEnqueueWriteBuffer")
def large_copies_to_the_device_are_cut(call, queue, buffer, blocking, offset, size, source, *rest):
    return call(queue, buffer, blocking, offset, ctypes.c_size_t(min(size.value, 65536)), source, *rest)


@call("clEnqueueCopyBuffer")
def copies_on_the_device_do_nothing(call, *args):
    return 0


@call("clEnqueueNDRangeKernel")
def the_odd_tail_is_not_computed(call, queue, kernel, dimensions, offset, sizes, *rest):
    """Work sizes are rounded to whole groups of 16, downwards."""
    kept = (ctypes.c_size_t * len(sizes))(*(each - each % 16 if each > 16 else each for each in sizes))
    return call(queue, kernel, dimensions, offset, kept, *rest)


_launches = itertools.count()


@call("clEnqueueNDRangeKernel")
def every_tenth_launch_is_left_out(call, *args):
    return 0 if next(_launches) % 10 == 9 else call(*args)


@call("clEnqueueReadBuffer")
def offsets_are_ignored(call, queue, buffer, blocking, offset, *rest):
    return call(queue, buffer, blocking, ctypes.c_size_t(0), *rest)
