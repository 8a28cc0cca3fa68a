"""Workloads on TensorFlow 2 inside tf.function; compile 'default' is XLA. Devices as TensorFlow names them: CPU:0, GPU:0, XPU:0."""

import array_micro
import correctness
import networks
import numpy
import preprocessing
import tensorflow as tf
import tensorflow_networks
from device_names import bare, processor
from worker import Skipped, Work

DTYPES = {"float32": tf.float32, "float16": tf.float16, "bfloat16": tf.bfloat16, "float64": tf.float64}


def open_session(request):
    return Session(request)


class Session:
    def __init__(self, request):
        if int(str(tf.__version__).split(".")[0]) < 2:
            raise Skipped(f"TensorFlow 2 is needed, this is {tf.__version__}")
        if request.get("threads"):
            tf.config.threading.set_intra_op_parallelism_threads(int(request["threads"]))
        if hasattr(tf.config.experimental, "enable_tensor_float_32_execution"):
            tf.config.experimental.enable_tensor_float_32_execution(bool(request.get("settings", {}).get("tf32")))
        tf.config.set_soft_device_placement(False)  # an operator that the device lacks is an error, and is not computed on the processor
        wanted = (bare(request.get("device"), "tf", "tensorflow") or "CPU:0").upper()
        self.name = wanted if ":" in wanted else wanted + ":0"
        kind, _, number = self.name.partition(":")
        found = tf.config.list_physical_devices(kind)
        if int(number) >= len(found):
            others = [each.name.partition(":")[2] for each in tf.config.list_physical_devices()]
            raise Skipped("TensorFlow lists no {}, but {}".format(self.name, ", ".join(others)))
        self.physical = found[int(number)]

    def about(self):
        details = getattr(tf.config.experimental, "get_device_details", lambda device: {})(self.physical)
        title = processor() if self.name.startswith("CPU") else str(details.get("device_name") or self.physical.name)
        return {"framework_version": str(tf.__version__), "device": self.name, "device_name": title}

    def prepare(self, request):
        if request.get("compile", "none") not in ("none", "default"):
            raise Skipped("TensorFlow has no compile mode '{}'".format(request["compile"]))
        dtype = request.get("dtype", "float32")
        if dtype not in DTYPES:
            raise Skipped(f"TensorFlow has no {dtype} here")
        if request["task"] == "micro":
            return array_micro.prepare(request["workload"], Calls(self.name), dtype, request)
        return (Training if request["task"] == "training" else Inference)(self.name, dtype, request)

    def operators(self, request):
        raise Skipped("TensorFlow is asked for whole networks, not for operators")


class Calls:
    def __init__(self, device):
        self.dtypes = {name: dtype.as_numpy_dtype for name, dtype in DTYPES.items()}
        self.device, self.on_cpu = "/" + device, device.startswith("CPU")
        self.matmul, self.add = self._placed(tf.matmul), self._placed(tf.add)

    def _placed(self, function):
        compiled = tf.function(function)

        def call(*given):
            with tf.device(self.device):
                return compiled(*given)

        return call

    def put(self, array):
        with tf.device(self.device):
            return tf.identity(tf.constant(array))

    def host(self, array):
        return array.numpy()

    def wait(self, last):
        waited(last)


def waited(last):
    """Waits until the device has computed the result."""
    sync = getattr(getattr(tf.test, "experimental", None), "sync_devices", None)
    if sync is not None:
        sync()
    else:
        tf.reshape(last, [-1])[:1].numpy()


class _Network(Work):
    def __init__(self, device, dtype, request):
        self.name, self.device, self.dtype, self.request, self.last = device, "/" + device, dtype, request, None
        self.network = networks.draw(request["workload"], **request.get("options", {}))
        self.items, self.unit = self.network.inputs[0].shape[0], request.get("unit", "images/s")
        self.images = None
        if request.get("preprocess") and preprocessing.takes_images(self.network):
            self.images = preprocessing.WithNumpy(self.network, DTYPES[dtype].as_numpy_dtype)
        self.copies = bool(request.get("copies")) or self.images is not None
        self.includes = preprocessing.STAGES if self.images else preprocessing.STAGES[1:] if self.copies else ("compute",)
        self.xla = {"jit_compile": True} if request.get("compile", "none") == "default" else {}
        self.host = tensorflow_networks.inputs(self.network, DTYPES[dtype])
        self.inputs = self.put(self.host)

    def put(self, arrays):
        with tf.device(self.device):
            return [tf.identity(tf.constant(each)) for each in arrays]

    def given(self):
        if not self.copies:
            return self.inputs
        return self.put([self.images.prepared()] if self.images else self.host)

    def sync(self):
        if self.last is not None:
            waited(self.last)

    def places(self):
        """TensorFlow may place operators that a device lacks elsewhere: '/job:localhost/replica:0/task:0/device:CPU:0' is 'cpu:0'."""
        where = getattr(self.last, "device", None)
        return {"computed_on": where.rpartition("device:")[2].lower()} if isinstance(where, str) and where else {}

    def memory_peak(self):
        memory_info = getattr(tf.config.experimental, "get_memory_info", None)
        if memory_info is None or self.name.startswith("CPU"):
            return None
        return int(memory_info(self.name)["peak"])

    def variables(self, network, dtype, trainable=()):
        with tf.device(self.device):
            values = tensorflow_networks.parameters(network, DTYPES[dtype])
            return {name: tf.Variable(value, trainable=name in trainable) for name, value in values.items()}


