"""Work captured as CUDA graphs: all its kernel launches are replayed as one."""

import gc
from collections.abc import Callable
from threading import Lock
from weakref import WeakSet

import torch

Work = Callable[[], object]

EAGER = "steps are executed eagerly, not as captured CUDA graphs"
"""Message where steps are not captured; the reason is appended."""


class GcPaused:
    """Disables garbage collection while any thread is inside, and then restores it."""

    def __init__(self) -> None:
        self._lock, self._inside, self._was_enabled = Lock(), 0, False

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._was_enabled = gc.isenabled()
                gc.disable()

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._was_enabled:
                gc.enable()


gc_paused = GcPaused()
"""For captures, during which no graph may be destroyed; garbage may hold some."""


class CudaGraphs:
    """Captures CUDA graphs that share a memory pool: they run one at a time, and keep nothing there between replays."""

    def __init__(self, device: torch.device) -> None:
        self.device = torch.device("cuda", torch.cuda.current_device() if device.index is None else device.index)
        self._graphs: WeakSet[torch.cuda.CUDAGraph] = WeakSet()
        self._pool = torch.cuda.graph_pool_handle()
        self._stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]

    def __call__(self, work: Work) -> Work:
        with gc_paused:
            return self._captured(work)

    def warm_up(self, work: Work) -> None:
        """Runs some work eagerly on the capture stream, for which libraries then have allocated their buffers."""
        current = torch.cuda.current_stream(self.device)
        self._stream.wait_stream(current)
        try:
            with torch.cuda.stream(self._stream):
                work()
        finally:  # the memory that the work has read may be reused afterwards
            current.wait_stream(self._stream)

    def allocate_workspaces(self) -> None:
        """Makes cuBLAS allocate its workspaces, one per thread and stream. Later they would come from memory that is
        free for a moment, or belongs to a graph, and could never be released."""
        self._multiply()
        self.warm_up(self._multiply)

    def _multiply(self) -> None:
        """A matrix product in this thread, and its gradient's in the autograd thread."""
        with torch.enable_grad():
            matrix = torch.eye(16, device=self.device, requires_grad=True)
            torch.autograd.grad((matrix @ matrix).sum(), matrix)

    def _captured(self, work: Work) -> Work:
        if not self._graphs:
            # Torch releases a pool when its last graph is gone, and it must not be reused.
            self._pool = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        # Other threads may keep using CUDA.
        context = torch.cuda.graph(graph, self._pool, self._stream, capture_error_mode="thread_local")
        generator = torch.cuda.default_generators[self.device.index]
        seed, offset = generator.initial_seed(), generator.get_offset()
        try:
            # If ending a capture fails, torch does not restore the current stream.
            with torch.cuda.stream(torch.cuda.current_stream(self.device)), context:
                work()
        except RuntimeError:
            # Nor does it reset its generator, which without a new state could never draw again.
            fresh = torch.Generator(self.device).manual_seed(seed)
            fresh.set_offset(offset)
            generator.graphsafe_set_state(fresh.graphsafe_get_state())
            self._end_failed_capture()
            raise
        self._graphs.add(graph)
        return graph.replay

    def _end_failed_capture(self) -> None:
        """If ending a capture fails, torch leaves its allocator in the pool: later allocations would come from it, and
        cached memory would never be released."""
        try:
            torch._C._cuda_endAllocateToPool(self.device.index, self._pool)
        except RuntimeError:
            return  # it had ended
        torch._C._cuda_releasePool(self.device.index, self._pool)
        # The allocator of pinned memory cannot be reset this way, and refuses to use the same pool again.
        self._graphs = WeakSet()
