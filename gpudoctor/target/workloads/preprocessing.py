"""The preparation of images for a classifier or a detector: from a decoder's bytes (N x H x W x 3) to normalised numbers N x 3 x H x W.

The images are made by arithmetic, as all inputs are (weights.py). Standard library at import; numpy or torch is imported when images are
prepared.
"""

import weights

# Mean and standard deviation of ImageNet in RGB, from 0 to 1, with which the published classifiers were trained.
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
STAGES = ("preprocess", "host_to_device", "compute", "device_to_host")


def takes_images(network):
    """Whether the network has one input that is images of three colours."""
    shape = network.inputs[0].shape
    return len(network.inputs) == 1 and network.inputs[0].kind == "float" and len(shape) == 4 and shape[1] == 3


def image_bytes(network):
    """N * H * W * 3 bytes, rows of pixels."""
    batch, colours, height, width = network.inputs[0].shape
    count, begin = batch * height * width * colours, weights.start("image bytes")
    once = bytes(int((value + 1.0) * 127.99) for value in weights.table()[begin : begin + weights.LENGTH])
    return (once * -(-count // len(once)))[:count]


class WithNumpy:
    """Prepares images with numpy; the time of prepared() is measured."""

    def __init__(self, network, dtype):
        import numpy

        batch, colours, height, width = network.inputs[0].shape
        self.name, self.dtype = network.inputs[0].name, dtype
        self.raw = numpy.frombuffer(image_bytes(network), numpy.uint8).reshape(batch, height, width, colours)
        self.middle = (numpy.array(MEAN, numpy.float32) * 255).reshape(1, colours, 1, 1)
        self.scale = (1 / (numpy.array(DEVIATION, numpy.float32) * 255)).reshape(1, colours, 1, 1)

    def prepared(self):
        """An array N x 3 x H x W in the precision of the model, its colours apart."""
        image = self.raw.transpose(0, 3, 1, 2).astype("float32", order="C")
        image -= self.middle
        image *= self.scale
        return image.astype(self.dtype, copy=False)


class WithTorch:
    def __init__(self, network, dtype):
        import torch

        batch, colours, height, width = network.inputs[0].shape
        self.dtype, self.float = dtype, torch.float32
        self.raw = torch.frombuffer(bytearray(image_bytes(network)), dtype=torch.uint8) if hasattr(torch, "frombuffer") else None
        if self.raw is None:  # torch before 1.10 has no frombuffer()
            self.raw = torch.tensor(list(image_bytes(network)), dtype=torch.uint8)
        self.raw = self.raw.view(batch, height, width, colours)
        self.middle = (torch.tensor(MEAN) * 255).view(1, colours, 1, 1)
        self.scale = (1 / (torch.tensor(DEVIATION) * 255)).view(1, colours, 1, 1)

    def prepared(self):
        """A tensor of the host, N x 3 x H x W, its colours apart."""
        return self.raw.permute(0, 3, 1, 2).contiguous().to(self.float).sub_(self.middle).mul_(self.scale).to(self.dtype)
