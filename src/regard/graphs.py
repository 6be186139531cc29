"""Work captured as CUDA graphs: all its launches are replayed as one."""

import gc
from collections.abc import Callable
from threading import Lock
from weakref import WeakSet

import torch

Work = Callable[[], object]

EAGER = "steps are executed eagerly, not as captured CUDA graphs"
"""What is said where they are not, with the reason."""


class NoCollection:
    """Garbage is left alone while any thread is within, and is treated as before when none is."""

    def __init__(self) -> None:
        self._lock, self._within, self._collected = Lock(), 0, False

    def __enter__(self) -> None:
        with self._lock:
            self._within += 1
            if self._within == 1:
                self._collected = gc.isenabled()
                gc.disable()

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._within -= 1
            if not self._within and self._collected:
                gc.enable()


no_collection = NoCollection()
"""For captures: where one goes on, no graph may be destroyed, and garbage may hold some."""


class CudaGraphs:
    """Makes CUDA graphs that share their memory: they run one after another, and leave nothing there for each other."""

    def __init__(self, device: torch.device) -> None:
        self.device = torch.device("cuda", torch.cuda.current_device() if device.index is None else device.index)
        self._graphs: WeakSet[torch.cuda.CUDAGraph] = WeakSet()
        self._pool = torch.cuda.graph_pool_handle()
        self._stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]

    def __call__(self, work: Work) -> Work:
        with no_collection:
            return self._captured(work)

    def aside(self, work: Work) -> None:
        """Does some work now, where graphs are captured: what libraries keep for each stream they then keep once."""
        present = torch.cuda.current_stream(self.device)
        self._stream.wait_stream(present)
        try:
            with torch.cuda.stream(self._stream):
                work()
        finally:  # what the work has read may be used again afterwards
            present.wait_stream(self._stream)

    def take_workspaces(self) -> None:
        """Lets cuBLAS have its workspaces, one for each thread that multiplies and each stream. Later it would take
        them out of memory that is free for a moment, or that a graph holds, and none of it could be given back."""
        self._multiply()
        self.aside(self._multiply)

    def _multiply(self) -> None:
        """A product of matrices in this thread, and those of its gradient in that of gradients."""
        with torch.enable_grad():
            matrix = torch.eye(16, device=self.device, requires_grad=True)
            torch.autograd.grad((matrix @ matrix).sum(), matrix)

    def _captured(self, work: Work) -> Work:
        if not self._graphs:
            # Torch takes a pool's memory back when no graph uses it any more, and the pool is not to be used again.
            self._pool = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        # Other threads may go on with what they do.
        context = torch.cuda.graph(graph, self._pool, self._stream, capture_error_mode="thread_local")
        generator = torch.cuda.default_generators[self.device.index]
        seed, offset = generator.initial_seed(), generator.get_offset()
        try:
            # Torch does not go back to the stream it came from if the end of a capture fails.
            with torch.cuda.stream(torch.cuda.current_stream(self.device)), context:
                work()
        except RuntimeError:
            # Nor does its generator learn of that end: without another state it would never draw a number again.
            fresh = torch.Generator(self.device).manual_seed(seed)
            fresh.set_offset(offset)
            generator.graphsafe_set_state(fresh.graphsafe_get_state())
            self._end_failed_capture()
            raise
        self._graphs.add(graph)
        return graph.replay

    def _end_failed_capture(self) -> None:
        """Where a capture cannot be ended, torch's allocator is not told either: it would go on to put aside what the
        capture has taken, and never again give cached memory back."""
        try:
            torch._C._cuda_endAllocateToPool(self.device.index, self._pool)
        except RuntimeError:
            return  # it has been told
        torch._C._cuda_releasePool(self.device.index, self._pool)
        # The allocator of pinned memory cannot be told, and refuses to begin with the same pool again.
        self._graphs = WeakSet()
