"""Makes networks of others quicker as they run: transposed convolutions to few channels are done otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from diffgan.generators.thin import conv_transpose

#: The most channels that the pixels of a place make together, for which that pays.
_MOST = 32
_ATEN = torch.ops.aten
#: What traced and decomposed networks call; their first nine arguments are the same.
_CONVOLUTIONS = (_ATEN._convolution.default, _ATEN.convolution.default)


def thinned(network: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The same network but for rounding, whatever it was written in."""
    useful = True

    def run(*inputs: Tensor | None) -> Tensor:
        nonlocal useful
        if not useful:
            return network(*inputs)
        with _Thinning() as looking:  # type: ignore[no-untyped-call]
            made = network(*inputs)
        useful = looking.done > 0  # a look at each operation takes its time
        return made

    return run


class _Thinning(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees each operation of its thread, of TorchScript's and exported programs' networks, too.

    Attributes:
        done: how many it did otherwise.
    """

    done = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        """Does it, or the same quicker."""
        del types
        if func is _ATEN.conv_transpose2d.input and not kwargs:
            return self._transposed(func, args, *_filled(args, (None, [1], [0], [0], 1, [1])))
        if func in _CONVOLUTIONS and args[6] and not kwargs:
            bias, stride, padding, dilation, _, more, groups = args[2:9]
            return self._transposed(func, args, bias, stride, padding, more, groups, dilation)
        return func(*args, **(kwargs or {}))

    def _transposed(
        self,
        func: Callable[..., Tensor],
        args: tuple[Any, ...],
        bias: Tensor | None,
        stride: list[int],
        padding: list[int],
        more: list[int],
        groups: int,
        dilation: list[int],
    ) -> Tensor:
        hidden, weight = args[:2]
        even = all(len(set(sides)) == 1 for sides in (stride, padding, more, weight.shape[2:]))
        is_plain = even and groups == 1 and set(dilation) == {1} and hidden.dim() == weight.dim() == 4
        if not is_plain or weight.shape[1] * stride[0] ** 2 > _MOST or stride[0] == 1 or more[0] > padding[0]:
            return func(*args)
        self.done += 1
        return conv_transpose(hidden, weight, bias, stride=stride[0], padding=padding[0], more=more[0])


def _filled(args: tuple[Any, ...], defaults: tuple[Any, ...]) -> tuple[Any, ...]:
    """All arguments after the images and the weights."""
    return (*args[2:], *defaults[len(args) - 2 :])
