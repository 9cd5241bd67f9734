#!/bin/sh
# A nightly pipeline: three tasks one after another, one of them flaky; run until nothing is left to do, then report.
set -eu
cd "$(mktemp -d)"
medbay init 2>/dev/null

cat > medbay.toml <<'END'
[policy.ladder.transient]
delays = ["1s"]
END

pull=$(medbay add pull --tag nightly --timeout 1m \
  --run 'test "$MEDBAY_ATTEMPT" = 2 || { echo "connect ECONNREFUSED 10.0.0.1:443"; exit 7; }')
build=$(medbay add build --tag nightly --after "$pull" --run 'echo built > site.txt')
medbay add publish --tag nightly --after "$build" -- cp site.txt public.txt >/dev/null

medbay graph
medbay up --until-idle --no-web
medbay list --tag nightly
medbay log "$pull" --attempt 1
