#!/bin/sh
# A story walks from pending to completed: generate, elaborate, implement, a review that fails, fix, review, verify, gate.
set -e
example=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/project"
cp "$example/role.py" "$folder/"
cd "$folder/project"
printf 'build:\n\tpython3 -m compileall -q greeting.py\n' >Makefile
git init -q .
medbay init 2>/dev/null
cp "$example/medbay.toml" .

medbay story new S-1 --title "Greet people"
medbay story review S-1 --plan
medbay story run S-1
medbay story show S-1
medbay story board
medbay story stats
cat stories/UAT/S-1/_implementation/VERIFICATION.yaml
