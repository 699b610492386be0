"""AdamW over the trainable parameters and its learning-rate schedule, with a state that can be written,
read and carried to the next job."""

import math

import torch

from genenv_trainer.errors import InvalidArtifact, NotFinite
from genenv_trainer.job_config import Settings
from genenv_trainer.parts import is_part, part_like, whole


class Optimizer:
    """torch.optim.AdamW, gradient clipping and the schedule's position. Vectors (norms, biases) do not
    decay."""

    def __init__(self, parameters: dict[str, torch.nn.Parameter], settings: Settings, schedule_steps: int):
        self.position = 0
        self._parameters = parameters
        self._settings = settings
        self._schedule_steps = schedule_steps
        # A kernel takes whole tensors or parts, not both.
        groups = [
            {
                "params": [p for p in parameters.values() if (p.ndim >= 2) == decays and is_part(p) == in_parts],
                "weight_decay": settings.weight_decay if decays else 0.0,
            }
            for in_parts in (False, True)
            for decays in (True, False)
        ]
        self._adamw = torch.optim.AdamW(
            [group for group in groups if group["params"]],
            lr=settings.learning_rate,
            betas=settings.betas,
            eps=settings.epsilon,
            fused=True,
        )

    def zero_grad(self) -> None:
        self._adamw.zero_grad(set_to_none=True)

    def step(self) -> tuple[float, float]:
        """Clip to max_grad_norm, update, move the schedule on. Returns (gradient norm before clipping,
        learning rate).

        Raises NotFinite, before anything changes, if the gradient is.
        """
        norm = self._clip_gradients()
        if not norm < float("inf"):
            raise NotFinite(f"gradient norm is {norm}")
        rate = self._settings.learning_rate * rate_multiple(
            self._settings.schedule, self.position, self._settings.warmup_steps, self._schedule_steps
        )
        for group in self._adamw.param_groups:
            group["lr"] = rate
        self._adamw.step()
        self.position += 1
        return norm, rate

    def _clip_gradients(self) -> float:
        """The norm of all gradients, which are scaled down to max_grad_norm. That of a tensor in parts is taken of
        the whole, gathered for it, since a sum over parts would round in another way."""
        if not any(map(is_part, self._parameters.values())):
            parameters = self._parameters.values()
            return torch.nn.utils.clip_grad_norm_(parameters, self._settings.max_grad_norm).item()
        gradients = [p.grad for p in self._parameters.values() if p.grad is not None]
        norm = torch.linalg.vector_norm(
            torch.stack([torch.linalg.vector_norm(whole(gradient)) for gradient in gradients])
        )
        scale = torch.clamp(self._settings.max_grad_norm / (norm + 1e-6), max=1.0)
        for gradient in gradients:
            (gradient.to_local() if is_part(gradient) else gradient).mul_(scale)
        return norm.item()

    def tensors(self) -> dict[str, torch.Tensor]:
        """`<parameter>/<exp_avg | exp_avg_sq | step>` -> tensor; empty before the first step."""
        state = self._adamw.state
        return {
            f"{name}/{key}": value
            for name, p in self._parameters.items()
            for key, value in state.get(p, {}).items()
        }

    def load_tensors(self, tensors: dict[str, torch.Tensor], where: str) -> None:
        """The inverse of `tensors`. Raises InvalidArtifact if they belong to other parameters."""
        self._adamw.state.clear()
        for key, value in tensors.items():
            name, _, slot = key.rpartition("/")
            parameter = self._parameters.get(name)
            if parameter is None or (slot != "step" and value.shape != parameter.shape):
                raise InvalidArtifact(
                    f"{where}: {key!r} of shape {tuple(value.shape)} fits no trainable parameter; "
                    "this state belongs to another model"
                )
            self._adamw.state[parameter][slot] = part_like(parameter, value)


def rate_multiple(schedule: str, position: int, warmup_steps: int, total_steps: int) -> float:
    """Multiple of the learning rate at optimizer step `position` (from 0).

    The formulas of transformers' get_{constant,linear,cosine}_schedule_with_warmup: linear from 0 over
    `warmup_steps`, then 1, or down to 0 at `total_steps` along a line or half a cosine. Theirs are not
    called, since their linear one rounds differently (checkpoints would change) and their cosine rises again
    after `total_steps`.
    """
    if position < warmup_steps:
        return position / warmup_steps
    if schedule == "constant":
        return 1.0
    done = min(1.0, (position - warmup_steps) / max(1, total_steps - warmup_steps))
    return 1 - done if schedule == "linear" else 0.5 * (1 + math.cos(math.pi * done))
