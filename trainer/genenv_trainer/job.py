"""The training-job protocol around the training itself: lock, result, exit. docs/training-jobs.md."""

import os
import re
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from genenv_trainer.errors import (
    InvalidConfig,
    JobError,
    Orphaned,
    OutOfMemory,
    RankLost,
    Terminated,
    is_out_of_memory,
)
from genenv_trainer.job_config import JobConfig, load_job
from genenv_trainer.job_trace import JobTrace
from genenv_trainer.ranks import Ranks
from genenv_trainer.stop_conditions import StopConditions
from genenv_trainer.work_folder import POLL_SECONDS, Lock, WorkFolder, refuse_links, wait_for_lock, write_json

WAITING_SECONDS = 1
"""Between two `waiting` lines of progress: less than the shortest silence that a worker takes for a hang."""


def run_job(folder: str) -> int:
    """Run the job of a work folder to its end and write exit.json. Returns the exit code of the process.

    Under torchrun this is one of several processes of the job: the first one alone holds the lock and writes.
    """
    path = Path(folder).resolve(strict=True)
    _log_to(path / "log.txt")
    started = time.monotonic()
    report = {"fence": None, "resumed_from": None, "tokens_per_micro_batch": None, "file": None}
    ranks, ending = Ranks(), None
    holds_lock = True
    trace, kind_of_job = None, "unknown"
    try:
        ranks = Ranks.of(os.environ)
        refuse_links(path)
        trace = JobTrace(path, os.environ) if ranks.is_first else None
        job = load_job(path / "job.json")
        kind_of_job = job.kind
        report["fence"] = job.fence
        report["tokens_per_micro_batch"] = job.settings.tokens_per_micro_batch
        work = WorkFolder(path, job.fence, trace, ranks.is_first)
        stop_conditions = StopConditions(work, job.orphan_grace_seconds, ranks.is_first)
        if ranks.is_first:
            holds_lock = False
            wait_for_lock(path / "lock", stop_conditions.check)
            holds_lock = True
            (path / "exit.json").unlink(missing_ok=True)
        _join(job, work, ranks)
        _finish(job, work, ranks, stop_conditions, report)
        reason, message, code = "finished", "", 0
    except Exception as error:
        traceback.print_exc()
        ending = error = ranks.loss_of(error) or error
        if is_out_of_memory(error):
            error = OutOfMemory(str(error))
        kind = type(error) if isinstance(error, JobError) else JobError
        reason, code = kind.reason, kind.exit_code
        report["file"] = getattr(error, "file", None)
        message = str(error) if isinstance(error, JobError) else f"{type(error).__name__}: {error}"
    if holds_lock and _says_why(ranks, ending, path / "exit.json"):  # else that belongs to another process
        seconds = round(time.monotonic() - started, 3)
        write_json(path / "exit.json", {"reason": reason, "message": message, **report, "seconds": seconds})
        if trace is not None:
            trace.end(reason, kind_of_job)
    ranks.leave(ending)
    return code


def _says_why(ranks: Ranks, ending: Exception | None, exit_file: Path) -> bool:
    """Whether this process writes exit.json: of several the first one. But with weights in parts, a process that
    fails inside the model cannot tell the others, who wait for its part: it says why itself, and the first one,
    which then loses it, leaves that."""
    if not ranks.in_lockstep:
        return ranks.is_first
    if isinstance(ending, RankLost):
        return ranks.is_first and not exit_file.exists()
    return ranks.is_first or not ranks.is_known(ending)


def _join(job: JobConfig, work: WorkFolder, ranks: Ranks) -> None:
    """Meet the other processes of the job, if there are any. Raises InvalidConfig or RankLost."""
    if ranks.size == 1:
        return
    if job.random_stream == "job":
        raise InvalidConfig(
            f"job.json.random_stream: 'job', but the job has {ranks.size} processes, which share no stream of random "
            "numbers; it must be 'micro_batch' (set trainer.processes)"
        )
    work.progress("loading", 0, 0, None)
    from genenv_trainer.setup import uses_cuda

    ranks.join(uses_cuda(job))
    if job.sharding == "full":
        ranks.in_lockstep = True
        ranks.mesh()


def _finish(
    job: JobConfig, work: WorkFolder, ranks: Ranks, stop_conditions: StopConditions, report: dict
) -> None:
    """Bring the folder to a result.json of this input hash. Raises JobError."""
    result = ranks.first(work.read_result)
    if result is not None:
        if result["input_hash"] != job.input_hash:
            raise InvalidConfig(
                f"{work.path / 'result.json'}: input_hash {result['input_hash']} is not job.json's "
                f"{job.input_hash}; use another work folder"
            )
        return
    work.progress("loading", 0, 0, None)
    if job.device_lock is not None:
        lock = device_lock(Path(job.device_lock), ranks.local_rank, os.environ.get("CUDA_VISIBLE_DEVICES"))
        wait_for_locks(lock, ranks, reports_waiting(work, stop_conditions.check))
    from genenv_trainer.setup import prepare_job

    training = ranks.agree(lambda: prepare_job(job, work, stop_conditions.check, ranks))
    report["resumed_from"] = training.resume()
    try:
        training.run()
    except (Terminated, Orphaned):
        training.save_checkpoint()
        raise
    result = training.result()

    def heartbeat() -> None:
        work.progress("saving", training.step, result["steps"], None)

    heartbeat()
    def publish() -> None:
        if not job.writes_weights:
            work.write_result(result | {"output": None, "canary": None})
            return
        work.publish_output(training.save_output)
        work.write_result(result | {"output": work.output_hashes(heartbeat), "canary": training.canary()})

    if ranks.in_lockstep:
        training.gather_parts()
    ranks.first(publish)


def device_lock(path: Path, local_rank: int, visible: str | None) -> Path:
    """The lock of the device of a process: `device-<n>.lock`, n its local rank, or what CUDA_VISIBLE_DEVICES has
    there. So two workers of a machine, each with a device of its own, do not wait for each other."""
    names = re.split(r"\s*,\s*", visible.strip()) if visible else []
    name = names[local_rank] if local_rank < len(names) else str(local_rank)
    if not re.fullmatch("[0-9A-Za-z-]{1,100}", name):
        name = str(local_rank)
    return path.with_name(path.name.replace("device-0.", f"device-{name}."))


def wait_for_locks(path: Path, ranks: Ranks, check: Callable[[], None]) -> None:
    """Take the lock of each process's device, one after the other, so that two jobs never wait for each other."""
    lock, held = Lock(path), [False] * ranks.size
    while True:
        held = ranks.gather(lambda: all(held[: ranks.rank]) and lock.take())
        if all(held):
            return
        ranks.agree(check)
        time.sleep(POLL_SECONDS)


def reports_waiting(work: WorkFolder, check: Callable[[], None]) -> Callable[[], None]:
    """`check`, and a `waiting` line of progress each second: a job that polls for its turn does not hang."""
    last_line = None

    def check_and_report() -> None:
        nonlocal last_line
        check()
        if last_line is None or time.monotonic() - last_line > WAITING_SECONDS:
            last_line = time.monotonic()
            work.progress("waiting", 0, 0, None)

    return check_and_report


def _log_to(path: Path) -> None:
    """Send standard output and error of this process to the job's log. Raises OSError for a link or a pipe."""
    sys.stdout.flush()
    sys.stderr.flush()
    # A pipe would wait for its reader without O_NONBLOCK.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
