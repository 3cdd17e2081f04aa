"""The narrowest limit on memory, on made-up machines and under a real limit."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import warpladder as wl
from warpladder.device import host_memory
from warpladder.device.host_memory import HostMemory, require_memory
from warpladder.errors import TooLargeError
from warpladder.shortest_paths import api

_MIB = 2**20
_UNLIMITED = 9223372036854771712  # what the first version says for none


class Machine:
    """Files as the kernel of Linux writes them, below a folder."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        self.process = folder / "proc"
        self.process.mkdir()
        monkeypatch.setattr(host_memory.sys, "platform", "linux")
        monkeypatch.setattr(host_memory, "_PROCESS", self.process)
        monkeypatch.setattr(host_memory, "_MACHINE", self.process / "meminfo")
        # The limits of the process that tests are not of interest here.
        monkeypatch.setattr(host_memory, "_of_process", lambda _process: [])
        self.has(8192, 4096)

    def has(self, total, available, swap=0):
        self._write(
            "meminfo",
            f"MemTotal: {total << 10} kB\nMemFree:  12 kB\nMemAvailable:   {available << 10} kB\n"
            f"SwapTotal: {2 * swap << 10} kB\nSwapFree: {swap << 10} kB\nHugePages_Total:   0\n",
        )

    def is_in(self, group, *mounts):
        self._write("cgroup", group)
        self._write("mountinfo", "".join(mounts))

    def second_version(self, root="/"):
        return (
            "23 1 0:21 / / rw - ext4 /dev/vda rw\n"
            f"31 23 0:28 {root} {self.folder}/v2 rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
        )

    def first_version(self, root="/"):
        return (
            f"32 31 0:29 {root} {self.folder}/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
            f"35 31 0:32 {root} {self.folder}/v1 rw,relatime - cgroup cgroup rw,memory\n"
        )

    def group_of_second_version(self, path, limit, usage, inactive=0, active=0):
        self._write(f"../v2/{path}/memory.max", f"{limit}\n")
        self._write(f"../v2/{path}/memory.current", f"{usage}\n")
        self._write(
            f"../v2/{path}/memory.stat",
            f"anon 1\nfile 77\ninactive_anon 5\ninactive_file {inactive}\nactive_file {active}\n",
        )

    def group_of_first_version(self, path, limit, usage, inactive=0, active=0):
        self._write(f"../v1/{path}/memory.limit_in_bytes", f"{limit}\n")
        self._write(f"../v1/{path}/memory.usage_in_bytes", f"{usage}\n")
        self._write(
            f"../v1/{path}/memory.stat",
            f"cache 9\ninactive_file 3\ntotal_inactive_file {inactive}\n"
            f"total_active_file {active}\n",
        )

    def _write(self, name, text):
        file = self.process / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Machine(tmp_path, monkeypatch)


def mebibytes():
    found = host_memory.host_memory()
    return found.available / _MIB, found.total / _MIB


def test_what_is_in_use_does_not_count_as_available(machine):
    assert mebibytes() == (4096, 8192)
    machine.has(8192, 4096, swap=1024)
    assert mebibytes() == (5120, 10240)


def test_a_container_of_the_second_version(machine):
    machine.is_in("0::/\n", machine.second_version("/docker/1f"))
    machine.group_of_second_version("", 500 * _MIB, 300 * _MIB, 60 * _MIB, 40 * _MIB)
    # Files held in memory are given up when it is needed.
    assert mebibytes() == (300, 500)
    assert str(host_memory.host_memory()).endswith("v2/memory.max allows")


def test_a_container_of_the_first_version(machine):
    machine.is_in("1:cpu,cpuacct:/docker/1f\n4:memory:/docker/1f\n0::/\n", machine.first_version())
    machine.group_of_first_version("docker/1f", 500 * _MIB, 300 * _MIB, 60 * _MIB, 40 * _MIB)
    machine.group_of_first_version("", _UNLIMITED, 3 * _MIB)
    assert mebibytes() == (300, 500)


def test_first_version_inside_whose_folder_is_mounted_as_the_top(machine):
    mounts = machine.first_version("/docker/1f")
    machine.is_in("4:memory:/docker/1f/job\n", mounts)
    machine.group_of_first_version("job", 500 * _MIB, 100 * _MIB)
    machine.group_of_first_version("", 600 * _MIB, 100 * _MIB)
    assert mebibytes() == (400, 500)


@pytest.mark.parametrize("path", ["/elsewhere/1f", "/../1f", "/docker/1f"])
def test_a_group_that_cannot_be_seen_from_inside(machine, path):
    machine.is_in(f"0::{path}\n", machine.second_version("/docker/1f"))
    machine.group_of_second_version("", 500 * _MIB, 100 * _MIB)
    assert mebibytes() == (400, 500)


