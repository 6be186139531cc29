"""A cache of inspections: the page asks for one, then fetches its arrays one by one."""

from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from threading import Lock

from regard.errors import RegardError
from regard.inspect import Inspection

MOST_BYTES = 512 * 1024 * 1024


class NotFoundError(RegardError):
    """No entry has that name."""


class Kept:
    """Keyed by a hash of the request, so that equal requests share one and visitors need no account. Evicts the least
    recently used; the page then asks again."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[str, Inspection] = OrderedDict()
        self._lock = Lock()

    def put(self, request: str, make: Callable[[], Inspection]) -> tuple[str, Inspection]:
        """The inspection for a request, and its name."""
        name = sha256(request.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        known = self.get(name)
        made = make() if known is None else known
        with self._lock:
            self._kept[name] = made
            self._kept.move_to_end(name)
            while len(self._kept) > 1 and sum(map(_bytes, self._kept.values())) > self._most:
                self._kept.popitem(last=False)
        return name, made

    def get(self, name: str) -> Inspection | None:
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
            return self._kept.get(name)

    def found(self, name: str) -> Inspection:
        """The inspection of that name; refused if it was evicted."""
        found = self.get(name)
        if found is None:
            raise NotFoundError("this inspection has expired from the cache; inspect again")
        return found


def _bytes(inspection: Inspection) -> int:
    return sum(array.values.nbytes for array in inspection.values())