class Inference(_Network):
    def __init__(self, device, dtype, request):
        super().__init__(device, dtype, request)
        self.forward = self._forward(self.network)

    def _forward(self, network):
        values = self.variables(network, self.dtype)

        @tf.function(**self.xla)
        def forward(*given):
            return tensorflow_networks.outputs(network, {name: tf.convert_to_tensor(each) for name, each in values.items()}, given)

        return forward

    def step(self):
        with tf.device(self.device):
            found = self.forward(*self.given())
        self.last = found[0]
        if self.copies:
            for each in found:
                each.numpy()

    def verify(self):
        return correctness.inference(self.request, self.network, self.measured, self.computed, self.dtype)

    def measured(self, inputs):
        with tf.device(self.device):
            found = self.forward(*self.put(tensorflow_networks.inputs(self.network, DTYPES[self.dtype], inputs)))
        placed(found, self.name)
        return [each.numpy() for each in found]

    def outcome(self):
        return None if self.last is None or self.images else correctness.same([self.last.numpy()])

    def computed(self, network):
        with tf.device(self.device):
            found = self._forward(network)(*self.put(tensorflow_networks.inputs(network, DTYPES[self.dtype])))
        placed(found, self.name)
        return [each.numpy() for each in found]


class Training(_Network):
    """Training with weights in float32 and the computation in the requested precision."""

    def __init__(self, device, dtype, request):
        super().__init__(device, dtype, request)
        if self.name.startswith("CPU") and tensorflow_networks.is_grouped(self.network):
            raise Skipped("TensorFlow on a processor has no gradient of grouped convolutions")
        self.optimizer = request.get("optimizer", "sgd")
        self.once, _ = self._training_step(self.network, dtype, correctness.classes_of(request), dropout=True)
        self.compiled = {}

    def outcome(self):
        return None if self.last is None else {"loss": float(self.last)}

    def _training_step(self, network, dtype, classes, dropout):
        """A function of the inputs that returns the loss and the gradients, and updates the weights."""
        names = tensorflow_networks.trained_names(network)
        values = self.variables(network, "float64" if dtype == "float64" else "float32", names)
        labels, trained = tensorflow_networks.labels(network, classes), [values[name] for name in names]
        with tf.device(self.device):
            labels = None if labels is None else tf.identity(tf.constant(labels))
            kept = 1 if self.optimizer == "sgd" else 2
            state = [[tf.Variable(tf.zeros_like(each), trainable=False) for each in trained] for _ in range(kept)]
            count = tf.Variable(tf.zeros([], trained[0].dtype), trainable=False)

        @tf.function(**self.xla)
        def step(*given):
            with tf.GradientTape() as tape:
                rounded = {name: tf.cast(each, DTYPES[dtype]) for name, each in values.items()}
                loss = tensorflow_networks.loss(network, rounded, given, labels, dropout)
            gradients = [tf.convert_to_tensor(each) for each in tape.gradient(loss, trained)]
            (momentum if self.optimizer == "sgd" else adam)(trained, gradients, state, count)
            return loss, gradients

        def restart(change):
            """Sets the weights to their first values, as changed by change(name, array)."""
            for name, array in tensorflow_networks.parameters(network, DTYPES["float64" if dtype == "float64" else "float32"]).items():
                values[name].assign(change(name, array).astype(array.dtype))
            for variable in [count, *(each for part in state for each in part)]:
                variable.assign(tf.zeros_like(variable))

        return step, restart

    def step(self):
        with tf.device(self.device):
            self.last, _ = self.once(*self.given())
        if self.copies:
            self.last.numpy()

    def verify(self):
        return correctness.training(self.request, self._steps, self.dtype, "compared with float64 in TensorFlow on the CPU")

    def _steps(self, network, classes, dtype, change, steps):
        """The gradients of the first step and the losses of a few, without dropout; float64 is computed on the CPU."""
        kept = self.device, self.name
        if dtype == "float64":
            self.device, self.name = "/CPU:0", "CPU:0"
        try:
            if dtype not in self.compiled:
                self.compiled[dtype] = self._training_step(network, dtype, classes, dropout=False)
            (once, restart), losses, first = self.compiled[dtype], [], {}
            restart(change)
            arrays = tensorflow_networks.inputs(network, DTYPES[dtype])
            given = self.put([change(each.name, array).astype(array.dtype) for each, array in zip(network.inputs, arrays)])
            for _ in range(steps):
                with tf.device(self.device):
                    loss, gradients = once(*given)
                losses.append(float(loss))
                if not first:
                    placed(gradients, self.name)
                    names = tensorflow_networks.trained_names(network)
                    first = {name: each.numpy().astype(numpy.float64) for name, each in zip(names, gradients)}
            return first, losses
        finally:
            self.device, self.name = kept


def momentum(values, gradients, state, count):
    """SGD with the settings of torch_training.optimizer."""
    for value, gradient, moved in zip(values, gradients, state[0]):
        moved.assign(0.9 * moved + gradient)
        value.assign_sub(1e-3 * moved)


def adam(values, gradients, state, count):
    count.assign_add(1.0)
    one, two = 1 - tf.pow(tf.cast(0.9, count.dtype), count), 1 - tf.pow(tf.cast(0.999, count.dtype), count)
    for value, gradient, first, second in zip(values, gradients, *state):
        first.assign(0.9 * first + 0.1 * gradient)
        second.assign(0.999 * second + 0.001 * gradient * gradient)
        value.assign_sub(1e-4 * (first / one) / (tf.sqrt(second / two) + 1e-8))


def placed(tensors, name):
    """Raises RuntimeError where a tensor was computed on another device."""
    for tensor in tensors:
        if not tensor.device.upper().endswith(name):
            raise RuntimeError(f"computed on {tensor.device}, not on {name}")
