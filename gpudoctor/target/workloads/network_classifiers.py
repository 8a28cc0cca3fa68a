"""Image classifiers as torchvision builds them, layers named as in its state dictionaries."""

from network_ir import GraphBuilder

HEAD_GAIN = 0.2  # with this gain the first loss is near that of a random guess
HIDDEN_GAIN = 0.25  # without batch norm, 4096 features of full size would make a step of SGD at a rate of 0.01 overshoot


def alexnet(batch, height, width, classes):
    d = GraphBuilder("alexnet")
    x = d.input("image", (batch, 3, height, width))
    for place, out, kernel, stride, padding, pooled in (
        (0, 64, 11, 4, 2, True), (3, 192, 5, 1, 2, True), (6, 384, 3, 1, 1, False), (8, 256, 3, 1, 1, False), (10, 256, 3, 1, 1, True),
    ):  # fmt: skip
        x = d("conv", f"features.{place}", x, out=out, kernel=kernel, stride=stride, padding=padding)
        x = d("relu", "features.%s" % (place + 1), x)
        if pooled:
            x = d("max_pool", "features.%s" % (place + 2), x, kernel=3, stride=2)
    x = d("flatten", "flatten", d("average_to", "avgpool", x, height=6, width=6))
    for place in (1, 4):
        x = d("linear", f"classifier.{place}", d("dropout", "classifier.%s" % (place - 1), x, share=0.5), out=4096, gain=HIDDEN_GAIN)
        x = d("relu", "classifier.%s" % (place + 1), x)
    return d.finish(d("linear", "classifier.6", x, out=classes))


def vgg16(batch, height, width, classes):
    d = GraphBuilder("vgg16")
    x = d.input("image", (batch, 3, height, width))
    place = 0
    for out, times in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(times):
            x = d("conv", f"features.{place}", x, out=out, kernel=3, padding=1)
            x = d("relu", "features.%s" % (place + 1), x)
            place += 2
        x = d("max_pool", f"features.{place}", x, kernel=2, stride=2)
        place += 1
    x = d("flatten", "flatten", d("average_to", "avgpool", x, height=7, width=7))
    for place in (0, 3):
        x = d("linear", f"classifier.{place}", x, out=4096, gain=HIDDEN_GAIN)
        x = d("relu", "classifier.%s" % (place + 1), x)
        x = d("dropout", "classifier.%s" % (place + 2), x, share=0.5)
    return d.finish(d("linear", "classifier.6", x, out=classes))


def resnet18(batch, height, width, classes):
    return _resnet("resnet18", _basic, (2, 2, 2, 2), batch, height, width, classes)


def resnet50(batch, height, width, classes):
    return _resnet("resnet50", _bottleneck, (3, 4, 6, 3), batch, height, width, classes)


def resnext101_32x4d(batch, height, width, classes):
    """The network of the C2 report, which has 44.18 M parameters; torchvision's resnext101_32x8d has 88.8 M."""
    return _resnet("resnext101_32x4d", _bottleneck, (3, 4, 23, 3), batch, height, width, classes, groups=32, group_width=4)


def _resnet(name, block, counts, batch, height, width, classes, groups=1, group_width=64):
    d = GraphBuilder(name)
    x = d.input("image", (batch, 3, height, width))
    x = d("relu", "relu", _conv_norm(d, "conv1", "bn1", x, 64, 7, 2, 3))
    x = d("max_pool", "maxpool", x, kernel=3, stride=2, padding=1)
    for stage, count in enumerate(counts):
        for place in range(count):
            stride = 2 if stage and not place else 1
            x = block(d, f"layer{stage + 1}.{place}", x, 64 * 2**stage, stride, groups, group_width)
    x = d("flatten", "flatten", d("average_to", "avgpool", x))
    return d.finish(d("linear", "fc", x, out=classes, gain=HEAD_GAIN))


def _conv_norm(d, conv, norm, x, out, kernel, stride=1, padding=0, groups=1, gain=1.0):
    x = d("conv", conv, x, out=out, kernel=kernel, stride=stride, padding=padding, groups=groups, bias=False)
    return d("batch_norm", norm, x, gain=gain)


def _basic(d, at, x, planes, stride, groups, group_width):
    y = d("relu", at + ".relu1", _conv_norm(d, at + ".conv1", at + ".bn1", x, planes, 3, stride, 1))
    y = _conv_norm(d, at + ".conv2", at + ".bn2", y, planes, 3, 1, 1, gain=0.25)
    return _joined(d, at, x, y, planes, stride)


def _bottleneck(d, at, x, planes, stride, groups, group_width):
    inner = planes * group_width // 64 * groups
    y = d("relu", at + ".relu1", _conv_norm(d, at + ".conv1", at + ".bn1", x, inner, 1))
    y = d("relu", at + ".relu2", _conv_norm(d, at + ".conv2", at + ".bn2", y, inner, 3, stride, 1, groups))
    y = _conv_norm(d, at + ".conv3", at + ".bn3", y, 4 * planes, 1, gain=0.25)
    return _joined(d, at, x, y, 4 * planes, stride)


def _joined(d, at, x, y, out, stride):
    """The sum of x and a branch y scaled to a quarter: with running statistics nothing else keeps the sum from growing block by block."""
    if stride != 1 or d.shapes[x][1] != out:
        x = _conv_norm(d, at + ".downsample.0", at + ".downsample.1", x, out, 1, stride)
    return d("relu", at + ".relu", d("add", at + ".add", y, x))


def mobilenet_v2(batch, height, width, classes):
    d = GraphBuilder("mobilenet_v2")
    x = d.input("image", (batch, 3, height, width))
    x = d("relu6", "features.0.2", _conv_norm(d, "features.0.0", "features.0.1", x, 32, 3, 2, 1))
    place = 1
    for wider, out, times, first_stride in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ):  # fmt: skip
        for time in range(times):
            x = _inverted(d, f"features.{place}", x, wider, out, first_stride if not time else 1)
            place += 1
    x = d("relu6", "features.18.2", _conv_norm(d, "features.18.0", "features.18.1", x, 1280, 1))
    x = d("dropout", "classifier.0", d("flatten", "flatten", d("average_to", "avgpool", x)), share=0.2)
    return d.finish(d("linear", "classifier.1", x, out=classes, gain=HEAD_GAIN))


def _inverted(d, at, x, wider, out, stride):
    channels, y, place = d.shapes[x][1], x, 0
    inner = channels * wider
    if wider != 1:
        y = d("relu6", at + ".conv.0.2", _conv_norm(d, at + ".conv.0.0", at + ".conv.0.1", y, inner, 1))
        place = 1
    step = at + f".conv.{place}"
    y = d("relu6", step + ".2", _conv_norm(d, step + ".0", step + ".1", y, inner, 3, stride, 1, inner))
    kept = stride == 1 and channels == out
    y = _conv_norm(d, at + ".conv.%s" % (place + 1), at + ".conv.%s" % (place + 2), y, out, 1, gain=0.5 if kept else 1.0)
    return d("add", at + ".add", x, y) if kept else y
