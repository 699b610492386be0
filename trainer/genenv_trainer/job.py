"""The training-job protocol around the training itself: lock, result, exit. docs/training-jobs.md."""

import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from genenv_trainer.errors import InvalidConfig, JobError, Orphaned, OutOfMemory, Terminated, is_out_of_memory
from genenv_trainer.job_config import JobConfig, load_job
from genenv_trainer.job_trace import JobTrace
from genenv_trainer.stop_conditions import StopConditions
from genenv_trainer.work_folder import WorkFolder, refuse_links, wait_for_lock, write_json

WAITING_SECONDS = 1
"""Between two `waiting` lines of progress: less than the shortest silence that a worker takes for a hang."""


def run_job(folder: str) -> int:
    """Run the job of a work folder to its end and write exit.json. Returns the exit code of the process."""
    path = Path(folder).resolve(strict=True)
    _log_to(path / "log.txt")
    started = time.monotonic()
    report = {"resumed_from": None, "tokens_per_micro_batch": None, "file": None}
    holds_lock = True
    trace, kind_of_job = None, "unknown"
    try:
        refuse_links(path)
        trace = JobTrace(path, os.environ)
        job = load_job(path / "job.json")
        kind_of_job = job.kind
        report["tokens_per_micro_batch"] = job.settings.tokens_per_micro_batch
        work = WorkFolder(path, job.fence, trace)
        stop_conditions = StopConditions(work, job.orphan_grace_seconds)
        holds_lock = False
        wait_for_lock(path / "lock", stop_conditions.check)
        holds_lock = True
        (path / "exit.json").unlink(missing_ok=True)
        _finish(job, work, stop_conditions, report)
        reason, message, code = "finished", "", 0
    except Exception as error:
        traceback.print_exc()
        ending = OutOfMemory(str(error)) if is_out_of_memory(error) else error
        kind = type(ending) if isinstance(ending, JobError) else JobError
        reason, code = kind.reason, kind.exit_code
        report["file"] = getattr(ending, "file", None)
        message = str(ending) if isinstance(ending, JobError) else f"{type(error).__name__}: {error}"
    if holds_lock:  # else the folder and its exit.json belong to another process
        seconds = round(time.monotonic() - started, 3)
        write_json(path / "exit.json", {"reason": reason, "message": message, **report, "seconds": seconds})
        if trace is not None:
            trace.end(reason, kind_of_job)
    return code


def _finish(job: JobConfig, work: WorkFolder, stop_conditions: StopConditions, report: dict) -> None:
    """Bring the folder to a result.json of this input hash. Raises JobError."""
    result = work.read_result()
    if result is not None:
        if result["input_hash"] != job.input_hash:
            raise InvalidConfig(
                f"{work.path / 'result.json'}: input_hash {result['input_hash']} is not job.json's "
                f"{job.input_hash}; use another work folder"
            )
        return
    work.progress("loading", 0, 0, None)
    if job.device_lock is not None:
        wait_for_lock(Path(job.device_lock), reports_waiting(work, stop_conditions.check))
    from genenv_trainer.setup import prepare_job

    training = prepare_job(job, work, stop_conditions.check)
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
    if not job.writes_weights:
        work.write_result(result | {"output": None, "canary": None})
        return
    work.publish_output(training.save_output)
    work.write_result(result | {"output": work.output_hashes(heartbeat), "canary": training.canary()})


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
