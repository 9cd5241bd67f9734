"""`medbay story schema`: the published shapes of the files that phases leave."""

from __future__ import annotations

import click

from medbay.cli.output import print_json, say
from medbay.cli.session import Session, json_option, pass_session


@click.command("schema")
@click.argument("name", required=False)
@json_option
@pass_session
def schema(session: Session, name: str | None) -> None:
    """Print the JSON schema of an artifact (EVIDENCE.yaml, GATE.yaml, ...); without NAME, which there are.

    \b
    Example:
      medbay story schema EVIDENCE.yaml
    """
    from medbay.core.workflow import shapes
    from medbay.errors import NotFound

    if name is None:
        if session.json:
            print_json([*shapes.SHAPES])
        else:
            for each in shapes.SHAPES:
                say(each)
        return
    known = {each.casefold(): each for each in shapes.SHAPES}
    found = known.get(name.casefold()) or known.get(f"{name.casefold()}.yaml")
    if found is None:
        raise NotFound(f'there is no schema for "{name}"', hint=f"one of {', '.join(shapes.SHAPES)}")
    print_json(shapes.schema(found))
