"""GRPO jobs compared byte for byte: one that is killed and resumed, and one that is run twice."""

import argparse
import hashlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import llm_step as bench
from genenv_trainer.work_folder import seal

from .failure import Failed
from .sampling import VERSION, rollouts


class Jobs:
    """GRPO jobs over the same rollouts, each a process `python -m genenv_trainer job`."""

    def __init__(self, options: argparse.Namespace, store: Path, answers: list[dict]):
        self.options, self.store, self.lines = options, store, rollouts(answers, options.steps)

    def folder(self, name: str) -> Path:
        """A work folder as the worker leaves it."""
        options, folder = self.options, self.store / "work" / name
        (folder / "fence").mkdir(parents=True)
        (folder / "fence" / "1").touch()
        (folder / "lease").touch()
        (folder / "batch.jsonl").write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        settings = bench.SETTINGS.model_dump() | {"learning_rate": 1e-4, "min_informative_groups": 1, "policy_version": VERSION}
        job = {
            "format": 1, "kind": "grpo", "input_hash": "gpu-check", "fence": 1, "seed": 7, "device": options.device, "threads": options.threads,
            "random_stream": "job", "sharding": "none", "precision": options.precision, "gradient_checkpointing": False, "device_lock": None, "model": {"path": str(self.store / "adapter")},
            "adapter": None, "reference": None, "trainer_state": None, "batch": str(folder / "batch.jsonl"), "settings": settings,
            "checkpoint_every": 1, "orphan_grace_seconds": 86400,
        }
        (folder / "job.json").write_text(seal(job))
        return folder

    def start(self, folder: Path) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, "-m", "genenv_trainer", "job", str(folder)])

    def finish(self, folder: Path) -> dict:
        """Run the job of a folder to its end. Returns its exit.json."""
        code = self.start(folder).wait()
        if code != 0:
            raise Failed(f"a GRPO job ended with {code}: {(folder / 'log.txt').read_text()[-3000:]}")
        return json.loads((folder / "exit.json").read_text())

    def kill(self, folder: Path) -> int:
        """Start the job and kill it (SIGKILL) once half of its steps are done. Returns the steps."""
        process, progress = self.start(folder), folder / "progress.jsonl"
        done = 0
        while process.poll() is None and done < self.options.steps // 2:
            time.sleep(0.002)
            text = progress.read_text() if progress.exists() else ""
            done = max((json.loads(line)["step"] for line in text.split("\n")[:-1]), default=0)
        process.kill()
        if process.wait() != -signal.SIGKILL or (folder / "result.json").exists():
            raise Failed(f"a GRPO job ended with {process.returncode} before it could be killed: {(folder / 'log.txt').read_text()[-3000:]}")
        return done


def job_bytes(options: argparse.Namespace, store: Path, answers: list[dict]) -> dict:
    """What an undisturbed job leaves, beside the same job again, and one that was killed and resumed."""
    jobs = Jobs(options, store, answers)
    undisturbed, again, killed = map(jobs.folder, ("undisturbed", "again", "killed"))
    seconds = jobs.finish(undisturbed)["seconds"]
    jobs.finish(again)
    killed_after = jobs.kill(killed)
    resumed_from = jobs.finish(killed)["resumed_from"]
    whole = contents(undisturbed)
    result = json.loads((undisturbed / "result.json").read_text())
    return {
        "steps": options.steps, "steps_done": result["steps_done"], "seconds": seconds, "files": len(whole), "killed_after_step": killed_after,
        "resumed_from_step": resumed_from, "other_files_when_run_again": others(whole, contents(again)),
        "other_files_when_killed_and_resumed": others(whole, contents(killed)), "warnings_of_order": warnings_of_order(undisturbed),
    }


def contents(folder: Path) -> dict[str, str]:
    """sha256 of all that a job leaves."""
    files = [folder / "result.json", *(file for file in sorted((folder / "output").rglob("*")) if file.is_file())]
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def others(one: dict[str, str], other: dict[str, str]) -> list[str]:
    """Files that are not equal, or in one of them alone."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def warnings_of_order(folder: Path) -> list[str]:
    """What torch said about sums whose order is not fixed: the first suspects if bytes differ."""
    return sorted({line.strip() for line in (folder / "log.txt").read_text().splitlines() if "deterministic" in line})
