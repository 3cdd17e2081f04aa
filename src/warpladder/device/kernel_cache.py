"""Compiled functions are kept on disk, as Numba does it, but nothing depends on that.

Compiling one function takes seconds. Numba keeps what it compiled beside the source, or in the
user's cache folder where that cannot be written, or wherever ``NUMBA_CACHE_DIR`` says. Where none
of them can be written Numba refuses to define the function, and a file cut short ends the program.
Here the first means that every process compiles anew, the second that one file is compiled anew,
and either is remarked once.

What touches Numba's cache stands here only; `tests/device/test_kernel_cache.py` fails first when a
new Numba moves it.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from numba.core.caching import IndexDataCacheFile, NullCache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps

from warpladder.device.compiler_flags import compare_what_is_set
from warpladder.device.one_compiler import alone
from warpladder.errors import KernelCacheWarning

__all__ = ["are_kept", "cache_folder", "cached"]

_Compiled = TypeVar("_Compiled")
# New objects after which garbage is looked for while something is compiled, in place of 700: 72
# calls of `reduce` that compile 57 kernels take 24.7 to 25.3 CPU seconds so, 27.3 to 27.7 without,
# and the same memory.
_OBJECTS = 200_000
_NO_FOLDER, _NOT_WRITTEN, _DAMAGED = "no folder", "not written", "damaged"
_said: set[str] = set()


def cached(function: _Compiled) -> _Compiled:
    """Keep on disk what Numba compiles of a function; stands above ``@njit`` or ``@cuda.jit``.

    In place of their ``cache=True``, with which a package that cannot write is not even imported.
    One of these is called by Python and by compiled functions that name it; given to one as an
    argument it is not, since it has no address for C.

    Examples
    --------
    ::

        @cached
        @njit(nogil=True)
        def twice(number):
            return 2 * number
    """
    dispatcher: Any = function
    if not hasattr(dispatcher, "enable_caching"):
        # Plain Python where NUMBA_DISABLE_JIT is set, or a simulated kernel.
        return function
    if isinstance(dispatcher, CPUDispatcher):
        _name_apart(dispatcher.py_func)
        compare_what_is_set(dispatcher)
        # Nobody calls one from C, for which LLVM would optimise another function that takes it in.
        dispatcher.targetoptions["no_cfunc_wrapper"] = True
    try:
        dispatcher.enable_caching()
    except RuntimeError:
        # No folder can be written.
        dispatcher._cache = _NoCache()
        return function
    cache = dispatcher._cache
    locator, filename = cache._impl.locator, cache._impl.filename_base
    cache._cache_file = _KernelFiles(cache.cache_path, filename, locator.get_source_stamp())
    cache.save_overload = _unless_unwritable(cache.save_overload, cache.cache_path)
    _compile_alone(dispatcher, cache, filename)
    return function


def _name_apart(function: Any) -> None:
    """Give a function that depends on variables around it a name of its own among its like.

    Numba tells them apart by a number that each process begins anew. Two that were compiled in
    different processes may have one name, under which a third finds the address of one alone.
    """
    around = function.__closure__
    if around:
        values = dumps(tuple(cell.cell_contents for cell in around))
        digest = sha256(function.__code__.co_code + values).hexdigest()
        function.__qualname__ += f".{digest[:16]}"


def _compile_alone(dispatcher: Any, cache: Any, filename: str) -> None:
    """Let a dispatcher compile what is not on disk while no other process does, see `alone`."""
    compile_here, load = dispatcher.compile, cache.load_overload
    # Of what is being compiled, the innermost last: to compile one may take another.
    under_way: list[ExitStack] = []

    def load_or_wait(signature: Any, context: Any) -> Any:
        found = load(signature, context)
        if found is None and under_way:
            key = repr(cache._index_key(signature, context.codegen()))
            # Files of no size; so many of a function will do.
            number = sha256(key.encode()).hexdigest()[:2]
            under_way[-1].enter_context(alone(Path(cache.cache_path, f"{filename}.{number}.lock")))
            found = load(signature, context)
        if found is None and under_way:
            under_way[-1].enter_context(_rarely_collecting())
        return found

    def compile_alone(signature: Any) -> Any:
        # First, as in all that compiles: the other way round two threads would wait for each other.
        with global_compiler_lock, ExitStack() as held:
            under_way.append(held)
            try:
                return compile_here(signature)
            finally:
                under_way.pop()

    cache.load_overload = load_or_wait
    dispatcher.compile = compile_alone


@contextmanager
def _rarely_collecting() -> Iterator[None]:
    """Let garbage be looked for less often meanwhile, if it is at all.

    A compiler makes many objects and few cycles of them. Turned off, collecting would stay off for
    who asks in another thread whether it is on, and in a process that is forked.
    """
    before = gc.get_threshold()
    rare = (_OBJECTS, *before[1:])
    if not 0 < before[0] < _OBJECTS:
        yield
        return
    gc.set_threshold(*rare)
    try:
        yield
    finally:
        # Unless somebody has set another meanwhile.
        if gc.get_threshold() == rare:
            gc.set_threshold(*before)


def cache_folder(function: Any) -> Path | None:
    """Return where Numba keeps what it compiles of a `cached` function, None where it does not."""
    if not hasattr(function, "stats"):
        # NUMBA_DISABLE_JIT is set.
        return None
    path = function.stats.cache_path
    return None if path is None else Path(path)


def are_kept() -> bool:
    """Return whether all that this process compiled so far is on disk for the next."""
    return _said.isdisjoint((_NO_FOLDER, _NOT_WRITTEN))


class _NoCache(NullCache):  # type: ignore[misc]  # Numba has no types
    """Stands for a cache where none can be; says so when something is first compiled."""

    def load_overload(self, *_arguments: Any) -> None:
        _remark(
            _NO_FOLDER,
            "compiled kernels cannot be kept, because neither the package's folder nor the user's "
            "cache folder can be written: every process compiles anew what it needs, which takes "
            "seconds. Set NUMBA_CACHE_DIR to a folder that can be written",
        )


class _KernelFiles(IndexDataCacheFile):  # type: ignore[misc]  # Numba has no types
    """An index and the files it names; what cannot be read is as if it were not there.

    Two processes that save at once may give two kernels one number. The last to write wins, and the
    index of the other is wrong about it; so the key is in the file, too. An index is written before
    the file that it names, where one of an older source may stand; so is what tells sources apart.
    """

    def load(self, key: Any) -> Any:
        match super().load(key):
            case (stamp, kept, data) if (stamp, kept) == (self._source_stamp, key):
                return data
        return None

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (self._source_stamp, key, data))

    def _load_index(self) -> Any:
        found = self._unless_damaged(self._index_path, super()._load_index)
        return {} if found is None else found

    def _load_data(self, name: str) -> Any:
        return self._unless_damaged(
            self._data_path(name), lambda: super(_KernelFiles, self)._load_data(name)
        )

    def _unless_damaged(self, path: str, load: Callable[[], Any]) -> Any:
        try:
            return load()
        except OSError:
            return None
        except Exception as fault:  # noqa: BLE001 - a damaged pickle may raise anything
            with suppress(OSError):
                Path(path).unlink()
            _remark(
                _DAMAGED,
                f"{path} is damaged ({type(fault).__name__}): such files are set aside, and what "
                "they held is compiled anew",
            )
            return None


def _unless_unwritable(save: Callable[..., None], folder: str) -> Callable[..., None]:
    def try_to_save(signature: Any, found: Any) -> None:
        if isinstance(found, CompileResult):
            # The source with its types, for `inspect_types`: 6 ms, and half of what is kept.
            found = found._replace(type_annotation="")
        try:
            save(signature, found)
        except OSError as fault:
            _remark(
                _NOT_WRITTEN,
                f"compiled kernels cannot be kept in {folder} ({fault.strerror}): every process "
                "compiles anew what it needs, which takes seconds. Make room there, or set "
                "NUMBA_CACHE_DIR to another folder",
            )

    return try_to_save


def _remark(kind: str, message: str) -> None:
    """Warn, once in a process for all functions that are affected alike."""
    if kind not in _said:
        _said.add(kind)
        warnings.warn(message, KernelCacheWarning, stacklevel=3)
