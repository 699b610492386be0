"""Why a job ends: each error carries the `reason` of exit.json and the exit code of the process."""


class JobError(Exception):
    """Ends the job. `reason` goes to exit.json with the message; `exit_code` to the process."""

    reason = "failed"
    exit_code = 1


class InvalidConfig(JobError):
    """job.json is wrong: starting again cannot help."""

    reason = "invalid_config"


class DamagedFile(JobError):
    """A file of the work folder is torn or altered; started again, the job gets a new one."""

    reason = "damaged_file"


class InvalidArtifact(JobError):
    """A file that job.json names (batch, model, trainer state) is missing, torn or does not fit."""

    reason = "invalid_artifact"


class OutOfMemory(JobError):
    """An allocation failed; start again with fewer `tokens_per_micro_batch`."""

    reason = "out_of_memory"


class Superseded(JobError):
    """A higher fence exists: this job may write nothing more."""

    reason = "superseded"


class Terminated(JobError):
    """SIGTERM came; the job checkpointed."""

    reason = "terminated"
    exit_code = 75


class Orphaned(JobError):
    """Nobody has touched the lease for `orphan_grace_seconds`; the job checkpointed."""

    reason = "orphaned"
    exit_code = 75


class RankLost(JobError):
    """Another process of the job has ended, or does not answer; start the job again to go on."""


class NotFinite(ArithmeticError):
    """Loss, gradient or KL is NaN or infinite. Belongs to one step, which is undone; the job
    continues with the next."""


OUT_OF_MEMORY_WORDS = (
    "not enough memory",
    "DefaultCPUAllocator",
    "bad_alloc",
    "annot allocate memory",
    "not create a memory",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)
"""How the CPU allocator, C++, the system, oneDNN and the libraries of CUDA say it."""


def is_out_of_memory(error: BaseException) -> bool:
    """True for torch's CUDA OutOfMemoryError, Python's MemoryError, and what the libraries make of a
    failed allocation."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or (
            isinstance(error, (RuntimeError, OSError))
            and any(words in str(error) for words in OUT_OF_MEMORY_WORDS)
        )
    )
