#!/usr/bin/env python3
"""sbatch, squeue and scancel of a cluster with one node, as far as src/training/slurm-launcher.ts asks them. The state is
a file of the folder that FAKE_SLURM names; jobs are real processes. test/training/slurm-contract.ts runs on this and on the real one."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

HOME = Path(os.environ["FAKE_SLURM"])
PROCESSORS = 2


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def fail(text: str) -> None:
    print(f"{Path(sys.argv[0]).name}: error: {text}", file=sys.stderr)
    sys.exit(1)


def parse(words: list[str]) -> tuple[dict[str, str], list[str]]:
    options = {}
    for index, word in enumerate(words):
        if not word.startswith("--"):
            return options, words[index:]
        name, _, value = word[2:].partition("=")
        options[name] = value
    return options, []


def run_job(job: dict) -> int:
    """Start the job below a keeper of its exit code. Returns the job's pid."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        lock.close()  # else nobody else could take it while the job runs
        if os.fork():
            os._exit(0)
        log = open(job["output"], "a")
        child = subprocess.Popen(job["words"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=job["env"], start_new_session=True)
        os.write(writer, str(child.pid).encode())
        os.close(writer)
        for descriptor in (0, 1, 2):
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
        code = child.wait()
        (HOME / f"{job['id']}.code").write_text(str(code))
        os._exit(0)
    os.close(writer)
    pid = int(os.read(reader, 32))
    os.close(reader)
    return pid


def schedule(jobs: list[dict]) -> None:
    for job in jobs:
        code = HOME / f"{job['id']}.code"
        if job["state"] == "RUNNING" and code.exists():
            job["state"] = "COMPLETED" if code.read_text() == "0" else "CANCELLED" if job.get("cancelled") else "FAILED"
            job["reason"] = "None"
    busy = sum(job["cpus"] for job in jobs if job["state"] == "RUNNING")
    for job in jobs:
        if job["state"] != "PENDING":
            continue
        earlier = [other for other in jobs if other["name"] == job["name"] and other["id"] < job["id"]]
        if any(other["state"] in ("PENDING", "RUNNING") for other in earlier):
            job["reason"] = "Dependency"
        elif busy + job["cpus"] > PROCESSORS:
            job["reason"] = "Resources"
        else:
            job |= {"state": "RUNNING", "reason": "None", "started": now(), "pid": run_job(job)}
            busy += job["cpus"]


def sbatch(jobs: list[dict], words: list[str]) -> None:
    options, command = parse(words)
    if options["dependency"] != "singleton" or not command:
        fail("a job of one name at a time, please")
    job = {"id": len(jobs) + 1, "name": options["job-name"], "comment": options["comment"], "state": "PENDING", "reason": "None"}
    jobs.append(job | {"submitted": now(), "started": "N/A", "cpus": int(options.get("cpus-per-task", 1)),
                       "output": options["output"].replace("%%", "%"), "words": ["/bin/sh", *command], "env": dict(os.environ)})
    schedule(jobs)
    print(job["id"])


def squeue(jobs: list[dict], words: list[str]) -> None:
    options, _ = parse(words)
    for job in jobs:
        if options.get("name", job["name"]) != job["name"] or options["states"] not in ("all", job["state"]):
            continue
        fields = {"%i": job["id"], "%T": job["state"], "%r": job["reason"], "%V": job["submitted"], "%S": job["started"], "%k": job["comment"]}
        print("|".join(str(fields[field]) for field in options["format"].split("|")))


def scancel(jobs: list[dict], words: list[str]) -> None:
    options, (number,) = parse(words)
    job = next((job for job in jobs if str(job["id"]) == number), None) or fail("Invalid job id specified")
    if job["state"] == "PENDING" and "signal" not in options:
        job |= {"state": "CANCELLED", "started": now()}
    elif job["state"] == "RUNNING":
        # KILL cancels a job, which begins with a SIGTERM.
        job["cancelled"] = options.get("signal", "KILL") == "KILL"
        os.killpg(job["pid"], signal.SIGTERM)


with open(HOME / "lock", "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    if (HOME / "away").exists():
        fail("Unable to contact slurm controller (connect failure)")
    file = HOME / "jobs.json"
    jobs = json.loads(file.read_text()) if file.exists() else []
    schedule(jobs)
    {"sbatch": sbatch, "squeue": squeue, "scancel": scancel}[Path(sys.argv[0]).name](jobs, sys.argv[1:])
    file.write_text(json.dumps(jobs))
