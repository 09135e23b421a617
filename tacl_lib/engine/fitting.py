"""Does a module fit into a `ModuleNetwork`? One sentence where it does not, before anything is made of it."""

import copy

import torch
from torch import nn

from tacl_lib.errors import TaclError


def trained(module: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters of a module that are not frozen, by name."""
    return {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}


def check_autograd() -> None:
    """Outside of torch's inference mode, in which nothing can be differentiated."""
    if torch.is_inference_mode_enabled():
        raise TaclError("a ModuleNetwork needs autograd, which torch.inference_mode() rules out; leave it out.")


def check_module(module: nn.Module, x: torch.Tensor, classes: int) -> None:
    """It has weights to train, and gives the logits of all classes, of each of two samples x for itself."""
    check_autograd()
    _check_parts(module)
    random, buffers = torch.get_rng_state(), copy.deepcopy(dict(module.named_buffers()))
    try:
        with torch.enable_grad():
            one, two = module(x[:1]), module(x)
    except Exception as error:  # it is a user's code: anything can happen
        shape, reason = tuple(x.shape[1:]), str(error).strip().partition("\n")[0].rstrip(".")
        raise TaclError(f"the module cannot take samples of the shape {shape}: {reason}.") from error
    drawn = not torch.equal(random, torch.get_rng_state())
    torch.set_rng_state(random)
    for logits, count in ((one, 1), (two, 2)):
        if not isinstance(logits, torch.Tensor):
            raise TaclError(f"the module must give its logits as one tensor, not {type(logits).__name__}.")
        if logits.shape != (count, classes):
            given = list(logits.shape)
            raise TaclError(f"the module must give logits [{count}, {classes}] for samples [{count}, …], not {given}.")
    if not one.requires_grad:
        raise TaclError("the logits of the module do not depend on any parameter that can be trained.")
    changed = [name for name, buffer in module.named_buffers() if not torch.equal(buffer, buffers[name])]
    if changed:
        raise TaclError(f"the module changes its buffer {changed[0]!r} when it is called; only training may change it.")
    if drawn:
        raise TaclError(
            "the module draws random numbers, as Dropout does, which no seed of a run controls; build it without "
            "(dropout 0), or in evaluation mode."
        )
    if (one - two[:1]).abs().max() > 1e-3 * two.abs().max():
        raise TaclError("the module mixes the samples of a batch: the logits of one depend on the others beside it.")


def _check_parts(module: nn.Module) -> None:
    for layer in module.modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm) and (layer.training or layer.running_mean is None):
            raise TaclError(
                f"{type(layer).__name__} mixes the samples of a batch, and a continual stream spoils its statistics; "
                "use nn.GroupNorm, or freeze it by eval()."
            )
    if any(nn.parameter.is_lazy(parameter) for parameter in module.parameters()):
        raise TaclError("the module has lazy layers, which have no weights yet; call it once, within build.")
    if not trained(module):
        raise TaclError("the module has no parameters to train.")
    for name, parameter in module.named_parameters():
        if parameter.dtype != torch.float32:
            raise TaclError(f"{name} of the module is {parameter.dtype}, but samples are torch.float32: give .float().")
