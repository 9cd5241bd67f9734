"""A workflow drawn: as text, as a Mermaid diagram, as data."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from medbay.core.workflow.workflow import Phase, Workflow


def text(workflow: Workflow) -> str:
    """The phases for a terminal, one below the other."""
    wide = max(len(each.name) for each in workflow.phases)
    lines = [f"{workflow.name}: {workflow.about}".rstrip(": ")]
    for each in workflow.phases:
        starts = ", ".join(each.starts)
        running = f" ({each.running})" if each.running else ""
        who = f"  by {', '.join(each.roles)}" if each.roles else ""
        lines.append(f"  {each.name:<{wide}}  from {starts}{running}{who}")
        lines += [f"  {'':<{wide}}    {word} -> {status}" for word, status in each.verdicts.items()]
        lines += [f"  {'':<{wide}}    if complete: {_again(each)}"] if each.message or each.rerun != "rerun" else []
    return "\n".join(lines)


def _again(phase: Phase) -> str:
    return f"{phase.rerun.upper()}: {phase.message}".rstrip(": ")


def mermaid(workflow: Workflow) -> str:
    """The phases as a state diagram: each verdict is an arrow."""
    machine = workflow.machine
    lines = ["stateDiagram-v2", f"    [*] --> {_word(machine.initial)}"]
    lines += [f'    state "{each}" as {_word(each)}' for each in machine.states if _word(each) != each]
    for phase in workflow.phases:
        sources = (phase.running,) if phase.running else phase.starts
        if phase.running:
            lines += [f"    {_word(each)} --> {_word(phase.running)}: {phase.name}" for each in phase.starts]
        for source in sources:
            for verdict, status in phase.verdicts.items():
                lines.append(f"    {_word(source)} --> {_word(status)}: {phase.name} {verdict}")
    return "\n".join([*lines, *(f"    {_word(each)} --> [*]" for each in sorted(machine.terminal))])


def _word(state: str) -> str:
    return state.replace("-", "_")


def as_data(workflow: Workflow) -> dict[str, Any]:
    """The workflow as data."""
    return {
        "name": workflow.name,
        "about": workflow.about,
        "lifecycle": workflow.machine.name,
        "elaborated": workflow.elaborated or None,
        "statuses": list(workflow.statuses),
        "directories": dict(workflow.machine.places),
        "phases": [to_builtins(each) for each in workflow.phases],
    }
