"""Every network by name, drawn as a list of layers: draw("resnet50", batch=16). Pure data; Python 3.8, standard library only.

`published` is the number of trained parameters in the authors' own code, which `source` names; the tests compare both builders with it.
"""

from collections import namedtuple

import network_classifiers as classifiers
import network_detector
import network_diffusion
import network_style
import network_text

Entry = namedtuple("Entry", "draw options published source")
IMAGENET = {"batch": 16, "height": 224, "width": 224, "classes": 1000}
LATENT = {"batch": 2, "height": 64, "width": 64, "words": 77, "base": 320}
TORCHVISION = "torchvision.models.%s, its metadata's num_params"

NETWORKS = {
    "alexnet": Entry(classifiers.alexnet, IMAGENET, 61100840, TORCHVISION % "alexnet"),
    "resnet18": Entry(classifiers.resnet18, IMAGENET, 11689512, TORCHVISION % "resnet18"),
    "resnet50": Entry(classifiers.resnet50, IMAGENET, 25557032, TORCHVISION % "resnet50"),
    "vgg16": Entry(classifiers.vgg16, IMAGENET, 138357544, TORCHVISION % "vgg16"),
    "mobilenet_v2": Entry(classifiers.mobilenet_v2, IMAGENET, 3504872, TORCHVISION % "mobilenet_v2"),
    "resnext101_32x4d": Entry(classifiers.resnext101_32x4d, IMAGENET, 44177704, "Cadene/pretrained-models.pytorch and timm: 44.18 M"),
    "style_transfer": Entry(network_style.transformer_net, {"batch": 1, "height": 256, "width": 256}, 1679235,
                            "pytorch/examples, fast_neural_style/neural_style/transformer_net.py: counted from its layers"),
    "yolox_tiny": Entry(network_detector.yolox_tiny, {"batch": 1, "height": 224, "width": 384, "classes": 80}, 5055855,
                        "Megvii-BaseDetection/YOLOX, README: 5.06 M; counted from its layers"),
    "unet_sd15": Entry(network_diffusion.unet_sd15, LATENT, 859520964, "Stable Diffusion 1.x, unet of diffusers' pipelines"),
    "unet_sd21": Entry(network_diffusion.unet_sd21, LATENT, 865910724, "Stable Diffusion 2.1, unet of diffusers' pipelines"),
    "gpt2_prefill": Entry(network_text.gpt2_prefill, {"batch": 1, "tokens": 512}, 124439808, "openai-community/gpt2: 124,439,808"),
    "gpt2_decode": Entry(network_text.gpt2_decode, {"batch": 1, "past": 512}, 124439808, "openai-community/gpt2: 124,439,808"),
}  # fmt: skip


def draw(name, **options):
    """The Network of that name. Options are those of its entry in NETWORKS (batch, height, width, classes ...); KeyError, ValueError."""
    entry = NETWORKS[name]
    unknown = sorted(set(options) - set(entry.options))
    if unknown:
        raise ValueError("{} has no option {}, but {}".format(name, ", ".join(unknown), ", ".join(sorted(entry.options))))
    return entry.draw(**dict(entry.options, **options))
