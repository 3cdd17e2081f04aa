"""Jobs for a queue: scripts, schedulers played by small programs, and a real SLURM."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from calling import call
from warpladder.errors import DeviceError, FileFormatError, InputError
from warpladder.lab.queue import jobs
from warpladder.lab.queue.jobs import RECORD, look, parts_of, printed_by, read_jobs, submit
from warpladder.lab.queue.request import ENDED, OUTPUT, Request
from warpladder.lab.queue.schedulers import find_scheduler

pytest.importorskip("qtoolkit")

JOB = (
    "JobId=7 JobName=x UserId=me(1) JobState={state} NumNodes=1 NumCPUs=1 CPUs/Task=1 "
    "TimeLimit=01:00:00 Partition=main"
)
QSTAT = """<?xml version='1.0'?><job_info><queue_info><job_list state="{word}">
<JB_job_number>9</JB_job_number><JB_name>x</JB_name><JB_owner>me</JB_owner><state>{state}</state>
</job_list></queue_info><job_info></job_info></job_info>"""


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A folder of programs that are found before all others."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return folder


def stand_in(programs: Path, name: str, says: str = "", error: str = "", status: int = 0) -> None:
    program = programs / name
    program.write_text(
        f'#!/bin/sh\necho "$@" >> {programs}/{name}.calls\n'
        f"cat <<'EOF'\n{says}\nEOF\ncat >&2 <<'EOF'\n{error}\nEOF\nexit {status}\n"
    )
    program.chmod(0o755)


def called(programs: Path, name: str) -> list[str]:
    return (programs / f"{name}.calls").read_text().splitlines()


@pytest.fixture
def slurm(programs):
    stand_in(programs, "sbatch", "Submitted batch job 7")
    stand_in(programs, "scontrol", JOB.format(state="PENDING"))
    stand_in(programs, "scancel", error="scancel: Terminating job 7")
    return programs


FULL = Request(
    ("prog", "a b", "$HOME"),
    "fw",
    seconds=5400,
    memory_bytes=8 * 2**30,
    cpus=4,
    gpus=2,
    queue="gpu",
    account="physics",
    mail="me@example.org",
    setup=("module load cuda",),
    directives=("--qos=long",),
)


class TestScripts:
    def test_slurm_is_asked_in_its_words(self, tmp_path):
        text = find_scheduler("slurm").script(FULL, tmp_path, Path("/work place"), Path("/env/bin"))
        header = [line for line in text.splitlines() if line.startswith("#SBATCH")]
        assert sorted(header) == sorted(
            f"#SBATCH --{option}"
            for option in (
                "job-name=fw",
                "nodes=1",
                "ntasks=1",
                "cpus-per-task=4",
                "gpus=2",
                "mem=8192M",
                "time=01:30:00",
                "partition=gpu",
                "account=physics",
                "mail-user=me@example.org",
                "mail-type=BEGIN,END,FAIL",
                f"output={tmp_path}/output.txt",
                f"error={tmp_path}/errors.txt",
                "qos=long",
            )
        )
        assert text.startswith("#!/bin/bash\n#SBATCH")
        assert text.endswith("prog 'a b' '$HOME'\n")
        assert "cd '/work place' || exit\n" in text

    def test_sge_is_asked_in_its_words(self, tmp_path):
        request = Request(**{**vars(FULL), "directives": ("-l x=1",)})
        text = find_scheduler("sge").script(request, tmp_path, Path("/w"), Path("/env/bin"))
        header = [line for line in text.splitlines() if line.startswith("#$")]
        assert sorted(header) == sorted(
            f"#$ {option}"
            for option in (
                "-N fw",
                "-q gpu",
                "-pe smp 4",
                "-l mem_free=2048M,gpu=2",  # a quarter for each core
                "-l h_rt=01:30:00",
                "-M me@example.org",
                "-m bea",
                "-A physics",
                "-S /bin/bash",
                "-l x=1",
                f"-o {tmp_path}/output.txt",
                f"-e {tmp_path}/errors.txt",
            )
        )

    def test_nothing_is_asked_that_was_not(self, tmp_path):
        plain = Request(("true",), "t")
        text = find_scheduler("sge").script(plain, tmp_path, Path("/w"), Path("/b"))
        assert [line[3:5] for line in text.splitlines() if line.startswith("#$")] == [
            "-N",
            "-o",
            "-e",
            "-S",
        ]
        assert "NUMBA_NUM_THREADS" not in text

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"command": ()}, "command: there is none"),
            ({"name": "1st"}, "name='1st' must begin"),
            ({"name": "a b"}, "name='a b'"),
            ({"queue": "a\nb"}, "queue='a"),
            ({"account": "a b"}, "account='a b' must be one word"),
            ({"mail": "me; rm"}, "mail='me; rm'"),
            ({"cpus": 0}, "cpus=0 must be at least 1"),
            ({"setup": ("a\nb",)}, "must be one line"),
            ({"directives": ("a\rb",)}, "must be one line"),
        ],
    )
    def test_what_no_script_can_hold_is_refused(self, changes, said):
        with pytest.raises(InputError, match=said):
            Request(**{"command": ("true",), "name": "t", **changes})

    @pytest.mark.parametrize(
        ("command", "setup", "ended"),
        [
            (("sh", "-c", "echo out; echo err >&2"), (), "0"),
            (("sh", "-c", "exit 3"), (), "3"),
            (("no-such-program",), (), "127"),
            (("true",), ("export A=1 # a remark", "false"), "1"),
            (("sh", "-c", 'test "$A" = 1'), ("A=1", "export A"), "0"),
            (("sh", "-c", "kill -TERM $PPID"), (), "143"),
        ],
    )
    def test_a_script_says_how_its_command_ended(self, tmp_path, command, setup, ended):
        request = Request(command, "t", setup=setup)
        text = find_scheduler("slurm").script(request, tmp_path, tmp_path, Path("/nowhere"))
        found = subprocess.run(["/bin/bash", "-c", text], capture_output=True, check=False)
        assert (tmp_path / ENDED).read_text().split()[0] == ended
        assert found.returncode == int(ended)

    def test_a_script_whose_folder_is_gone_says_so(self, tmp_path):
        request = Request(("true",), "t")
        text = find_scheduler("slurm").script(request, tmp_path, tmp_path / "no", Path("/nowhere"))
        found = subprocess.run(["/bin/bash", "-c", text], capture_output=True, check=False)
        assert found.returncode == 1
        assert (tmp_path / ENDED).read_text().split()[0] == "1"

    def test_a_script_that_is_killed_says_nothing(self, tmp_path):
        request = Request(("sh", "-c", "kill -KILL $PPID"), "t")
        text = find_scheduler("slurm").script(request, tmp_path, tmp_path, Path("/nowhere"))
        found = subprocess.run(["/bin/bash", "-c", text], check=False)
        assert found.returncode == -signal.SIGKILL
        assert not (tmp_path / ENDED).exists()


class TestParts:
    def test_each_has_its_number(self):
        parts = parts_of(Request(("p", "{part}/{parts}", "-o", "{part}.csv"), "join"), 3)
        assert [part.command for part in parts] == [
            ("p", f"{k}/3", "-o", f"{k}.csv") for k in (1, 2, 3)
        ]
        assert [part.name for part in parts] == ["join-1", "join-2", "join-3"]

    def test_the_same_three_times_is_refused(self):
        with pytest.raises(InputError, match="parts=3 would run one command 3 times"):
            parts_of(Request(("p", "{parts}"), "join"), 3)


class TestAScheduler:
    def test_a_job_waits_runs_and_is_done(self, slurm, tmp_path):
        job = submit(Request(("true",), "t"), find_scheduler("auto"), tmp_path / "jobs")
        assert job.job_id == "7"
        assert called(slurm, "sbatch") == [str(job.script)]
        assert look(job).state == "waiting"
        stand_in(slurm, "scontrol", JOB.format(state="RUNNING"))
        assert look(job).state == "running"
        (job.folder / ENDED).write_text("0 12\n")
        seen = look(job)
        assert (seen.state, seen.status, seen.seconds) == ("done", 0, 12)
        assert read_jobs([tmp_path / "jobs"]) == read_jobs([job.folder]) == [job]

    def test_sge_is_understood(self, programs, tmp_path):
        stand_in(programs, "qsub", 'Your job 9 ("t") has been submitted')
        stand_in(programs, "qstat", QSTAT.format(word="pending", state="qw"))
        stand_in(programs, "qdel", "me has registered the job 9 for deletion")
        job = submit(Request(("true",), "t"), find_scheduler("sge"), tmp_path / "jobs")
        assert job.job_id == "9"
        assert look(job).state == "waiting"
        stand_in(programs, "qstat", QSTAT.format(word="running", state="r"))
        assert look(job).state == "running"
        find_scheduler("sge").cancel("9")
        assert called(programs, "qdel") == ["9"]
        # Another's job of another number is none of ours.
        stand_in(programs, "qstat", QSTAT.format(word="running", state="r").replace(">9<", ">99<"))
        assert look(job).state == "killed"

    @pytest.mark.parametrize("state", ["TIMEOUT", "OUT_OF_MEMORY", "CANCELLED", "NODE_FAIL"])
    def test_how_a_job_was_killed_is_told(self, slurm, tmp_path, state):
        job = submit(Request(("true",), "t"), find_scheduler("slurm"), tmp_path / "jobs")
        stand_in(slurm, "scontrol", JOB.format(state=state))
        seen = look(job)
        assert (seen.state, seen.said) == ("killed", state.lower().replace("_", " "))

    def test_a_job_that_is_forgotten_was_killed_if_it_left_no_word(self, slurm, tmp_path):
        job = submit(Request(("true",), "t"), find_scheduler("slurm"), tmp_path / "jobs")
        error = "slurm_load_jobs error: Invalid job id specified"
        stand_in(slurm, "scontrol", error=error, status=1)
        assert look(job).state == "killed"

    def test_silence_is_no_answer(self, slurm, tmp_path):
        job = submit(Request(("true",), "t"), find_scheduler("slurm"), tmp_path / "jobs")
        error = "slurm_load_jobs error: Unable to contact slurm controller"
        stand_in(slurm, "scontrol", error=error, status=1)
        with pytest.raises(DeviceError, match=r"job 7 is: .*Unable to contact"):
            look(job)

    def test_a_refusal_leaves_nothing(self, slurm, tmp_path):
        stand_in(slurm, "sbatch", error="sbatch: error: invalid partition", status=1)
        with pytest.raises(DeviceError, match="invalid partition"):
            submit(Request(("true",), "t"), find_scheduler("slurm"), tmp_path / "jobs")
        assert list((tmp_path / "jobs").iterdir()) == []

    def test_none_is_here(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(DeviceError, match="neither SLURM"):
            find_scheduler("auto")
        with pytest.raises(DeviceError, match=r"there is no sge .*qsub is not found"):
            submit(Request(("true",), "t"), find_scheduler("sge"), tmp_path / "jobs")

    @pytest.mark.usefixtures("slurm")
    def test_odd_folders_are_refused(self, tmp_path):
        with pytest.raises(InputError, match="into: schedulers cannot write to"):
            submit(Request(("true",), "t"), find_scheduler("slurm"), tmp_path / "my jobs")

    @pytest.mark.usefixtures("slurm")
    @pytest.mark.parametrize(
        "damage",
        [
            *("", "[]", '{"name": 1}', "{"),
            '{"command": ["a"], "name": "t", "scheduler": "slurm", "submitted": null}',
        ],
    )
    def test_damaged_records_are_named(self, tmp_path, damage):
        job = submit(Request(("true",), "t"), find_scheduler("slurm"), tmp_path / "jobs")
        (job.folder / RECORD).write_text(damage)
        with pytest.raises(FileFormatError, match=r"job\.json"):
            read_jobs([tmp_path / "jobs"])

    def test_no_jobs(self, tmp_path):
        with pytest.raises(InputError, match="no job is in"):
            read_jobs([tmp_path])
        with pytest.raises(InputError, match="there is no folder of jobs"):
            read_jobs([tmp_path / "none"])


class TestTheCommands:
    @pytest.mark.usefixtures("slurm")
    def test_submitted_shown_and_collected(self):
        command = ("overlap", "{part}.txt", "--json")
        found = call("submit", "--parts", 2, "--time", "2h", "--name", "j", "warpladder", *command)
        assert found.returncode == 0, found.stderr
        assert "j-1.1" in found.stdout
        assert "slurm 7" in found.stdout
        assert "--time=02:00:00" in Path("jobs/j-1.1/job.sh").read_text()
        for part, (status, output) in enumerate((("0 1", '{"pairs": 5}'), ("2 1", "no\n")), 1):
            folder = Path("jobs", f"j-{part}.1")
            (folder / ENDED).write_text(status)
            (folder / OUTPUT).write_text(output)
        found = call("jobs")
        assert found.returncode == 0
        assert "failed, status 2" in found.stdout
        found = call("jobs", "--wait", "--collect", "--json")
        assert found.returncode == 1
        first, second = json.loads(found.stdout)["jobs"]
        assert first["output"] == {"pairs": 5}
        assert (second["state"], second["status"], second["output"]) == ("failed", 2, "no\n")
        found = call("jobs", "jobs/j-1.1", "--collect")
        assert (found.returncode, found.stdout) == (0, '{"pairs": 5}')

    def test_cancelled(self, slurm):
        call("submit", "--name", "j", "sleep", 100)
        assert call("jobs", "--cancel").returncode == 0
        assert called(slurm, "scancel") == ["-v 7"]

    def test_those_that_can_be_cancelled_are(self, slurm):
        call("submit", "--parts", 2, "--name", "j", "sleep", "{part}")
        stand_in(slurm, "scancel", error="scancel: error: no", status=1)
        found = call("jobs", "--cancel")
        assert found.returncode == 1
        assert called(slurm, "scancel") == ["-v 7", "-v 7"]
        assert found.stderr.count("slurm did not cancel job 7") == 2

    def test_a_refusal_on_the_way_says_what_is_submitted(self, slurm):
        (slurm / "sbatch").write_text(
            f"#!/bin/sh\n[ -e {slurm}/once ] && exit 1\ntouch {slurm}/once\n"
            "echo Submitted batch job 7\n"
        )
        found = call("submit", "--parts", 2, "--name", "j", "sleep", "{part}")
        assert found.returncode == 1
        assert "submitted, and not ended by this: j-1.1; see `warpladder jobs`" in found.stderr
        assert [path.name for path in Path("jobs").iterdir()] == ["j-1.1"]

    def test_ctrl_c_while_waiting_says_what_is_submitted(self, slurm, monkeypatch):
        def interrupt(*_):
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(jobs, "wait_for", interrupt)
        # A suite in the background has Ctrl-C ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        found = call("submit", "--name", "j", "--wait", "sleep", 100)
        signal.signal(signal.SIGINT, before)
        assert found.returncode == 130
        assert found.stderr.splitlines() == [
            "warpladder: interrupted",
            "warpladder: submitted, and not ended by this: j.1; see `warpladder jobs`",
        ]
        assert not (slurm / "scancel.calls").exists()

    def test_written_only(self, programs):
        found = call("submit", "--scheduler", "slurm", "--dry-run", "paths", "g.gr", "--wait")
        assert found.returncode == 0, found.stderr
        assert "#SBATCH --job-name=paths" in found.stdout
        assert found.stdout.rstrip().endswith("paths g.gr --wait")
        assert not (programs / "sbatch.calls").exists()
        assert json.loads(call("jobs", "--json").stdout)["jobs"][0]["state"] == "written"

    @pytest.mark.usefixtures("slurm")
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--time", "soon"), "no length of time"),
            (("--memory", "much"), "no amount of memory"),
            (("--scheduler", "cron"), "--scheduler 'cron' must be one of auto, slurm, sge"),
            (("--queue", "a b"), "--queue 'a b' must be one word"),
            (("--directive", "a\rb"), r"--directive 'a\rb' must be one line"),
            (("--parts", "2"), "--parts 2 would run one command 2 times"),
            (("--dry-run", "--wait"), "submits nothing"),
            (("--into", "a b"), "--into: schedulers cannot write"),
        ],
    )
    def test_refused_in_one_line(self, options, said):
        found = call("submit", *options, "true")
        assert found.returncode in {1, 2}
        assert said in " ".join(found.stderr.replace("\u2502", " ").split())
        assert "Traceback" not in found.stderr
        assert not Path("jobs").exists()


# ---- a real one ------------------------------------------------------------------------------

DAEMONS = ("munged", "slurmctld", "slurmd")
CONFIGURATION = """
ClusterName=here
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
KillWait=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


