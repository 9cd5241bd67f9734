"""`@medbay.task`: a function as a durable task, and `TryAgain`, what it raises when it is not its failure.

Worker processes import this with the user's module, so it imports next to nothing itself.
"""

from __future__ import annotations

import os
import sys

from medbay.errors import UsageError

TYPE_CHECKING = False  # not from `typing`, which takes as long to load as all the rest of a worker process
if TYPE_CHECKING:
    from collections.abc import Callable
    from inspect import Signature
    from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

    from medbay.core.model import Task

    P = ParamSpec("P")
    R = TypeVar("R")

    class Adding(Protocol):
        """Where tasks are added: a `Bay`."""

        def add(self, title: str, **options: Any) -> Task:
            """Add a task."""
            ...

else:
    P, R = "P", "R"

    class Generic:
        """What is left of types when the program runs."""

        def __class_getitem__(cls, _parameters):
            return cls

    def overload(function):
        return function


_WRAPPED = ("__module__", "__name__", "__qualname__", "__doc__")
_NAMED_HINT = "move it to the top level of a module"


class TryAgain(Exception):
    """Not my failure, try me again: uncharged, `after` seconds (or "10m", or a time) from now at the earliest."""

    def __init__(self, why: str = "asked to be tried again", *, after: float | str | None = None) -> None:
        super().__init__(why)
        self.after = after


class TaskFunction(Generic[P, R]):
    """A function that can be called as it is, and added as a task with `add`."""

    def __init__(self, function: Callable[P, R], options: dict[str, Any]) -> None:
        self.__dict__.update(getattr(function, "__dict__", {}))
        for name in _WRAPPED:
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))
        self.__wrapped__ = function
        self._function = function
        self._options = options
        self._signature: Signature | None = None  # looked at when something is added
        self._targets: dict[str, str] = {}  # by the directory that tasks were added in
        self._fitting: set[int] = set()  # how many arguments without names it takes, as far as that was looked at

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def __reduce__(self) -> str:
        return self._function.__qualname__  # pickled by name, like any function

    def __repr__(self) -> str:
        return f"<medbay.task {self._function.__module__}:{self._function.__qualname__}>"

    def add(self, bay: Adding, *args: P.args, **kwargs: P.kwargs) -> Task:
        """Add a task that calls it with these arguments, which have to be JSON: a tuple arrives as a list."""
        options = {"title": self._function.__name__, **self._options}
        cwd = options.get("cwd")
        if cwd is None:
            cwd = options["cwd"] = os.getcwd()
        target = self._targets.get(cwd)
        if target is None:
            target = self._targets[cwd] = target_of(self._function, cwd)
        if kwargs or len(args) not in self._fitting:
            self._refuse_what_does_not_fit(target, args, kwargs)
        title = options.pop("title")
        return bay.add(title, python=target, args={"args": list(args), "kwargs": kwargs}, **options)

    def _refuse_what_does_not_fit(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise UsageError where the function could not be called like this."""
        import inspect  # as slow to load as all the rest, and no worker process needs it

        if self._signature is None:
            self._signature = inspect.signature(self._function)
        try:
            self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise UsageError(f"{target}: {error}") from None
        if not kwargs:
            self._fitting.add(len(args))

    def using(self, **options: Any) -> TaskFunction[P, R]:
        """The same function with other options for what is added next: `pull.using(key="monday").add(bay)`."""
        return TaskFunction(self._function, {**self._options, **options})


@overload
def task(function: Callable[P, R], /) -> TaskFunction[P, R]: ...
@overload
def task(**options: Any) -> Callable[[Callable[P, R]], TaskFunction[P, R]]: ...  # noqa: F811
def task(function: Callable[P, R] | None = None, /, **options: Any) -> Any:  # noqa: F811
    """Make a function a durable task: `@medbay.task`, or with options of `medbay add`: `timeout="10m"`, `queue=...`."""
    if function is not None:
        return TaskFunction(function, options)
    return lambda decorated: TaskFunction(decorated, options)


def target_of(function: Callable[..., Any], cwd: str) -> str:
    """`module:function`, or `FILE.py:function` of a script, as a worker process in `cwd` finds it."""
    name = function.__qualname__
    if "<" in name:
        raise UsageError(f"{name} cannot be found by its name", hint=_NAMED_HINT)
    module = sys.modules.get(function.__module__)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not function and getattr(found, "__wrapped__", None) is not function:
        raise UsageError(f"{function.__module__}:{name} is something else by now", hint=_NAMED_HINT)
    return f"{_place_of(module, cwd)}:{name}"


def _place_of(module: Any, cwd: str) -> str:
    """The name of a module; its file when only the running script can import it by name."""
    name: str = module.__name__
    spec = getattr(module, "__spec__", None)
    if name == "__main__" and spec is not None:
        name = str(spec.name)  # python -m
    file: str | None = getattr(module, "__file__", None)
    if name == "__main__":
        if file is None:
            raise UsageError("a function typed into Python has no file", hint="write it into a module")
        return os.path.abspath(file)
    beside = os.path.dirname(os.path.abspath(getattr(sys.modules["__main__"], "__file__", None) or ""))
    if file is None or beside == os.path.abspath(cwd) or _root_of(file, name) != beside:
        return name
    if "." in name:
        raise UsageError(f"{name} is found next to the running script only", hint=f"say cwd={beside!r}")
    return os.path.abspath(file)


def _root_of(file: str, name: str) -> str:
    """The directory that the import of a module started from."""
    path = os.path.abspath(file)
    depth = name.count(".") + (os.path.basename(path) == "__init__.py")
    for _ in range(depth + 1):
        path = os.path.dirname(path)
    return path
