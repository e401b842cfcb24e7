"""AskUserQuestion: one to four questions with options, answered by a person."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tui_agent.tools.base import NO_EFFECTS, Effects, ToolContext, ToolError, text_result
from tui_agent.tools.results import one_line
from tui_agent.vocabulary.blocks import Json, JsonObject, ToolResult


class QuestionOption(BaseModel):
    """One of the answers offered."""

    model_config = ConfigDict(extra="ignore")

    label: str = Field(min_length=1, description="One to five words")
    description: str = Field("", description="What choosing it means")


class Question(BaseModel):
    """One question."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    question: str = Field(min_length=1, description="The whole question")
    header: str = Field("", max_length=40, description="A word or two to name it, 12 characters")
    options: list[QuestionOption] = Field(min_length=2, max_length=4)
    multi_select: bool = Field(False, alias="multiSelect", description="Allow several answers")

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        labels = [option.label for option in self.options]
        if len(set(labels)) < len(labels):
            raise ValueError("the labels of one question must differ")
        return self


class AskUserQuestionInput(BaseModel):
    """Input of AskUserQuestion."""

    model_config = ConfigDict(extra="forbid")

    questions: list[Question] = Field(min_length=1, max_length=4)

    @model_validator(mode="after")
    def _questions_differ(self) -> Self:
        texts = [question.question for question in self.questions]
        if len(set(texts)) < len(texts):
            raise ValueError("two questions have the same text")
        return self


class AskUserQuestion:
    """Turns a person's answers into a result; asking is not done here."""

    name: ClassVar[str] = "AskUserQuestion"
    description: ClassVar[str] = (
        "Ask the person one to four questions when only they can decide. Offer two to four options"
        " each; they may always answer in their own words instead. Do not ask what you can find out"
        " yourself."
    )
    input_model: ClassVar[type[AskUserQuestionInput]] = AskUserQuestionInput
    is_read_only: ClassVar[bool] = True

    def effects(self, args: AskUserQuestionInput, context: ToolContext) -> Effects:  # noqa: ARG002 - the contract
        """None."""
        return NO_EFFECTS

    def subject(self, args: AskUserQuestionInput) -> str:
        """The first question."""
        more = f" (+{len(args.questions) - 1})" if len(args.questions) > 1 else ""
        return one_line(args.questions[0].question) + more

    def preview(self, args: AskUserQuestionInput, context: ToolContext) -> JsonObject:  # noqa: ARG002 - the contract
        """The questions."""
        return {
            "kind": "questions",
            "questions": [question.model_dump(by_alias=True) for question in args.questions],
        }

    async def run(self, args: AskUserQuestionInput, context: ToolContext) -> ToolResult:
        """The answers, question by question."""
        if context.answers is None:
            raise ToolError(
                "Nobody answered. Go on with your best judgement and say what you chose."
            )
        answers = {q.question: _texts(context.answers.get(q.question)) for q in args.questions}
        lines = [
            f'"{question}": {"; ".join(texts) if texts else "(no answer)"}'
            for question, texts in answers.items()
        ]
        details = {"kind": "answers", "answers": answers}
        return text_result("The person answered:\n" + "\n".join(lines), details)


def _texts(answer: Json) -> list[str]:
    if answer is None:
        return []
    items = answer if isinstance(answer, list | tuple) else [answer]
    return [str(item) for item in items if str(item).strip()]
