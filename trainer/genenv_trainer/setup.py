"""job.json -> a job that is ready to run: torch's settings, models, batch, optimizer."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import transformers

from genenv_trainer import adapters
from genenv_trainer.batch import check_fits, check_normaliser
from genenv_trainer.errors import InvalidConfig
from genenv_trainer.forward import CACHED_REFERENCE_NUMBERS, Reference
from genenv_trainer.gradient_norms import GradientNorms
from genenv_trainer.job_config import JobConfig
from genenv_trainer.models import Policy, load_policy, load_reference
from genenv_trainer.onednn_linear import use_onednn_where_frozen
from genenv_trainer.optimizer import Optimizer
from genenv_trainer.ranks import Ranks
from genenv_trainer.records import read_records
from genenv_trainer.shared_prefixes import can_share_prefixes, use_shared_prefixes
from genenv_trainer.step import Objective
from genenv_trainer.stored_objects import check_stored
from genenv_trainer.tokenizer import tokenise
from genenv_trainer.trainer_state import load_trainer_state
from genenv_trainer.training import Training
from genenv_trainer.work_folder import WorkFolder

if TYPE_CHECKING:
    from genenv_trainer.sharding import Sharding


def prepare_job(
    job: JobConfig, work: WorkFolder, check: Callable[[], None], ranks: Ranks = Ranks()
) -> Training | GradientNorms:
    """Check and load everything. Raises InvalidConfig or InvalidArtifact."""

    def heartbeat() -> None:
        check()
        work.progress("loading", 0, 0, None)

    device = _configure_torch(job, ranks)
    _check_inputs(job, heartbeat)
    steps = read_records(Path(job.batch), job.kind, job.settings)
    check_normaliser(steps, job.settings.normaliser_totals)
    torch.manual_seed(job.seed)
    sharding = _sharding(ranks)
    shard = (lambda model: None) if sharding is None else sharding.shard
    policy = load_policy(job, device, shard)
    records = [record for step in steps for record in step]
    if any(record.token_ids is None for record in records):
        tokenise(records, policy.tokenizer())
    config = policy.model.config
    check_fits(records, config.vocab_size, getattr(config, "max_position_embeddings", None))
    autocast = torch.bfloat16 if job.precision == "bfloat16" else None
    reference = _reference(job, policy, autocast, device, shard)
    packed = _pack(job, policy, reference)
    if policy.is_adapter and autocast is None and sharding is None:
        for model in _models(policy, reference):
            use_onednn_where_frozen(model)
    objective = Objective(job.kind, job.settings, policy.model, reference, autocast, check, packed, ranks, sharding)
    if job.kind == "gradient_norms":
        return GradientNorms(job, work, policy, objective, steps, device)
    optimizer = Optimizer(policy.trainable(), job.settings, job.settings.schedule_steps or len(steps))
    steps_before = 0
    if job.trainer_state is not None:
        steps_before = load_trainer_state(Path(job.trainer_state), optimizer)
    return Training(job, work, policy, optimizer, objective, steps, device, steps_before)


def _pack(job: JobConfig, policy: Policy, reference: Reference | None) -> bool:
    """Whether batches are packed, for which the models are prepared. An architecture whose attention is not
    known to allow it gets padded ones, as a job that measures does."""
    models = [adapters.causal_model(model) for model in _models(policy, reference)]
    wanted = job.settings.batch_layout == "packed" and job.writes_weights
    if not wanted or not all(map(can_share_prefixes, models)):
        return False
    for model in models:
        use_shared_prefixes(model)
    return True


def _models(policy: Policy, reference: Reference | None) -> list[torch.nn.Module]:
    return [policy.model] if reference is None else [policy.model, reference.model]


def _check_inputs(job: JobConfig, heartbeat: Callable[[], None]) -> None:
    """Raises Damaged if something that job.json names in the store is not whole."""
    models = [Path(path) for path in (job.model.path, job.reference and job.reference.path) if path]
    for model in models:
        check_stored(model, heartbeat)
    inputs = [adapters.base_path(model) for model in models] + [
        Path(path) for path in (job.trainer_state, job.batch) if path
    ]
    for path in inputs:
        if path is not None:
            check_stored(path, heartbeat)


def uses_cuda(job: JobConfig) -> bool:
    return job.device != "cpu" and torch.cuda.is_available()


def _configure_torch(job: JobConfig, ranks: Ranks) -> torch.device:
    """Threads, device and determinism of this process. Bits are those of a device, a thread count (of each
    process) and a version of torch."""
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(job.threads)
    available = uses_cuda(job)
    if job.device == "cuda" and not available:
        raise InvalidConfig(
            "job.json.device: 'cuda', but torch sees no CUDA device here; use 'auto' or 'cpu'"
        )
    if available and ranks.size > 1:
        devices = torch.cuda.device_count()
        if ranks.local_rank >= devices:
            raise InvalidConfig(
                f"LOCAL_RANK: {ranks.local_rank}, but torch sees {devices} CUDA devices here; start one process a "
                "device (trainer.processes)"
            )
        torch.cuda.set_device(ranks.local_rank)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=available)
    torch.utils.deterministic.fill_uninitialized_memory = False
    return torch.device("cuda" if available else "cpu")


def _sharding(ranks: Ranks) -> "Sharding | None":
    """How models come in parts, if each process has but a part of them."""
    if not ranks.in_lockstep:
        return None
    from genenv_trainer.sharding import Sharding

    return Sharding(ranks)


def _reference(
    job: JobConfig,
    policy: Policy,
    autocast: torch.dtype | None,
    device: torch.device,
    shard: Callable[[torch.nn.Module], None],
) -> Reference | None:
    if not job.needs_reference:
        return None
    estimator = job.settings.kl_estimator
    if job.reference is not None:
        path = Path(job.reference.path)
        if policy.is_adapter and adapters.base_path(path) == policy.base:
            adapters.attach_reference(policy.model, path)
            policy.model.to(device).train()
            return Reference(policy.model, True, estimator, autocast)
        model = load_reference(path, getattr(torch, job.precision), device, shard)
        # What one process remembers and another computes again, all of them would have to run the model for.
        cached_numbers = 0 if job.sharding == "full" else CACHED_REFERENCE_NUMBERS
        return Reference(model, False, estimator, autocast, cached_numbers)
    if not policy.is_adapter:
        raise InvalidConfig(
            "job.json.reference: null, but kl_coefficient or max_kl needs one and there is no adapter "
            "to switch off; give its path"
        )
    return Reference(policy.model, True, estimator, autocast)
