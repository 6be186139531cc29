"""Explains wrong calls: a `RegardError` says which argument is wrong and what is needed.

`explained` marks public functions. It costs nothing while calls succeed: only when one fails are its arguments compared
with the signature. Any other error is a bug and is raised unchanged.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from functools import wraps
from itertools import islice
from numbers import Integral, Real
from pathlib import Path
from types import FunctionType, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from regard.errors import RegardError, UsageError, one_of

T = TypeVar("T")

MOST_READ = 1000
"""Maximum number of elements of a list whose types are checked."""


def explained(public: T) -> T:
    """Marks a public function, or a class with its public methods."""
    if isinstance(public, type):
        for name, member in list(vars(public).items()):
            is_public = not name.startswith("_") or name in ("__init__", "__getitem__")
            if is_public and isinstance(member, FunctionType):
                setattr(public, name, _explained(member))
            elif is_public and isinstance(member, classmethod):
                setattr(public, name, classmethod(_explained(member.__func__)))
        return public
    return _explained(public)  # type: ignore[arg-type, return-value]


def _explained(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except RegardError:
            raise
        except Exception as error:
            if (complaint := _complaint(function, arguments, named, error)) is None:
                raise
            raise UsageError(complaint) from error

    return call


def _complaint(
    function: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any], error: Exception
) -> str | None:
    """The message for a call that failed; None if its arguments are valid."""
    name = function.__qualname__.removesuffix(".__init__").removesuffix(".forward")
    signature = inspect.signature(function)
    parameters = [parameter for parameter in signature.parameters if parameter not in ("self", "cls")]
    try:
        given = signature.bind(*arguments, **named).arguments
    except TypeError as reason:
        unknown = next((each for each in named if each not in parameters), "")
        takes = f"; its arguments are {one_of(parameters, unknown)}" if parameters else ""
        return f"{name}: {reason}{takes}"
    for parameter, value in given.items():
        if parameter not in parameters:
            continue
        wanted = signature.parameters[parameter]
        is_rest = wanted.kind in (wanted.VAR_POSITIONAL, wanted.VAR_KEYWORD)
        for each in value if is_rest and isinstance(value, tuple) else [] if is_rest else [value]:
            if not fits(each, wanted.annotation):
                needed = f"{in_words(wanted.annotation)} is needed"
                return f"{name}: {parameter} is {_described(each)}, but {needed}"
    if isinstance(error, MemoryError | OverflowError) or TOO_MUCH.search(str(error)):
        if function.__name__ == "forward":
            return None  # training catches it and retries with smaller batches
        return f"{name}: more than fits ({_first_line(error)}); make what it is given, or its settings, smaller"
    tensors = {parameter: value for parameter, value in given.items() if hasattr(value, "shape")}
    if tensors and isinstance(error, RuntimeError | IndexError) and not OF_THE_DEVICE.search(str(error)):
        shapes = ", ".join(f"{parameter} {tuple(value.shape)}" for parameter, value in tensors.items())
        shape_of = {parameter: _dimensions(signature.parameters[parameter].annotation) for parameter in tensors}
        needed = ", ".join(f'{parameter} "{dimensions}"' for parameter, dimensions in shape_of.items() if dimensions)
        told = f"; in {needed}, equal names are equal numbers" if needed else ""
        return f"{name}: these shapes do not fit: {shapes}{told} ({_first_line(error)})"
    return None


TOO_MUCH = re.compile("out of memory|not enough memory|can't allocate|unable to allocate|overflow", re.IGNORECASE)
"""Messages of torch and NumPy when memory runs out or an integer overflows, on any device."""


OF_THE_DEVICE = re.compile("CUDA|CUDNN|CUBLAS|device-side|triton|inductor|dynamo|compil|captur", re.IGNORECASE)
"""Messages of torch when the device or its compiler has failed, whatever the shapes."""


def _dimensions(annotation: Any) -> str:
    """The names of a tensor's dimensions; empty if it is broadcast or of any shape."""
    each = (getattr(part, "dim_str", "...") for part in (annotation, *get_args(annotation)))
    return next((dimensions for dimensions in each if dimensions != "..."), "")


def fits(value: Any, annotation: Any) -> bool:
    """Whether a value matches an annotation; true if that cannot be determined."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return fits(value, parts[0])
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if annotation in _NUMBERS:
        return isinstance(value, _NUMBERS[annotation]) and (annotation is bool or not isinstance(value, bool))
    if annotation is None or annotation is NoneType:
        return value is None
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        is_list = (
            isinstance(value, Sized) and isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
        )
        return is_list and all(fits(each, parts[0]) for each in islice(value, MOST_READ))
    if (origin is not None and origin is Callable) or annotation is Callable or origin is _FUNCTION:
        return callable(value)
    try:
        return not isinstance(annotation, type) or isinstance(value, annotation)
    except TypeError:  # a protocol
        return True


_NUMBERS: dict[Any, type] = {int: Integral, float: Real, bool: bool}
_FUNCTION = get_origin(Callable[..., Any])


def in_words(annotation: Any) -> str:
    """The type that an annotation asks for, as in `a list of texts`."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return in_words(parts[0])
    if origin in (Union, UnionType):
        words = list(dict.fromkeys(in_words(part) for part in parts if part is not NoneType))
        return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    if origin is Literal:
        return one_of(map(str, parts))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a dictionary"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return f"a {'tuple' if origin is tuple else 'list'} of {_plural(parts[0])}"
    if origin is _FUNCTION:
        return "a function"
    if hasattr(annotation, "dim_str"):  # of jaxtyping
        return f'a tensor "{annotation.dim_str}" of {"booleans" if "bool" in annotation.dtypes else "floats"}'
    return _WORDS.get(annotation, f"a {getattr(annotation, '__name__', annotation)}")


def _plural(annotation: Any) -> str:
    """The same in the plural."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_plural(part) for part in parts if part is not NoneType))
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return re.sub("^a (tuple|list)", r"\1s", in_words(annotation))
    return "anything" if annotation is Any else re.sub("^an? ", "", in_words(annotation)) + "s"


_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "a text",
    Path: "a path",
    Any: "anything",
}


def _described(value: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"a {type(value).__name__} of {value.dtype} and shape {tuple(value.shape)}"
    return f"{value!r:.60} of type {type(value).__name__}"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
