"""YOLOX-tiny as Megvii's YOLOX builds it: CSPDarknet (depth 0.33, width 0.375), PAFPN, decoupled head, SiLU; layers named as there.

The result is that of its ONNX export without decoding: N x boxes x (4 + 1 + classes), scores after the sigmoid, boxes still in grid units.
"""

from network_ir import GraphBuilder

SILU_GAIN = 1.45  # keeps the mean square through the SiLUs of this network; 1.6 overflows float16
WIDTHS = (24, 48, 96, 192, 384)


def yolox_tiny(batch, height, width, classes):
    """Height and width must be multiples of 32."""
    d = GraphBuilder("yolox_tiny")
    x = d.input("image", (batch, 3, height, width))
    small, middle, large = _pyramid(d, *_backbone(d, x))
    boxes = [_head(d, level, value, classes) for level, value in enumerate((small, middle, large))]
    return d.finish(d("concat", "head.boxes", *boxes, axis=1))


def _base(d, at, x, out, kernel=1, stride=1):
    x = d("conv", at + ".conv", x, out=out, kernel=kernel, stride=stride, padding=kernel // 2, bias=False, gain=SILU_GAIN)
    return d("silu", at + ".act", d("batch_norm", at + ".bn", x, eps=1e-3, momentum=0.03))


def _csp(d, at, x, out, times, shortcut):
    y, beside = _base(d, at + ".conv1", x, out // 2), _base(d, at + ".conv2", x, out // 2)
    for place in range(times):
        step = at + f".m.{place}"
        z = _base(d, step + ".conv2", _base(d, step + ".conv1", y, out // 2), out // 2, 3)
        y = d("add", step + ".add", z, y) if shortcut else z
    return _base(d, at + ".conv3", d("concat", at + ".concat", y, beside, axis=1), out)


def _backbone(d, x):
    """The values at a 1/8, 1/16 and 1/32 of the height."""
    at = "backbone.backbone."
    parts = [d("every_second", at + f"stem.{row}{column}", x, row=row, column=column) for column in (0, 1) for row in (0, 1)]
    x = _base(d, at + "stem.conv", d("concat", at + "stem.concat", *parts, axis=1), WIDTHS[0], 3)
    found = []
    for number, times in ((2, 1), (3, 3), (4, 3), (5, 1)):
        stage, out = at + f"dark{number}", WIDTHS[number - 1]
        x = _base(d, stage + ".0", x, out, 3, 2)
        if number == 5:
            x = _pools(d, stage + ".1", x, out)
        x = _csp(d, stage + (".2" if number == 5 else ".1"), x, out, times, number != 5)
        found.append(x)
    return found[1:]


def _pools(d, at, x, out):
    x = _base(d, at + ".conv1", x, out // 2)
    pooled = [d("max_pool", at + f".m.{place}", x, kernel=side, stride=1, padding=side // 2) for place, side in enumerate((5, 9, 13))]
    return _base(d, at + ".conv2", d("concat", at + ".concat", x, *pooled, axis=1), out)


def _pyramid(d, fine, middle, coarse):
    at = "backbone."
    top = _base(d, at + "lateral_conv0", coarse, WIDTHS[3])
    x = d("concat", at + "concat_p4", d("upsample", at + "upsample_p4", top), middle, axis=1)
    middle_top = _base(d, at + "reduce_conv1", _csp(d, at + "C3_p4", x, WIDTHS[3], 1, False), WIDTHS[2])
    x = d("concat", at + "concat_p3", d("upsample", at + "upsample_p3", middle_top), fine, axis=1)
    small = _csp(d, at + "C3_p3", x, WIDTHS[2], 1, False)
    x = d("concat", at + "concat_n3", _base(d, at + "bu_conv2", small, WIDTHS[2], 3, 2), middle_top, axis=1)
    middle = _csp(d, at + "C3_n3", x, WIDTHS[3], 1, False)
    x = d("concat", at + "concat_n4", _base(d, at + "bu_conv1", middle, WIDTHS[3], 3, 2), top, axis=1)
    return small, middle, _csp(d, at + "C3_n4", x, WIDTHS[4], 1, False)


def _head(d, level, x, classes):
    def at(name):
        return f"head.{name}.{level}"

    x = _base(d, at("stems"), x, 96)
    kinds, places = x, x
    for place in (0, 1):
        kinds = _base(d, at("cls_convs") + f".{place}", kinds, 96, 3)
        places = _base(d, at("reg_convs") + f".{place}", places, 96, 3)
    kinds = d("sigmoid", at("cls_sigmoid"), d("conv", at("cls_preds"), kinds, out=classes, kernel=1, gain=1.0))
    box = d("conv", at("reg_preds"), places, out=4, kernel=1, gain=1.0)
    thing = d("sigmoid", at("obj_sigmoid"), d("conv", at("obj_preds"), places, out=1, kernel=1, gain=1.0))
    return d("tokens", at("tokens"), d("concat", at("concat"), box, thing, kinds, axis=1))
