"""Any model as a judge, through pydantic-ai: a typed answer, sent back twice with what was wrong; no retries below."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field
from pydantic_ai import Agent, ModelRetry, UsageLimits
from pydantic_ai.exceptions import AgentRunError, ModelHTTPError, UserError
from pydantic_ai.models import Model, infer_model

from medbay.integrations.judges.program import TRIES, Brief, JudgeAnswer, JudgeFailed


class PieceAnswer(BaseModel):
    """A task that a verdict wants made."""

    title: str
    description: str = ""


class AdjustAnswer(BaseModel):
    """What changes for the failing task alone."""

    guidance: str | None = None
    timeout: str | None = None
    model: str | None = None
    profile: str | None = None
    fresh_session: bool | None = None
    retry_delay: str | None = None


class VerdictAnswer(BaseModel):
    """A verdict about a failing task; only the fields of the verdict that is chosen are filled in."""

    verdict: Literal["NOOP", "ADJUST", "SPLIT", "SPEC_REFRESH", "FILE_FIX", "PAUSE", "RECOMMEND_CONFIG", "ESCALATE"]
    why: str = ""
    root_cause: str = ""
    evidence: list[str] = Field(default_factory=list)
    confidence: float = 0.5
    adjust: AdjustAnswer | None = None
    parts: list[PieceAnswer] | None = None
    fix: PieceAnswer | None = None
    unclear: str | None = None
    suggestion: str | None = None
    look_at: str | None = None
    task: str | None = None


class ScoreAnswer(BaseModel):
    """How much of the work of a failed attempt was done."""

    score: float
    why: str = ""


class IntakeMetadataAnswer(BaseModel):
    """Which captures were used."""

    capture_ids: list[str]
    suggested_target: str = "task"


class IntakeCandidateAnswer(BaseModel):
    """One candidate objective."""

    title: str
    description: str = ""
    acceptance_criteria: list[str]
    captures: list[str] = Field(default_factory=list)
    confidence: float = 0.5


class IntakeNotesAnswer(BaseModel):
    """How sure it is, and what was not clear."""

    confidence: float = 0.5
    ambiguities: list[str] = Field(default_factory=list)


class BundleAnswer(BaseModel):
    """Candidate objectives made of captures."""

    title: str
    metadata: IntakeMetadataAnswer
    content: list[IntakeCandidateAnswer]
    notes: IntakeNotesAnswer = Field(default_factory=IntakeNotesAnswer)


_OUTPUTS: dict[str, type[BaseModel]] = {"verdict": VerdictAnswer, "score": ScoreAnswer, "bundle": BundleAnswer}


def judge(brief: Brief) -> JudgeAnswer:
    """Ask the model once, and again where its answer cannot be used; raises JudgeFailed when none came."""
    output = _OUTPUTS[brief.answers]
    try:
        agent: Agent[object, Any] = Agent(
            _model(brief.model), output_type=output, instructions=brief.system, retries=TRIES - 1, name="triage"
        )

        @agent.output_validator
        def check(answer: BaseModel) -> BaseModel:
            if why := brief.wrong(answer.model_dump_json(exclude_none=True)):
                raise ModelRetry(f"The answer cannot be used: {why}")
            return answer

        limits = UsageLimits(request_limit=TRIES + 1, total_tokens_limit=brief.max_tokens)
        found = agent.run_sync(brief.prompt, usage_limits=limits)
    except ModelHTTPError as error:
        after = (error.headers or {}).get("retry-after")
        said = f"{brief.model.partition(':')[0]}: HTTP {error.status_code}: {error.body}"
        raise JudgeFailed(f"{said}\nRetry-After: {after}" if after else said) from None
    except (AgentRunError, UserError, ValueError) as error:
        raise JudgeFailed(f"{type(error).__name__}: {error}") from None
    spent = found.usage
    usage = {"input_tokens": spent.input_tokens, "output_tokens": spent.output_tokens, "model": brief.model}
    if (cost := _cost(found)) is not None:
        usage["cost"] = cost
    return JudgeAnswer(text=found.output.model_dump_json(exclude_none=True), usage=usage)


def _model(name: str) -> Model:
    """The model by its name (`anthropic:claude-haiku-4-5`), its client without retries of its own."""
    provider, _, model = name.partition(":")
    if provider == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(model, provider=AnthropicProvider(anthropic_client=AsyncAnthropic(max_retries=0)))
    if provider in ("openai", "openai-chat"):
        from openai import AsyncOpenAI
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        return OpenAIChatModel(model, provider=OpenAIProvider(openai_client=AsyncOpenAI(max_retries=0)))
    return infer_model(name)


def _cost(found: Any) -> float | None:
    """What the answer cost by the price list, where the model is on it."""
    try:
        return float(sum(each.cost().total_price for each in found.all_messages() if hasattr(each, "cost")))
    except (LookupError, AssertionError, ValueError, AttributeError):
        return None
