"""One gradient step of a small network with TensorFlow 1.15 (DirectML) or 2: outputs, gradients and new weights against float64 on the CPU."""

RATE = 0.05
BATCH, CHANNELS, SIDE, FILTERS, CLASSES = 4, 3, 8, 8, 10
# channels last, because convolutions on the CPU support no other order
SHAPES = ((3, 3, CHANNELS, FILTERS), (FILTERS,), (SIDE * SIDE * FILTERS, CLASSES), (CLASSES,))


def run(tools, framework, wanted):
    import tensorflow as tf

    tools.say(stage="import", version=str(tf.__version__))
    tools.say(stage="device")
    if not tf.executing_eagerly():
        tf.compat.v1.enable_eager_execution()
    if hasattr(tf.config.experimental, "enable_tensor_float_32_execution"):
        tf.config.experimental.enable_tensor_float_32_execution(False)
    entry = pick(tools, tf, framework, wanted)
    place = "/" + entry["id"].partition(":")[2]
    tools.say(stage="allocate")
    with tf.device(place):
        data = tensors(tools, tf, tf.float32)
    tools.say(stage="compute")
    with tf.device(place):
        kept = step(tf, *data)
        strayed = [name for name, tensor in kept if not tensor.device.upper().endswith(place[1:].upper())]
        if strayed:
            raise RuntimeError("%s was not computed on %s" % (strayed[0], place[1:]))
        got = numbers(kept)
    tools.say(stage="compare")
    with tf.device("/CPU:0"):
        reference = numbers(step(tf, *tensors(tools, tf, tf.float64)))
    tools.conclude([(name, values, right) for (name, values), (_, right) in zip(got, reference)])


def pick(tools, tf, framework, wanted):
    listing = getattr(tf.config, "list_physical_devices", None) or tf.config.experimental.list_physical_devices
    details = getattr(tf.config.experimental, "get_device_details", lambda device: {})
    found, counts = [], {}
    for device in listing():
        kind = device.device_type
        counts[kind] = counts.get(kind, -1) + 1
        if not kind.startswith("XLA"):
            name = tools.cpu_name() if kind == "CPU" else str(details(device).get("device_name") or device.name)
            found.append({"id": "tf:%s:%d" % (kind, counts[kind]), "name": name})
    others = [entry for entry in found if not entry["id"].startswith("tf:CPU")]
    cpu_build = not others and framework == "tensorflow" and not tf.test.is_built_with_gpu_support()
    if cpu_build and wanted.upper().startswith("GPU"):
        raise RuntimeError("this TensorFlow %s is not built for a GPU" % tf.__version__)
    if not others and not cpu_build and not wanted.upper().startswith("CPU"):
        vendors = () if framework == "tensorflow-directml" else ("0x10de", "0x1002")
        what = "DirectX 12 GPU" if framework == "tensorflow-directml" else "GPU that this TensorFlow is built for"
        tools.none_listed(what, "TensorFlow", tools.card(*vendors))
    return tools.has("tf:" + wanted.upper() if wanted else "", others + [entry for entry in found if entry not in others])


def tensors(tools, tf, dtype):
    """The inputs, the target and the four weights."""
    def constant(values, shape):
        return tf.identity(tf.constant(values, dtype=dtype, shape=shape))

    def size(shape):
        count = 1
        for side in shape:
            count *= side
        return count

    shapes = ((BATCH, SIDE, SIDE, CHANNELS), (BATCH, CLASSES))
    inputs, target = (constant(tools.pattern(size(shape), 5 + i), shape) for i, shape in enumerate(shapes))
    weights = [constant((tools.biases if len(shape) == 1 else tools.pattern)(size(shape), i), shape) for i, shape in enumerate(SHAPES)]
    return inputs, target, weights


def step(tf, inputs, target, weights):
    with tf.GradientTape() as tape:
        for tensor in weights:
            tape.watch(tensor)
        hidden = tf.nn.relu(tf.nn.conv2d(inputs, weights[0], strides=[1, 1, 1, 1], padding="SAME") + weights[1])
        output = tf.matmul(tf.reshape(hidden, [BATCH, SIDE * SIDE * FILTERS]), weights[2]) + weights[3]
        difference = output - target
        loss = tf.reduce_mean(difference * difference)
    gradients = tape.gradient(loss, weights)
    kept = [("output", output), ("loss", loss)] + [("gradient %d" % i, gradient) for i, gradient in enumerate(gradients)]
    return kept + [("weights %d" % i, old - gradient * RATE) for i, (old, gradient) in enumerate(zip(weights, gradients))]


def numbers(kept):
    return [(name, [float(value) for value in tensor.numpy().reshape(-1)]) for name, tensor in kept]
