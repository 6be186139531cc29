"""Second implementations for speed: kernels for CPUs (numba) and CUDA devices (Triton), and one rule that picks
them."""

from regard.kernels.picking import KERNELS, Kernel, pick

__all__ = ["KERNELS", "Kernel", "pick"]
