"""A training job of a few milliseconds that keeps to the protocol (docs/training-jobs.md) and misbehaves on demand."""

import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "trainer"))
from genenv_trainer.work_folder import own_process, seal

folder = Path(sys.argv[1])
script = json.loads((folder / "script.json").read_text())
job = json.loads((folder / "job.json").read_text())


def write(name: str, value: dict) -> None:
    (folder / f".{name}").write_text(seal(value))
    os.rename(folder / f".{name}", folder / name)


def progress(phase: str, step: int) -> None:
    with open(folder / "progress.jsonl", "a") as file:
        line = {"phase": phase, "step": step, "steps": 3, **own_process(), **script.get("claims", {})}
        file.write(json.dumps({name: value for name, value in line.items() if value is not None}) + "\n")


def end(reason: str, message: str = "") -> None:
    write("exit.json", {"reason": reason, "message": message})
    time.sleep(script.get("linger", 0))
    os._exit(0 if reason == "finished" else 1)


def compute(seconds: float) -> None:
    """In a child process, as a loader of data does."""
    child = os.fork()
    if child == 0:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
        os._exit(0)
    os.waitpid(child, 0)


if script.get("before_lock"):
    compute(script["computes"])
lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
(folder / "exit.json").unlink(missing_ok=True)
with open(folder / "starts.jsonl", "a") as file:
    file.write(json.dumps({"fence": job["fence"], "budget": job["settings"]["tokens_per_micro_batch"]}) + "\n")
signal.signal(signal.SIGTERM, lambda *_: end("terminated", "checkpointed at step 1"))
progress("loading", 0)
if job["settings"]["tokens_per_micro_batch"] > script.get("fits", 1 << 30):
    end("out_of_memory", "too much")
progress("step", 1)
if "computes" in script and not script.get("before_lock"):
    compute(script["computes"])
time.sleep(script.get("sleeps", 0))
while script.get("waits_for") and not (folder / script["waits_for"]).exists():
    time.sleep(0.25 if script.get("says_waiting") else 0.01)
    if script.get("says_waiting"):
        progress("waiting", 0)
if script.get("dies"):
    os.kill(os.getpid(), signal.SIGKILL)
if "ends" in script:
    end(script["ends"], script.get("message", ""))
progress("saving", 3)
write("result.json", {"format": 1, "input_hash": job["input_hash"], "kind": "grpo", "steps": 3, "steps_done": 3, "skipped": None, "skipped_steps": {},
                      "kl": {"before": None, "after": None, "rule": "none"}, "metrics": {"loss": 0.5}, "output": {"checkpoint": "a", "trainer_state": "b"}})
end("finished")
