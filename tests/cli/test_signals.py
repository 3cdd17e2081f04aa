"""Signals that ask the command line to end: one line, and no half-written file stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from importlib import import_module
from time import sleep
from typing import TYPE_CHECKING

import pytest

from warpladder.cli import main
from warpladder.formats.atomic import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# `warpladder.cli.app` may also be read as the application in it.
APP = import_module("warpladder.cli.app")
SIGNALS = [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)]
each_signal = pytest.mark.parametrize(("name", "status"), SIGNALS)


@pytest.fixture
def handled(name: str) -> Iterator[signal.Signals]:
    """The signal of a name, with a handler that ends nothing, as pytest itself must go on."""
    if not hasattr(signal, name):
        pytest.skip(f"this system has no {name}")
    number = signal.Signals[name]
    before = signal.signal(number, lambda *_: None)
    yield number
    signal.signal(number, before)


@each_signal
def test_a_signal_while_writing(
    tmp_path: Path,
    handled: signal.Signals,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")
    handler = signal.getsignal(handled)

    def write(**_: str) -> None:
        with atomic_write(target) as file:
            file.write(b"half")
            signal.raise_signal(handled)

    monkeypatch.setattr(APP, "app", write)
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == status
    assert capsys.readouterr().err.endswith("; no file was changed\n")
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert target.read_text() == "old"
    # Whoever called main() from a program of their own has their handler back.
    assert signal.getsignal(handled) is handler


class _Ended:
    def __init__(self, number: signal.Signals) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


def _within_an_except_for_everything(number: signal.Signals) -> None:
    # As libraries have it, for what they only try.
    with suppress(BaseException):
        signal.raise_signal(number)


@each_signal
@pytest.mark.parametrize("dropped", [_Ended, _within_an_except_for_everything])
def test_a_signal_that_is_dropped_comes_again(
    handled: signal.Signals,
    status: int,
    dropped: Callable[[signal.Signals], object],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def work(**_: str) -> None:
        dropped(handled)
        for _ in range(1000):
            sleep(0.01)

    monkeypatch.setattr(APP, "app", work)
    hook = sys.unraisablehook
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == status
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert sys.unraisablehook is hook


def test_what_else_a_destructor_raises_is_told_as_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        def __del__(self) -> None:
            raise ValueError("of a destructor")

    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    monkeypatch.setattr(APP, "app", lambda **_: (Broken(), None)[1])
    main()
    assert "ValueError: of a destructor" in capsys.readouterr().err


@each_signal
def test_what_is_ignored_stays_ignored(
    handled: signal.Signals, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal.signal(handled, signal.SIG_IGN)
    monkeypatch.setattr(APP, "app", lambda **_: signal.raise_signal(handled))
    main()
    assert signal.getsignal(handled) is signal.SIG_IGN


def test_no_handler_is_set_outside_the_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr(APP, "app", lambda **_: ran.append(signal.getsignal(signal.SIGTERM)))
    thread = threading.Thread(target=main)
    thread.start()
    thread.join()
    assert ran == [signal.getsignal(signal.SIGTERM)]


def test_interrupted_while_modules_are_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Finder:
        def find_spec(self, name: str, *_: object) -> None:
            if name == APP.__name__:
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, APP.__name__)
    monkeypatch.delattr(import_module("warpladder.cli"), "app")
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 130
    assert capsys.readouterr().err == "warpladder: interrupted; no file was changed\n"


@pytest.mark.skipif(os.name != "posix", reason="elsewhere SIGTERM ends a process at once")
def test_a_process_that_is_terminated(tmp_path: Path) -> None:
    program = (
        "import sys, time; from importlib import import_module; from pathlib import Path\n"
        "from warpladder.formats.atomic import atomic_write\n"
        "app = import_module('warpladder.cli.app')\n"
        "def write(**_):\n"
        "    with atomic_write(Path(sys.argv[1])) as file:\n"
        "        print('writing', flush=True)\n"
        "        time.sleep(60)\n"
        "app.app = write\n"
        "app.main()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "out.csv")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(signal.SIGTERM)
        _, complaint = process.communicate(timeout=60)
    assert process.returncode == 143
    assert complaint == "warpladder: terminated; no file was changed\n"
    assert list(tmp_path.iterdir()) == []
