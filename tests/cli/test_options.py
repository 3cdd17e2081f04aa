"""What the library says of its arguments, every command says of its options."""

from __future__ import annotations

import errno
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from warpladder.cli import main
from warpladder.cli.app import app
from warpladder.cli.options import Command, options_named
from warpladder.errors import FileFormatError, InputError, MissingExtraError, WarpladderError

_NEGATIVE = "a b -1\nb a 0\n--END--\n"
_HEAVY = f"a b {2**20}\n--END--\n"


def commands(found: object) -> list[object]:
    below = getattr(found, "commands", None)
    return [found] if below is None else [one for sub in below.values() for one in commands(sub)]


def test_every_command_is_one_that_names_its_options() -> None:
    every = commands(get_command(app))
    assert len(every) > 8
    assert all(isinstance(command, Command) for command in every)


@pytest.mark.parametrize(
    ("arguments", "content", "message"),
    [
        ("paths F", _NEGATIVE, "; --negative-cycle mark gives -inf for the pairs it affects"),
        ("paths F --negative-cycle x", _HEAVY, "--negative-cycle 'x' is not known"),
        ("paths F --method johnson", _HEAVY, "--method 'johnson' is not known"),
        ("paths F --method dijkstra", _NEGATIVE, "--method dijkstra: there are negative weights"),
        ("paths F --device tpu", _HEAVY, "--device 'tpu' is not known"),
        ("paths F --format xml", _HEAVY, "--format 'xml' is not known"),
        ("paths F --dtype int16", _HEAVY, "less with weights below 0; take --dtype 'int32'"),
        ("paths F --dtype int8", _HEAVY, "--dtype 'int8': distances are computed in int16, int32"),
        ("paths F --dtype uint8", _HEAVY, "--dtype 'uint8': distances are computed in int16"),
        ("paths F --dtype float16", _HEAVY, "--dtype 'float16': distances are computed in int16"),
        ("paths F --dtype float32", f"a b {2**24 + 1}\n--END--\n", "--dtype 'float32': it would"),
        ("paths F --weight 2", _HEAVY, "warpladder: --weight does not apply to "),
        ("paths F --source x --target y", "a,b\n1,2\n", "--source 'x' is no column"),
        (
            "paths F --undirected --format numpy",
            _HEAVY,
            "F: expected a NumPy file, found another beginning",
        ),
        ("reduce F --column a --op median", "a,b\n1,2\n", "--op 'median' is not known"),
        ("reduce F --column zz", "a,b\n1,2\n", "--column 'zz' is not there"),
        ("reduce F --column a --dtype x", "a,b\n1,2\n", "--dtype 'x' is not known"),
        ("make-graph cycle --n 2 --undirected", "", "--n 2 is too small for an undirected cycle; "),
        ("make-graph cycle --n 2 --undirected", "", "give at least 3, or --directed\n"),
        ("make-graph scale-free --n 3 --edges-per-vertex 3", "", "--edges-per-vertex 3 is too"),
        ("climb primer --device tpu", "", "--device 'tpu' is not known"),
        ("explore growth --device tpu", "", "--device 'tpu' is not known"),
    ],
)
def test_messages_name_options(
    arguments: str,
    content: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    # A name that looks like an option is left as it is.
    name = "dtype=n=1.txt"
    Path(name).write_text(content)
    told = refused(
        [name if word == "F" else word for word in arguments.split()], monkeypatch, capsys
    )
    assert message.replace("F:", f"{name}:") in told
    assert "--dtype n=1" not in told


def refused(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """Return what a command says that is refused."""
    monkeypatch.setattr(sys, "argv", ["warpladder", *words])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 1
    return capsys.readouterr().err


_OPTIONS = {"n": "--n", "directed": "--d", "directed=True": "--d", "directed=False": "--no-d"}


def test_what_python_raises_without_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: str) -> None:
        raise MemoryError

    monkeypatch.setattr(import_module("warpladder.cli.app"), "app", fail)
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().err == "warpladder: memory does not suffice\n"


def spelled(fault: WarpladderError, literals: tuple[str, ...] = ()) -> str:
    with pytest.raises(type(fault)) as caught, options_named(literals, _OPTIONS):
        raise fault
    return str(caught.value)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("n=3 is large", "--n 3 is large"),
        ("n: is large", "--n: is large"),
        ("give n=", "give --n "),
        ("n= is not", "--n is not"),
        ('a (n="x")', "a (--n x)"),
        ("n='x' is n=4", "--n 'x' is --n 4"),
        ("directed=False, directed=True", "--no-d, --d"),
        ("directed=1", "--d 1"),
        ("found 'a n=3 n: x', n=4", "found 'a n=3 n: x', --n 4"),
        ('found "directed=False" n=4', 'found "directed=False" --n 4'),
        ("file: n: x; n: y (n: z)", "file: --n: x; --n: y (--n: z)"),
        ("expecting ',' n: line 3", "expecting ',' n: line 3"),
        ("len=3 --n=4 in=5 a.n=6 =n: n", "len=3 --n=4 in=5 a.n=6 =n: n"),
        ("n=5.txt, line 3: n=5", "n=5.txt, line 3: --n 5"),
    ],
)
def test_where_a_name_is_an_argument(said: str, shown: str) -> None:
    assert spelled(InputError(said), ("n=5.txt",)) == shown


