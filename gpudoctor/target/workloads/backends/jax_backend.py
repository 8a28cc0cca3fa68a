"""Workloads on JAX, always compiled; devices as JAX names them: cpu:0, gpu:0, tpu:0, METAL:0."""

import os

from device_names import bare, processor
from worker import Skipped, Work

WANTED = os.environ.get("JAX_PLATFORMS", "")
if WANTED and "cpu" not in WANTED.split(","):
    os.environ["JAX_PLATFORMS"] = WANTED + ",cpu"  # the reference is computed on the CPU

import array_micro  # noqa: E402
import correctness  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import jax_networks  # noqa: E402
import jax_properties  # noqa: E402
import networks  # noqa: E402
import numpy  # noqa: E402
import plain_checks  # noqa: E402
import preprocessing  # noqa: E402

DTYPES = {name: jnp.dtype(name) for name in ("float32", "float16", "bfloat16", "float64")}


def open_session(request):
    return Session(request)


class Session:
    def __init__(self, request):
        if not request.get("settings", {}).get("tf32"):
            jax.config.update("jax_default_matmul_precision", "highest")
        if request.get("dtype") == "float64":
            jax.config.update("jax_enable_x64", True)
        wanted = bare(request.get("device"), "jax") or "cpu:0"
        found = {}
        for device in jax.devices() + jax.devices("cpu"):
            found.setdefault(f"{device.platform}:{device.id}".lower(), device)
        self.name = wanted.lower() if ":" in wanted else wanted.lower() + ":0"
        if self.name not in found:
            raise Skipped("JAX lists no {}, but {}".format(wanted, ", ".join(found)))
        self.device = found[self.name]

    def about(self):
        title = processor() if self.device.platform == "cpu" else str(self.device.device_kind)
        return {"framework_version": str(jax.__version__), "device": self.name, "device_name": title}

    def prepare(self, request):
        if request.get("compile", "none") not in ("none", "default"):
            raise Skipped("JAX has no compile mode '{}'".format(request["compile"]))
        dtype = request.get("dtype", "float32")
        if dtype not in DTYPES:
            raise Skipped(f"JAX has no {dtype} here")
        if request["task"] == "micro":
            return array_micro.prepare(request["workload"], Calls(self.device), dtype, request)
        return (Training if request["task"] == "training" else Inference)(self.device, dtype, request)

    def operators(self, request):
        return plain_checks.run(jax_properties.cases(), request, jax_properties.Place(self.device))


class Calls:
    dtypes = DTYPES

    def __init__(self, device):
        self.device, self.on_cpu = device, device.platform == "cpu"
        self.matmul, self.add = jax.jit(jnp.matmul), jax.jit(jnp.add)

    def put(self, array):
        return jax.device_put(array, self.device)

    def host(self, array):
        return numpy.asarray(array)

    def wait(self, last):
        last.block_until_ready()


class _Network(Work):
    def __init__(self, device, dtype, request):
        self.device, self.dtype, self.request, self.last = device, dtype, request, None
        self.network = networks.draw(request["workload"], **request.get("options", {}))
        self.items, self.unit = self.network.inputs[0].shape[0], request.get("unit", "images/s")
        self.images = None
        if request.get("preprocess") and preprocessing.takes_images(self.network):
            self.images = preprocessing.WithNumpy(self.network, DTYPES[dtype])
        self.copies = bool(request.get("copies")) or self.images is not None
        self.includes = preprocessing.STAGES if self.images else preprocessing.STAGES[1:] if self.copies else ("compute",)
        self.host = jax_networks.inputs(self.network, DTYPES[dtype])
        self.inputs = self.put(self.host)

    def put(self, tree):
        return jax.device_put(tree, self.device)

    def given(self):
        if not self.copies:
            return self.inputs
        return self.put({self.images.name: self.images.prepared()} if self.images else self.host)

    def sync(self):
        jax.block_until_ready(self.last)

    def places(self):
        last = self.last[0] if isinstance(self.last, (list, tuple)) and self.last else self.last
        devices = getattr(last, "devices", None)  # arrays of the host have no devices
        found = sorted(f"{device.platform}:{device.id}" for device in devices()) if callable(devices) else []
        return {"computed_on": ", ".join(found)} if found else {}

    def memory_peak(self):
        statistics = self.device.memory_stats() if self.device.platform != "cpu" else None
        return (statistics or {}).get("peak_bytes_in_use")


