#!/bin/sh
# The same walk with Claude Code as product manager, QA, developer and gate, against an imitation of its API.
set -e
example=$(cd "$(dirname "$0")" && pwd)
claude=$(command -v claude || python3 - <<'END'
from importlib.util import find_spec
from pathlib import Path

found = find_spec("claude_agent_sdk")
print(Path(found.origin).parent / "_bundled" / "claude" if found and found.origin else "")
END
)
[ -x "$claude" ] || { echo "Claude Code is not installed: pip install claude-agent-sdk" >&2; exit 69; }

folder=$(mktemp -d)
python3 "$example/model.py" >"$folder/address" &
model=$!
trap 'kill $model; rm -rf "$folder"' EXIT
until [ -s "$folder/address" ]; do sleep 0.1; done
mkdir "$folder/home" "$folder/project"
export HOME="$folder/home" ANTHROPIC_BASE_URL="$(cat "$folder/address")" ANTHROPIC_API_KEY=none
export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_TELEMETRY=1 DISABLE_ERROR_REPORTING=1

cd "$folder/project"
printf 'build:\n\tpython3 -m compileall -q greeting.py\n' >Makefile
git init -q .
medbay init 2>/dev/null
sed "s|CLAUDE|$claude|" "$example/agents.toml" >medbay.toml

medbay story new S-1 --title "Greet people"
medbay story run S-1 || [ $? = 75 ] # the product manager asks what only a person may decide
medbay answer S-1 greeting
medbay story run S-1
medbay story show S-1
medbay export --trace S-1
cat stories/UAT/S-1/_implementation/TOKEN-LOG.md