@pytest.mark.parametrize(
    ("arguments", "content", "message"),
    [
        ("paths weight", "a b c d\nx\n", "weight: it is not clear which columns hold the edges"),
        ("paths weight", "a b c d\nx\n", "choose the source, target and weight columns"),
        ("paths dtype --dtype int8", _HEAVY, "warpladder: --dtype 'int8': distances are"),
        ("paths dtype", "a b x\n", "warpladder: dtype, line 1: expected a number"),
        ("reduce op", "a b\n", "warpladder: op: choose a column"),
        ("advect --initial courant --steps 3", "a b\n", "warpladder: courant: choose a column"),
        ("advect --resume out --steps 2", "a b\n", "warpladder: out: expected snapshots"),
    ],
)
def test_files_may_be_called_as_options_are(
    arguments: str,
    content: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    words = arguments.split()
    Path(words[2] if words[1].startswith("--") else words[1]).write_text(content)
    assert message in refused(words, monkeypatch, capsys)


def test_a_full_disk_is_said_to_be_that(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(import_module("warpladder.cli.app"), "app", fail)
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().err == "warpladder: cannot write: No space left on device\n"


def test_errors_with_fields_and_messages_of_their_own() -> None:
    fault = FileFormatError("n=1.txt", 3, "n=2", "n=3")
    assert spelled(fault, ("n=1.txt",)) == "n=1.txt, line 3: expected --n 2, found --n 3"
    assert fault.expected == "n=2"
    missing = MissingExtraError('n="x"', "scipy", "sparse")
    assert spelled(missing).startswith("--n x needs scipy")


@given(st.text())
def test_text_without_an_argument_stays(text: str) -> None:
    with pytest.raises(InputError) as caught, options_named([text], {}):
        raise InputError(text)
    assert str(caught.value) == text


def test_commands_that_compute_do_not_load_blas(tmp_path: Path) -> None:
    """Numba does, where SciPy is there; a command says what was loaded when it ends."""
    pytest.importorskip("scipy.linalg")
    (tmp_path / "ring.csv").write_text("source,target,weight\na,b,1\nb,a,2\n")
    program = (
        "import atexit, sys; from warpladder.cli import main;"
        "names = ('numba.np.arraymath', 'scipy.linalg', 'scipy.linalg.cython_blas');"
        "atexit.register(lambda: print([name in sys.modules for name in names]));"
        f"sys.argv = ['warpladder', 'paths', {str(tmp_path / 'ring.csv')!r}];"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[True, False, False]"
