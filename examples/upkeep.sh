#!/bin/sh
# Looking after a store: act on many tasks, check it, back it up, archive what is old, move tasks elsewhere.
set -eu
cd "$(mktemp -d)"
medbay init 2>/dev/null

for number in 1 2 3; do
  echo "{\"title\": \"job $number\", \"run\": \"true\", \"tag\": \"batch\", \"key\": \"job-$number\"}"
done | medbay add --file - >/dev/null

medbay pause --tag batch --dry-run
medbay pause --tag batch
medbay db check
medbay db backup backup.db
medbay db archive --older-than 30d
medbay export --tag batch | medbay import - --store sqlite:///elsewhere.db --key moved
medbay db copy --to sqlite:///copy.db
