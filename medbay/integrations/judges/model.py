"""Any model as a judge, through pydantic-ai: a typed answer, sent back twice with what was wrong; no retries below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel, Field
from pydantic_ai import Agent, ModelRetry, UsageLimits, capture_run_messages
from pydantic_ai.exceptions import AgentRunError, ModelHTTPError, UnexpectedModelBehavior, UserError
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model, infer_model

from medbay.integrations.judges.program import TRIES, AnswerUnusable, Brief, JudgeAnswer, JudgeFailed

REFUSAL_MAX: Final = 500


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
    with capture_run_messages() as messages:
        try:
            found = _agent(brief).run_sync(brief.prompt, usage_limits=_limits(brief))
        except ModelHTTPError as error:
            raise JudgeFailed(_complaint(brief, error), _usage(brief, messages)) from None
        except UnexpectedModelBehavior as error:
            raise _unusable(brief, messages, error) from None
        except (AgentRunError, UserError, ValueError) as error:
            said = f"{_provider(brief)}: {type(error).__name__}: {error}"
            raise JudgeFailed(said, _usage(brief, messages)) from None
        text = found.output.model_dump_json(exclude_none=True)
        return JudgeAnswer(text=text, usage=_usage(brief, found.all_messages()))


def _agent(brief: Brief) -> Agent[object, Any]:
    agent: Agent[object, Any] = Agent(
        _model(brief.model),
        output_type=_OUTPUTS[brief.answers],
        instructions=brief.system,
        retries=TRIES - 1,
        name="triage",
    )

    @agent.output_validator
    def check(answer: BaseModel) -> BaseModel:
        if why := brief.wrong(answer.model_dump_json(exclude_none=True)):
            raise ModelRetry(f"The answer cannot be used: {why}")
        return answer

    return agent


def _limits(brief: Brief) -> UsageLimits:
    return UsageLimits(request_limit=TRIES + 1, total_tokens_limit=brief.max_tokens)


def _complaint(brief: Brief, error: ModelHTTPError) -> str:
    """What a provider said, with the time it asked for."""
    after = (error.headers or {}).get("retry-after")
    said = f"{_provider(brief)}: HTTP {error.status_code}: {error.body}"
    return f"{said}\nRetry-After: {after}" if after else said


def _unusable(brief: Brief, messages: Sequence[Any], error: Exception) -> Exception:
    """Why no answer of a model was good enough: it refuses, or what it said last cannot be read."""
    usage = _usage(brief, messages)
    answers = [each for each in messages if isinstance(each, ModelResponse)]
    if not answers:
        return JudgeFailed(f"{_provider(brief)}: {type(error).__name__}: {error}", usage)
    for each in answers:
        if each.finish_reason == "content_filter":
            return JudgeFailed(f"{_provider(brief)}: stop_reason: refusal: {_text(each)[:REFUSAL_MAX]}", usage)
    return AnswerUnusable(JudgeAnswer(text=_text(answers[-1]), usage=usage))


def _text(answer: ModelResponse) -> str:
    """What a model said: the values it called its answer with, else its words."""
    called = [each.args_as_json_str() for each in answer.parts if isinstance(each, ToolCallPart)]
    return "\n".join(called or [each.content for each in answer.parts if isinstance(each, TextPart)])


def _provider(brief: Brief) -> str:
    return brief.model.partition(":")[0]


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


def _usage(brief: Brief, messages: Sequence[Any]) -> dict[str, Any]:
    """What the answers took, and what that cost by the price list, where the model is on it."""
    answers = [each for each in messages if isinstance(each, ModelResponse)]
    usage: dict[str, Any] = {
        "input_tokens": sum(each.usage.input_tokens for each in answers),
        "output_tokens": sum(each.usage.output_tokens for each in answers),
        "model": brief.model,
    }
    try:
        usage["cost"] = float(sum(each.cost().total_price for each in answers))
    except (LookupError, AssertionError, ValueError, AttributeError):
        pass
    return usage if answers else {}
