"""Fields that requests of all kinds have in common, and those that are known but do nothing here."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from genenv_trainer.serving.errors import invalid_field
from genenv_trainer.serving.limits import MAX_NAME_LENGTH, check_stops
from genenv_trainer.serving.structure import ResponseFormat, Structure, StructuredOutputs, structure_of

IGNORED = {
    "user",
    "metadata",
    "store",
    "service_tier",
    "stream_options",
    "safety_identifier",
    "prompt_cache_key",
    "parallel_tool_calls",
}

NEUTRAL: dict[str, tuple] = {
    "stream": (None, False),
    "top_p": (None, 1),
    "top_k": (None, 0, -1),
    "min_p": (None, 0),
    "best_of": (None, 1),
    "echo": (None, False),
    "suffix": (None, ""),
    "frequency_penalty": (None, 0),
    "presence_penalty": (None, 0),
    "repetition_penalty": (None, 1),
    "logit_bias": (None, {}),
    "prompt_logprobs": (None,),
    "tools": (None, []),
    "tool_choice": (None, "none", "auto"),
    "min_tokens": (None, 0),
    "ignore_eos": (None, False),
    "skip_special_tokens": (None, True),
    "include_stop_str_in_output": (None, False),
}
"""Fields of OpenAI and vLLM that this server cannot act on, and the values that ask for nothing."""

Temperature = Annotated[float, Field(ge=0, allow_inf_nan=False)]
MIN_TEMPERATURE = 1e-3
"""Below it the logits over the temperature leave float32; 0 is greedy."""


class ModelRequest(BaseModel):
    """A request that names a model. An unknown field is an error, unless it asks for nothing."""

    model_config = ConfigDict(strict=True, extra="allow")
    model: str = Field(max_length=MAX_NAME_LENGTH)

    def check_extra(self) -> None:
        for name, value in (self.model_extra or {}).items():
            if name in IGNORED:
                continue
            if name not in NEUTRAL:
                raise invalid_field(name, "this server does not know the field", "unknown_field")
            if value not in NEUTRAL[name]:
                options = [repr(option) for option in NEUTRAL[name] if option is not None]
                allowed = ", ".join(options) or "absent"
                raise invalid_field(
                    name,
                    f"not supported by this server, only {allowed} is; got {value!r:.80}",
                    "unsupported_value",
                )


class SamplingRequest(ModelRequest):
    """What completions and chat completions share."""

    n: int | None = Field(default=1, ge=1, le=1024)
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**64)
    temperature: Temperature | None = 1
    stop: str | Annotated[list[str], Field(fail_fast=True)] | None = None
    return_token_ids: bool | None = False
    structured_outputs: StructuredOutputs | None = None
    response_format: ResponseFormat | None = None

    def check(self) -> None:
        self.check_extra()
        if 0 < self.effective_temperature < MIN_TEMPERATURE:
            raise invalid_field(
                "temperature", f"0 (greedy) or at least {MIN_TEMPERATURE}, got {self.effective_temperature}"
            )
        check_stops(self.stops)
        structure_of(self.structured_outputs, self.response_format)

    @property
    def effective_temperature(self) -> float:
        return 1 if self.temperature is None else self.temperature

    @property
    def samples(self) -> int:
        return self.n or 1

    @property
    def structure(self) -> Structure | None:
        return structure_of(self.structured_outputs, self.response_format)

    @property
    def stops(self) -> list[str]:
        return [self.stop] if isinstance(self.stop, str) else self.stop or []
