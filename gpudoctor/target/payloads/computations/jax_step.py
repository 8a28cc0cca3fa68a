"""One gradient step of a small network with JAX: outputs, gradients and new weights against float64 on the CPU."""
import os

RATE = 0.05
BATCH, CHANNELS, SIDE, FILTERS, CLASSES = 4, 3, 8, 8, 10
SHAPES = ((FILTERS, CHANNELS, 3, 3), (FILTERS,), (FILTERS * SIDE * SIDE, CLASSES), (CLASSES,))
DATA = ((BATCH, CHANNELS, SIDE, SIDE), (BATCH, CLASSES))


def run(tools, framework, wanted):
    platforms = os.environ.get("JAX_PLATFORMS", "")
    if platforms and "cpu" not in platforms.split(","):
        os.environ["JAX_PLATFORMS"] = platforms + ",cpu"  # the reference is computed on the CPU
    import jax
    import numpy

    tools.say(stage="import", version=str(jax.__version__))
    tools.say(stage="device")
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_default_matmul_precision", "highest")
    device = pick(tools, jax, wanted)
    data = [values(tools, numpy, i, shape, 0) for i, shape in enumerate(SHAPES)] + [
        values(tools, numpy, i, shape, 5) for i, shape in enumerate(DATA)]
    tools.say(stage="allocate")
    there = [jax.device_put(array.astype("float32"), device) for array in data]
    for array in there:
        array.block_until_ready()
    tools.say(stage="compute")
    kept = step(jax, there)
    strayed = [name for name, array in kept if set(places(array)) != {device}]
    if strayed:
        raise RuntimeError("%s was not computed on %s" % (strayed[0], device))
    got = numbers(numpy, kept)
    tools.say(stage="compare")
    cpu = jax.devices("cpu")[0]
    reference = numbers(numpy, step(jax, [jax.device_put(array, cpu) for array in data]))
    tools.conclude([(name, found, right) for (name, found), (_, right) in zip(got, reference)])


def pick(tools, jax, wanted):
    known = {}
    for device in jax.devices() + jax.devices("cpu"):
        known.setdefault("jax:%s:%d" % (device.platform, device.id), device)
    found = [{"id": name, "name": tools.cpu_name() if device.platform == "cpu" else str(device.device_kind)} for name, device in known.items()]
    if all(device.platform == "cpu" for device in known.values()) and not wanted.startswith("cpu"):
        plugins = accelerators()
        if plugins:
            tools.none_listed("device for the JAX plugin " + ", ".join(plugins), "JAX", tools.card("0x10de", "0x1002"))
    return known[tools.has("jax:" + wanted if wanted else "", found)["id"]]


def accelerators():
    """The names of the installed plugins that give JAX another device than the CPU."""
    import pkgutil

    try:
        import jax_plugins
    except ImportError:
        return []
    return sorted(module.name for module in pkgutil.iter_modules(jax_plugins.__path__))


def places(array):
    """The devices that hold an array; three releases of JAX have three ways to ask for them."""
    if hasattr(array, "devices"):
        return array.devices()
    found = array.device
    return [found() if callable(found) else found]


def values(tools, numpy, number, shape, shift):
    count = int(numpy.prod(shape))
    made = (tools.biases if len(shape) == 1 else tools.pattern)(count, number + shift)
    return numpy.array(made, dtype="float64").reshape(shape)


def step(jax, arrays):
    def forward(weights, inputs, target):
        hidden = jax.lax.conv(inputs, weights[0], (1, 1), "SAME") + weights[1].reshape(1, FILTERS, 1, 1)
        output = jax.nn.relu(hidden).reshape(BATCH, -1) @ weights[2] + weights[3]
        return ((output - target) ** 2).mean(), output

    weights = tuple(arrays[:4])
    (loss, output), gradients = jax.jit(jax.value_and_grad(forward, has_aux=True))(weights, arrays[4], arrays[5])
    kept = [("output", output), ("loss", loss)] + [("gradient %d" % i, gradient) for i, gradient in enumerate(gradients)]
    return kept + [("weights %d" % i, old - gradient * RATE) for i, (old, gradient) in enumerate(zip(weights, gradients))]


def numbers(numpy, kept):
    return [(name, numpy.asarray(array, dtype="float64").reshape(-1).tolist()) for name, array in kept]
