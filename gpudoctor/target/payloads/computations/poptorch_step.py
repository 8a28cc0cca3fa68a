"""The training step of torch_step.py on an IPU, or on the IPU Model where POPTORCH_IPU_MODEL=1 asks for it. It was never tried on a real IPU."""
import os


def run(tools, framework, wanted):
    import torch
    import poptorch

    shared = tools.part("torch_step")
    tools.say(stage="import", version=str(poptorch.__version__))
    tools.say(stage="device")
    simulated = os.environ.get("POPTORCH_IPU_MODEL") == "1"
    if not simulated and not poptorch.ipuHardwareIsAvailable():
        tools.none_listed("IPU", "poptorch", "/dev/ipu0" if os.path.exists("/dev/ipu0") else "")
    name = "IPU Model, a simulation on the CPU" if simulated else "IPU version %s" % poptorch.ipuHardwareVersion()
    tools.has("", [{"id": "ipu:0", "name": name}])
    tools.say(stage="allocate")

    class WithLoss(torch.nn.Module):
        def __init__(self):
            super(WithLoss, self).__init__()
            self.net, self.loss = shared.network(tools, torch).float(), torch.nn.MSELoss()

        def forward(self, inputs, target):
            output = self.net(inputs)
            return output, self.loss(output, target)

    model = WithLoss()
    before = [weights.detach().double().clone() for weights in model.parameters()]
    trained = poptorch.trainingModel(model, optimizer=poptorch.optim.SGD(model.parameters(), lr=shared.RATE, use_combined_accum=False))
    inputs, target = (data.float() for data in shared.examples(tools, torch))
    tools.say(stage="compute")
    output, loss = trained(inputs, target)
    trained.copyWeightsToHost()
    tools.say(stage="compare")
    got = {"output": output, "loss": loss}
    for i, (old, new) in enumerate(zip(before, model.parameters())):
        got["weights %d" % i] = new
        # the gradients stay on the IPU, so the changes of the weights are compared in their place
        got["gradient %d" % i] = (old - new.detach().double()) / shared.RATE
    tools.conclude([(name, shared.numbers(got[name]), right) for name, right in shared.reference(tools, torch)])
