"""Makes one call inside a worker process: finds the function, runs it, and turns how it ended into data."""

from __future__ import annotations

import importlib
import os
import sys
from _json import encode_basestring_ascii, make_encoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType, TracebackType
    from typing import Any, Final, NoReturn

VALUE_CHARS_MAX: Final = 1_000_000
_TRACEBACK_HEAD: Final = 8_000
_TRACEBACK_TAIL: Final = 24_000
_MESSAGE_MAX: Final = 10_000
_CAUSES_MAX: Final = 10
_TRY_AGAIN: Final = 75
_INTERRUPTED: Final = 130  # as a shell says it of SIGINT
_OURS: Final = (__file__, os.path.join(os.path.dirname(os.path.dirname(__file__)), "function.py"))


def perform(target: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Call `module:function`; nothing it raises gets out of here."""
    try:
        value = _find(target)(*args, **kwargs)
        if hasattr(value, "__await__"):
            import asyncio

            value = asyncio.run(_awaited(value))
        return _returned(value)
    except BaseException as error:
        return raised(error)


def as_json(value: Any) -> str:
    """As `json.dumps` writes it, without loading half of the library; raises TypeError and ValueError as that does."""
    if value is None:
        return "null"
    encode = make_encoder({}, _refuse, encode_basestring_ascii, None, ": ", ", ", False, False, False)
    return "".join(encode(value, 0))


def _refuse(value: Any) -> NoReturn:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


async def _awaited(value: Any) -> Any:
    return await value


def _find(target: str) -> Any:
    place, _, name = target.rpartition(":")
    found: Any = _load_file(os.path.abspath(place)) if place.endswith(".py") else importlib.import_module(place)
    for part in name.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{target} is not a function but a {type(found).__name__}")
    return found


def _load_file(path: str) -> ModuleType:
    """A module by its file, kept under the file's name, with its neighbours in reach as `python FILE` has them."""
    name = os.path.basename(path).removesuffix(".py")
    if name in sys.stdlib_module_names or getattr(sys.modules.get(name), "__file__", path) != path:
        name = f"{name}@{path}"  # the name belongs to another module
    if os.path.dirname(path) not in sys.path:
        sys.path.insert(1, os.path.dirname(path))
    if name in sys.modules:
        return sys.modules[name]
    import importlib.util

    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _returned(value: Any) -> dict[str, Any]:
    if _asks_again(value):
        return raised(value)
    try:
        text = as_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        return _refused(f"the result cannot be written as JSON: {_said(error)}")
    if len(text) > VALUE_CHARS_MAX:
        limit = f"the result is larger than {VALUE_CHARS_MAX} characters of JSON"
        return _refused(f"{limit}: write it to a file and return the file's name")
    return {"code": 0, "value": text}


def _refused(why: str) -> dict[str, Any]:
    _tell(f"medbay.ResultError: {why}\n")
    return {"code": 1, "error": {"type": "medbay.ResultError", "message": why, "traceback": "", "causes": []}}


def raised(error: BaseException) -> dict[str, Any]:
    """An exception as data: an exit code, or class, message, traceback and causes."""
    if _asks_again(error):
        return {"code": _TRY_AGAIN, "summary": _said(error), "retry_after": getattr(error, "after", None)}
    if isinstance(error, SystemExit):
        return _exited(error.code)
    import traceback

    text = _plain("".join(traceback.format_exception(type(error), error, _own_part(error.__traceback__))))
    if len(text) > _TRACEBACK_HEAD + _TRACEBACK_TAIL:
        text = f"{text[:_TRACEBACK_HEAD]}\n  [...]\n{text[-_TRACEBACK_TAIL:]}"
    _tell(text)
    said = {"type": _name_of(error), "message": _said(error), "traceback": text, "causes": _causes(error)}
    return {"code": _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1, "error": said}


def _exited(code: Any) -> dict[str, Any]:
    """`sys.exit(CODE)` means what it means to a process."""
    if code is None or code == 0:
        return {"code": 0, "value": "null"}
    if isinstance(code, int):
        return {"code": code & 0xFF}
    _tell(f"{_plain(str(code))}\n")
    return {"code": 1}


def _asks_again(value: Any) -> bool:
    """Whether it is a `medbay.TryAgain`; only somebody who imported it can have one."""
    module = sys.modules.get("medbay.function")
    return module is not None and isinstance(value, module.TryAgain)


def _own_part(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the task's own first line on; of an import that found nothing, the import."""
    while trace is not None and trace.tb_frame.f_code.co_filename in _OURS:
        trace = trace.tb_next
    below = trace
    while below is not None and "importlib" in below.tb_frame.f_code.co_filename:
        below = below.tb_next
    return below or trace


def _causes(error: BaseException) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    seen = {id(error)}
    cause = _cause_of(error)
    while cause is not None and id(cause) not in seen and len(found) < _CAUSES_MAX:
        seen.add(id(cause))
        found.append({"type": _name_of(cause), "message": _said(cause)})
        cause = _cause_of(cause)
    return found


def _cause_of(error: BaseException) -> BaseException | None:
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _name_of(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _said(error: BaseException) -> str:
    try:
        return _plain(str(error))[:_MESSAGE_MAX]
    except Exception as wrong:
        return f"<its message raised {type(wrong).__name__}>"


def _plain(text: str) -> str:
    """No database takes lone surrogates, and PostgreSQL takes no NUL."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def _tell(text: str) -> None:
    """To the log, after what the function wrote itself and whatever it did to its streams."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue  # closed, or of its own making
    rest = text.encode("utf-8", "replace")
    try:
        while rest:
            rest = rest[os.write(2, rest) :]
    except OSError:
        return