@pytest.fixture(scope="module")
def real_slurm(tmp_path_factory):
    """A cluster of one machine, this one, for as long as the tests here take."""
    missing = [name for name in DAEMONS if shutil.which(name, path="/usr/sbin:/usr/bin") is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (Debian: slurmctld, slurmd, munge)")
    if os.geteuid() != 0:
        pytest.skip("only root can run jobs of others, which is what SLURM's daemons do")
    folder = tmp_path_factory.mktemp("slurm")
    # Munge wants nobody else to be able to write anywhere above its socket.
    folder.chmod(0o755)
    (folder / "key").write_bytes(os.urandom(1024))
    (folder / "key").chmod(0o400)
    configuration = folder / "slurm.conf"
    host = socket.gethostname().partition(".")[0]
    configuration.write_text(CONFIGURATION.format(host=host, folder=folder, ports=free_ports()))
    munge = ["munged", "--force", "--foreground", f"--socket={folder}/munge.socket"]
    munge += [f"--{name}-file={folder}/{name}" for name in ("key", "pid", "log", "seed")]
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    environment["PATH"] += ":/usr/sbin"
    daemons = []
    try:
        for command in (munge, ["slurmctld", "-D", "-c"], ["slurmd", "-D", "-c"]):
            with (folder / f"{command[0]}.said").open("wb") as said:
                daemons.append(subprocess.Popen(command, env=environment, stderr=said, stdout=said))
            time.sleep(1)
        deadline = time.monotonic() + 60
        states = ""
        while "idle" not in states and time.monotonic() < deadline:
            states = subprocess.run(
                ["/usr/bin/sinfo", "--noheader"],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            ).stdout
            time.sleep(0.5)
        logs = "".join(path.read_text() for path in folder.glob("*.said"))
        assert "idle" in states, logs
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait(30)


@pytest.mark.large
class TestARealSlurm:
    @pytest.fixture(autouse=True)
    def here(self, real_slurm, tmp_path, monkeypatch):
        monkeypatch.setenv("SLURM_CONF", real_slurm["SLURM_CONF"])
        monkeypatch.chdir(tmp_path)
        self.jobs = tmp_path / "jobs"

    def wait(self, job, *states):
        deadline = time.monotonic() + 120
        while (seen := look(job)).state not in states:
            assert time.monotonic() < deadline, seen
            time.sleep(0.5)
        return seen

    def test_a_computation_in_parts(self, tmp_path):
        rows = tmp_path / "rows.txt"
        rows.write_text("".join(f"{i} {{{i}, {i + 1}, {i + 2}}}\n" for i in range(40)))
        command = ("overlap", rows, "-t", 2, "-o", "{part}.csv", "--part", "{part}/{parts}")
        found = call(
            "submit",
            "--parts",
            2,
            "--time",
            "5m",
            "--wait",
            "--json",
            "--",
            "warpladder",
            *command,
            "--json",
        )
        assert found.returncode == 0, found.stderr
        assert [job["state"] for job in json.loads(found.stdout)["jobs"]] == ["done", "done"]
        lines = [Path(f"{part}.csv").read_text().splitlines()[1:] for part in (1, 2)]
        # Neighbours share two ids.
        assert sorted(lines[0] + lines[1]) == sorted(f"{i},{i + 1},2" for i in range(39))

    def test_a_failure_has_its_status_and_its_words(self):
        request = Request(("sh", "-c", "echo half; echo why >&2; exit 5"), "t")
        job = submit(request, find_scheduler("slurm"), self.jobs)
        seen = self.wait(job, "failed", "done", "killed")
        assert (seen.state, seen.status) == ("failed", 5)
        assert printed_by(job) == ("half\n", "why\n")

    def test_a_job_that_is_cancelled_was_killed(self):
        job = submit(Request(("sleep", "1000"), "t"), find_scheduler("slurm"), self.jobs)
        assert self.wait(job, "running").state == "running"
        find_scheduler("slurm").cancel(job.job_id)
        seen = self.wait(job, "killed", "failed", "done")
        # Its shell may have had the time to tell.
        assert seen.state == "killed" or seen.status == 143

    def test_a_partition_that_is_not_there(self):
        request = Request(("true",), "t", queue="none")
        with pytest.raises(DeviceError, match="invalid partition"):
            submit(request, find_scheduler("slurm"), self.jobs)
