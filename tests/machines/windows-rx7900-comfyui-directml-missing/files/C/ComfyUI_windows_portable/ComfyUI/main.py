import comfy.options
