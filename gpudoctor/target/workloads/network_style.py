"""Style transfer after Johnson et al. 2016, as pytorch/examples' fast_neural_style has it.

Reflection padding, instance norm, residual blocks, nearest upsampling; no tanh at the end.
"""

from network_ir import GraphBuilder


def transformer_net(batch, height, width):
    """Height and width must be multiples of 4; else the resulting image has another size."""
    d = GraphBuilder("style_transfer")
    x = d.input("image", (batch, 3, height, width))
    for number, out, kernel, stride in ((1, 32, 9, 1), (2, 64, 3, 2), (3, 128, 3, 2)):
        x = _conv(d, f"conv{number}", x, out, kernel, stride)
        x = d("relu", f"relu{number}", d("instance_norm", f"in{number}", x))
    for number in range(1, 6):
        at = f"res{number}"
        y = d("relu", at + ".relu", d("instance_norm", at + ".in1", _conv(d, at + ".conv1", x, 128, 3)))
        y = d("instance_norm", at + ".in2", _conv(d, at + ".conv2", y, 128, 3))
        x = d("add", at + ".add", y, x)
    for number, out in ((1, 64), (2, 32)):
        at = f"deconv{number}"
        x = _conv(d, at, d("upsample", at + ".upsample", x), out, 3)
        x = d("relu", "relu%s" % (number + 3), d("instance_norm", "in%s" % (number + 3), x))
    return d.finish(_conv(d, "deconv3", x, 3, 9))


def _conv(d, at, x, out, kernel, stride=1):
    padded = d("reflect_pad", at + ".reflection_pad", x, by=kernel // 2)
    return d("conv", at + ".conv2d", padded, out=out, kernel=kernel, stride=stride)