def test_groups_around_a_group_limit_it_too(machine):
    machine.is_in("0::/batch/job/step\n", machine.second_version())
    machine.group_of_second_version("batch/job/step", "max", 100 * _MIB)
    machine.group_of_second_version("batch/job", 900 * _MIB, 800 * _MIB)
    machine.group_of_second_version("batch", 2000 * _MIB, 1000 * _MIB)
    assert mebibytes() == (100, 900)


def test_groups_beside_a_group_do_not(machine):
    machine.is_in("0::/batch/job\n", machine.second_version())
    machine.group_of_second_version("batch/other", 9 * _MIB, 9 * _MIB)
    machine.group_of_second_version("batch/job", 900 * _MIB, 100 * _MIB)
    assert mebibytes() == (800, 900)


def test_more_in_use_than_allowed_leaves_nothing(machine):
    machine.is_in("0::/\n", machine.second_version())
    machine.group_of_second_version("", 500 * _MIB, 501 * _MIB)
    assert mebibytes() == (0, 500)


def test_both_versions_at_once(machine):
    machine.is_in("4:memory:/job\n0::/\n", machine.first_version(), machine.second_version())
    machine.group_of_first_version("job", 700 * _MIB, 0)
    machine.group_of_second_version("", "max", 0)
    assert mebibytes() == (700, 700)


@pytest.mark.parametrize("text", ["", "nothing\n", "::\n", "MemTotal\n\n:\n"])
def test_files_that_say_nothing(machine, text):
    for name in ("meminfo", "mountinfo", "cgroup"):
        (machine.process / name).write_text(text)
    assert host_memory.host_memory() is None
    require_memory(2**60, "they")


def test_no_files_at_all(machine):
    (machine.process / "meminfo").unlink()
    assert host_memory.host_memory() is None


@pytest.mark.parametrize(("system", "available"), [("darwin", 8000), ("win32", 3000 + 500)])
def test_other_systems(monkeypatch, system, available):
    told = SimpleNamespace(
        virtual_memory=lambda: SimpleNamespace(total=8000, available=3000),
        swap_memory=lambda: SimpleNamespace(total=1000, free=500),
    )
    monkeypatch.setitem(sys.modules, "psutil", told)
    monkeypatch.setattr(host_memory.sys, "platform", system)
    monkeypatch.setattr(host_memory, "_of_control_groups", lambda _process: [])
    assert host_memory.host_memory().available == available


def test_refusals_say_how_much_and_of_what(monkeypatch):
    limit = HostMemory(300 * _MIB, 500 * _MIB, "/sys/fs/cgroup/memory.max allows")
    monkeypatch.setattr(host_memory, "host_memory", lambda: limit)
    graph = wl.Graph.from_edges([0], [19_999], [1])
    with pytest.raises(TooLargeError) as refusal:
        wl.shortest_paths(graph, dtype="int16")
    assert str(refusal.value) == (
        "graph: all distances between 20,000 vertices as int16 take 763 MiB; "
        "300 MiB are left of the 500 MiB that /sys/fs/cgroup/memory.max allows"
    )
    require_memory(300 * _MIB, "exactly what there is")


def test_a_matrix_that_is_used_up_needs_no_second_one(monkeypatch):
    asked = []
    monkeypatch.setattr(api, "require_memory", lambda needed, _what: asked.append(needed))
    weights = np.zeros((3, 3))
    for options in ({}, {"overwrite": True}, {"overwrite": True, "dtype": "float32"}):
        wl.shortest_paths(weights.copy(), device="cpu", **options)
    wl.shortest_paths(weights, device="cpu", next_hops=True)
    assert asked == [72, 0, 36, 108]


_UNDER_A_LIMIT = """
from resource import RLIMIT_AS, getrlimit, setrlimit
import warpladder as wl
from warpladder.device.host_memory import _PROCESS, _numbers
from warpladder.errors import TooLargeError

wl.shortest_paths([[0]])  # what is imported is so before there is a limit
limit = 1024 * _numbers(_PROCESS / "status")["VmSize"] + 2**30
setrlimit(RLIMIT_AS, (limit, getrlimit(RLIMIT_AS)[1]))
try:
    wl.shortest_paths(wl.Graph.from_edges([0], [59_999], [1]))
except TooLargeError as refusal:
    print(refusal)
"""


# By default the limit is one that is said, above.
@pytest.mark.large
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds processes to this limit")
def test_a_real_limit():
    done = subprocess.run(
        [sys.executable, "-c", _UNDER_A_LIMIT], capture_output=True, text=True, check=True
    )
    # 60,000 vertices squared, two bytes or four each, where one GiB is left.
    assert "between 60,000 vertices" in done.stdout
    assert "that RLIMIT_AS (ulimit -v) allows" in done.stdout
