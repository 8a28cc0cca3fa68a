"""llama.cpp through llama-cpp-python of the target: tokens a second of a model of random weights, and its scores against float64.

The device is a number, that of a GPU of this build (0 is the first), or cpu. Everything of the model is put onto that one device.
"""

import ctypes
import inspect
import itertools
import tempfile

import correctness
import llama_model
import llama_threads
from device_names import bare, processor
from worker import Skipped, Work

PROMPT, STEPS = 64, 6
"""Tokens whose scores are judged: a prompt in one go, then one by one."""
SEED, SAMPLED = 20261123, 16
GPU_TYPES = (1, 2)
"""GPU and integrated GPU of ggml_backend_dev_type."""
HELPERS = (b"BLAS", b"AMX")
"""Helpers of the processor, which older releases number as the newer ones number integrated GPUs."""
ALL_LAYERS = 999


def open_session(request):
    return Session(request)


class Session:
    def __init__(self, request):
        import llama_cpp

        self.llama, self.request = llama_cpp, request
        self.device = bare(request.get("device"), "llama") or "cpu"
        self.threads = request.get("threads") or llama_threads.physical_cores()
        self.name = processor()
        if self.device != "cpu":
            if not llama_cpp.llama_supports_gpu_offload():
                raise Skipped("this build of llama-cpp-python has no backend for a GPU")
            names = gpus(llama_cpp)
            if names is not None and int(self.device) >= len(names):
                raise Skipped("llama.cpp lists {} as GPUs, and no number {}".format(", ".join(names) or "nothing", self.device))
            self.name = names[int(self.device)] if names else ""

    def about(self):
        return {
            "framework_version": self.llama.__version__, "device": self.device, "device_name": self.name,
            "threads": self.threads,
        }  # fmt: skip

    def prepare(self, request):
        kinds = {"llama_prefill": Prefill, "llama_decode": Decode}
        if request["workload"] not in kinds:
            raise Skipped("llama.cpp has no workload '{}', only {}".format(request["workload"], " and ".join(kinds)))
        if request.get("dtype") not in llama_model.TYPES:
            raise Skipped("the model is written in float16 and float32, not in {}".format(request.get("dtype")))
        return kinds[request["workload"]](self, request)


def gpus(llama_cpp):
    """What ggml calls its GPUs, in its order; None where this release cannot be asked."""
    try:
        from llama_cpp._ggml import libggml as ggml

        ggml.ggml_backend_dev_get.restype = ctypes.c_void_p
        for call in (ggml.ggml_backend_dev_name, ggml.ggml_backend_dev_description):
            call.restype, call.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
        ggml.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
        ggml.ggml_backend_dev_type.argtypes = [ctypes.c_void_p]
        ggml.ggml_backend_dev_count.restype = ctypes.c_size_t
        found = [ggml.ggml_backend_dev_get(number) for number in range(ggml.ggml_backend_dev_count())]
        own = [each for kind in GPU_TYPES for each in found if ggml.ggml_backend_dev_type(each) == kind]
        named = [(ggml.ggml_backend_dev_name(each), ggml.ggml_backend_dev_description(each)) for each in own]
        return [text.decode("utf-8", "replace") for name, text in named if not name.startswith(HELPERS)]
    except (ImportError, AttributeError):
        return None


class _Llama(Work):
    unit = "tokens/s"
    includes = ("compute",)

    def __init__(self, session, request):
        self.session, self.request, self.dtype = session, request, request["dtype"]
        options = request.get("options", {})
        if options.get("batch", 1) != 1:
            raise Skipped("one text at a time is measured here")
        self.tokens, self.past = int(options.get("tokens", 512)), int(options.get("past", 512))
        longest = max(self.tokens, self.past + 1, PROMPT + STEPS + SAMPLED)
        if longest > llama_model.CONTEXT:
            raise Skipped(f"the model knows {llama_model.CONTEXT} tokens, not {longest}")
        # the file is removed after it was read, so that nothing remains outside the folder of the worker
        with tempfile.TemporaryDirectory(prefix="gpudoctor-model-") as folder:
            self.model = self._loaded(llama_model.kept(folder, self.dtype), longest)

    def _loaded(self, path, longest):
        llama, gpu = self.session.llama, self.session.device != "cpu"
        settings = {
            "model_path": path, "n_ctx": -(-longest // 256) * 256, "n_batch": max(512, self.tokens), "n_ubatch": 512, "seed": SEED,
            "n_threads": self.session.threads, "n_threads_batch": self.session.threads, "verbose": False, "use_mmap": False,
            "n_gpu_layers": ALL_LAYERS if gpu else 0, "main_gpu": int(self.session.device) if gpu else 0,
            "split_mode": llama.LLAMA_SPLIT_MODE_NONE, "offload_kqv": gpu, "op_offload": gpu,
        }  # fmt: skip
        known = inspect.signature(llama.Llama.__init__).parameters
        return llama.Llama(**{name: value for name, value in settings.items() if name in known})

    def sync(self):
        self.session.llama.llama_synchronize(self.model.ctx)

    def scores(self):
        """Of what follows the last token."""
        numbers = self.session.llama.llama_get_logits_ith(self.model.ctx, -1)
        return [float(number) for number in numbers[: llama_model.VOCABULARY]]

    def outcome(self):
        return correctness.same_of_list(self.scores())

    def evaluated(self, tokens, past):
        """Scores after tokens that stand behind `past` others, which are kept."""
        self.model.n_tokens = past
        self.model.eval(tokens)
        return self.scores()

    def verify(self):
        import llama_reference
        import numpy

        tokens = llama_model.prompt(PROMPT + STEPS)
        right = llama_reference.scores(tokens, self.dtype)[PROMPT - 1 :]
        got = [self.evaluated(tokens[:PROMPT], 0)]
        got += [self.evaluated(tokens[place : place + 1], place) for place in range(PROMPT, PROMPT + STEPS)]
        tolerance = correctness.TOLERANCES["float16"]  # ggml computes in no narrower type, whatever the type of the weights is
        note = f"scores after a prompt of {PROMPT} tokens and after {STEPS} more, against float64 in numpy"
        first, again = self.sampled(tokens[:16]), self.sampled(tokens[:16])
        return [
            dict(correctness.compared("scores", numpy.array(got), right, tolerance, note), repeat_tolerance=tolerance),
            correctness.exactly("tokens", again, first, "{} tokens drawn twice with the same seed"),
        ]

    def sampled(self, tokens):
        self.model.reset()
        self.model.set_seed(SEED)
        drawn = self.model.generate(tokens, temp=0.8)
        return list(itertools.islice(drawn, SAMPLED))


class Prefill(_Llama):
    """A step reads the whole prompt from its beginning."""

    def __init__(self, session, request):
        super().__init__(session, request)
        self.text = llama_model.prompt(self.tokens)

    def step(self):
        self.model.n_tokens = 0
        self.model.eval(self.text)


class Decode(_Llama):
    """A step is one token behind `past` others: it reads all weights once."""

    def __init__(self, session, request):
        super().__init__(session, request)
        self.text = llama_model.prompt(self.past + 1)
        self.filled = False

    def step(self):
        if not self.filled:  # the correctness check and the sampling have left other tokens in the cache
            self.evaluated(self.text[: self.past], 0)
            self.filled = True
        self.model.n_tokens = self.past
        self.model.eval(self.text[self.past :])