class Inference(_Network):
    def __init__(self, device, dtype, request):
        super().__init__(device, dtype, request)
        self.values = self.put(jax_networks.parameters(self.network, DTYPES[dtype]))
        self.forward = _forward(self.network, dtype)

    def step(self):
        self.last = self.forward(self.values, self.given())
        if self.copies:
            self.last = [numpy.asarray(each) for each in self.last]

    def verify(self):
        return correctness.inference(self.request, self.network, self.measured, self.computed, self.dtype)

    def measured(self, inputs):
        given = jax_networks.inputs(self.network, DTYPES[self.dtype], inputs)
        found = self.forward(self.values, self.put(given))
        _require_device(found, self.device)
        return [numpy.asarray(each) for each in found]

    def outcome(self):
        return None if self.last is None or self.images else correctness.same(numpy.asarray(each) for each in self.last)

    def computed(self, network):
        dtype = DTYPES[self.dtype]
        values, given = self.put(jax_networks.parameters(network, dtype)), self.put(jax_networks.inputs(network, dtype))
        found = _forward(network, self.dtype)(values, given)
        _require_device(found, self.device)
        return [numpy.asarray(each) for each in found]


class Training(_Network):
    """Training with weights in float32 and the computation in the requested precision."""

    def __init__(self, device, dtype, request):
        super().__init__(device, dtype, request)
        self.optimizer = request.get("optimizer", "sgd")
        self.labels = self.put(jax_networks.labels(self.network, correctness.classes_of(request)))
        self.values, self.fixed, self.state = self._first(self.network, dtype)
        self.once = _training_step(self.network, self.optimizer, dtype)
        self.key = self.put(jax.random.PRNGKey(0))
        self.compiled = {}

    def outcome(self):
        return None if self.last is None else {"loss": float(self.last)}

    def _first(self, network, dtype, change=None):
        wide = DTYPES["float64" if dtype == "float64" else "float32"]
        values = jax_networks.parameters(network, wide)
        if change is not None:
            values = {name: change(name, value).astype(wide) for name, value in values.items()}
        values = self.put(values)
        trained = set(jax_networks.trained_names(network))
        fixed = {name: values.pop(name) for name in sorted(set(values) - trained)}
        return values, fixed, jax_networks.first_state(self.optimizer, values)

    def step(self):
        given = self.given()
        self.values, self.state, self.key, self.last, _ = self.once(self.values, self.fixed, self.state, given, self.labels, self.key)

    def verify(self):
        before = bool(jax.config.jax_enable_x64)
        jax.config.update("jax_enable_x64", True)
        try:
            return correctness.training(self.request, self._steps, self.dtype, "compared with float64 in JAX on the CPU")
        finally:
            jax.config.update("jax_enable_x64", before)

    def _steps(self, network, classes, dtype, change, steps):
        """The gradients of the first step and the losses of a few, without dropout; float64 is computed on the CPU."""
        device, self.device = self.device, jax.devices("cpu")[0] if dtype == "float64" else self.device
        try:
            values, fixed, state = self._first(network, dtype, change)
            given = {name: change(name, value) for name, value in jax_networks.inputs(network, DTYPES[dtype]).items()}
            given, labels = self.put(given), self.put(jax_networks.labels(network, classes))
            if dtype not in self.compiled:
                self.compiled[dtype] = _training_step(network, self.optimizer, dtype)
            once, losses, first = self.compiled[dtype], [], {}
            for _ in range(steps):
                values, state, _, loss, gradients = once(values, fixed, state, given, labels, None)
                losses.append(float(loss))
                first = first or {name: numpy.asarray(each, dtype=numpy.float64) for name, each in gradients.items()}
            _require_device([loss], self.device)
            return first, losses
        finally:
            self.device = device


def _forward(network, dtype):
    return jax.jit(lambda values, given: jax_networks.outputs(network, values, given, DTYPES[dtype]))


def _training_step(network, optimizer, dtype):
    """A compiled step. key=None leaves dropout out. The measurement drops the gradients, so that they are no output of the compiled
    step."""

    def loss(values, fixed, given, labels, key):
        return jax_networks.loss(network, dict(values, **fixed), given, labels, DTYPES[dtype], key)

    def step(values, fixed, state, given, labels, key):
        used, key = (None, None) if key is None else jax.random.split(key)
        value, gradients = jax.value_and_grad(loss)(values, fixed, given, labels, used)
        values, state = jax_networks.stepped(optimizer, values, gradients, state)
        return values, state, key, value, gradients

    return jax.jit(step)


def _require_device(arrays, device):
    """Raises RuntimeError where an array was computed on another device."""
    for array in arrays:
        if hasattr(array, "devices") and set(array.devices()) != {device}:
            raise RuntimeError("computed on {}, not on {}".format(", ".join(map(str, array.devices())), device))
