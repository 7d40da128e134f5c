"""The machine side: environment, build, child processes on chosen cores, noise. Standard library only.

The parent stays small and does no arithmetic: the peak memory that the kernel reports for a child starts from the
parent's own, and a busy parent would take a core from whom it times.
"""

import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import venv
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
WORKER = BENCH / "peer" / "worker.py"


class Failure(Exception):
    """A child that did not do what it should; the message goes into the table."""


def prepare_environment(with_ncut=False):
    """bench/.venv with the pinned packages; made anew when the pins change. Returns its interpreter."""
    folder, wanted = BENCH / ".venv", (BENCH / "requirements.txt").read_text()
    python, stamp = folder / "bin" / "python", folder / "requirements.txt"
    if not (stamp.exists() and stamp.read_text() == wanted and python.exists()):
        say("setting up bench/.venv")
        venv.create(folder, clear=True, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "-r", BENCH / "requirements.txt"], check=True)
        stamp.write_text(wanted)
    if with_ncut and subprocess.run([python, "-c", "import ncut_pytorch"], capture_output=True).returncode != 0:
        say("installing ncut-pytorch and torch, some gigabytes")
        # It does not ask for torch by itself. The pins of the others stay.
        install = [python, "-m", "pip", "install", "--quiet", "-c", BENCH / "requirements.txt", "ncut-pytorch", "torch"]
        if subprocess.run(install, capture_output=True).returncode != 0:
            say("ncut-pytorch does not install here; its rows will say so")
    return python


def install_package(python):
    """The Python package of this commit, optimised; without it its rows say so."""
    say("building the Python package")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps"]
    if subprocess.run([*install, ROOT / "bindings" / "python"]).returncode != 0:
        say("the Python package does not build here; its rows will say so")


def build():
    """cargo build --release; returns the command's path."""
    say("cargo build --release")
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "ccbcut-cli"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return (target if target.is_absolute() else ROOT / target) / "release" / "ccbcut"


def say(message):
    print(f"[{time.strftime('%H:%M:%S')}] {message}", file=sys.stderr, flush=True)


def cores():
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


class Child:
    """What became of a child process."""

    def __init__(self, code, wall, cpu, peak_mb, out, err, timed_out):
        self.code, self.wall, self.cpu, self.peak_mb = code, wall, cpu, peak_mb
        self.out, self.err, self.timed_out = out, err, timed_out

    def reason(self):
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        if self.code == -signal.SIGKILL:
            return "killed (out of memory?)"
        # Ours says `error: …`, `caused by: …`, `hint: …`; Python's last line is the exception.
        causes = [line for line in lines if line.startswith("caused by:")]
        return ((causes or lines or [f"exit status {self.code}"])[-1]).removeprefix("caused by: ")[:160]


def run(command, threads, timeout, blas=None):
    """Runs a command on the last `threads` cores, with as many threads for every library, and waits for it."""
    environment = dict(os.environ)
    for name in ("OMP", "RAYON", "NUMEXPR"):
        environment[f"{name}_NUM_THREADS"] = str(threads)
    for name in ("OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM"):
        environment[f"{name}_NUM_THREADS"] = str(blas or threads)
    everything = cores()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pin(everything[-threads:])  # children inherit the cores of their parent
        try:
            start = time.perf_counter()
            process = subprocess.Popen(
                [str(word) for word in command], stdout=out, stderr=err, env=environment, start_new_session=True
            )
        finally:
            pin(everything)
        expired = threading.Event()

        def stop():
            expired.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(timeout, stop)
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        finally:
            timer.cancel()
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        texts = [stream.read().decode(errors="replace") for stream in (out, err)]
    cpu, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    return Child(process.returncode, wall, cpu, peak, *texts, expired.is_set())


def pin(which):
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, which)


class Machine:
    """The interpreter, the command, the work folder, and the calibration loop that runs between the rows."""

    def __init__(self, python, ccbcut, folder, cap):
        self.python, self.ccbcut, self.folder, self.cap = python, ccbcut, Path(folder), cap
        self.calibration, self.loads = [], [os.getloadavg()[0]]

    def task(self, do, threads=1, timeout=None, blas=None, **task):
        """Does a task of the worker in a child; returns its result (None after the time limit) and the child."""
        result = self.folder / "result.json"
        result.unlink(missing_ok=True)
        script = self.folder / "task.json"
        script.write_text(json.dumps({"do": do, "result": str(result), **task}, default=str))
        child = run([self.python, "-W", "ignore", WORKER, script], threads, timeout or 600, blas)
        if child.timed_out:
            return None, child
        if child.code != 0 or not result.exists():
            raise Failure(child.reason())
        return json.loads(result.read_text()), child

    def ours(self, *words, threads=1, timeout=None):
        """Runs the command; returns its JSON report (None after the time limit) and the child."""
        child = run([self.ccbcut, *words, "--json"], threads, timeout or 600)
        if child.timed_out:
            return None, child
        if child.code not in (0, 1):
            raise Failure(child.reason())
        return json.loads(child.out.splitlines()[-1]), child

    def calibrate(self):
        result, _ = self.task("calibrate")
        self.calibration.append(result["seconds"])
        self.loads.append(os.getloadavg()[0])

    def noise(self):
        """Median and spread of the fixed loop, and the load average."""
        times = sorted(self.calibration)
        median = statistics.median(times)
        low, _, high = statistics.quantiles(times, n=4) if len(times) > 1 else (median,) * 3
        return {
            "loop_seconds": median,
            "loop_runs": len(times),
            "spread": (high - low) / median,
            "worst": times[-1] / times[0],
            "load": [min(self.loads), max(self.loads)],
        }


def describe():
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
        memory = int(Path("/proc/meminfo").read_text().split()[1]) / 2**20
    except (OSError, StopIteration, IndexError, ValueError):
        memory = None
    return {
        "cpu": model,
        "cores": len(cores()),
        "memory_gib": memory,
        "system": f"{platform.system()} {platform.release()}",
    }


def commit():
    git = shutil.which("git")
    if not git:
        return "unknown"
    done = subprocess.run([git, "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


BLOCK = ("<!-- peers -->", "<!-- /peers -->")


def replace_block(path, text):
    """Puts a text between the two marks of a file; with None only looks whether they are there."""
    old = Path(path).read_text(encoding="utf-8")
    begin, end = (old.find(mark) for mark in BLOCK)
    if not 0 <= begin < end:
        raise Failure(f"`{path}` has no lines {BLOCK[0]} and {BLOCK[1]} to put the table between")
    if text is not None:
        write_whole(path, f"{old[: begin + len(BLOCK[0])]}\n{text.strip()}\n{old[end:]}")


def read_earlier(path):
    """The data of an earlier run."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        missing = {"date", "commit", "cap", "noise", "rows"} - set(found)
        missing |= {f"noise.{key}" for key in {"spread", "worst"} - set(found.get("noise", {}))}
    except (ValueError, TypeError, AttributeError) as error:
        raise Failure(f"{path} is not what an earlier --json wrote: {error}") from None
    if missing:
        raise Failure(f"{path} has no {', '.join(sorted(missing))}; expected what an earlier --json wrote")
    return found


def write_whole(path, text):
    """Writes a file under a temporary name and renames it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
