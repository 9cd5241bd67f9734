#!/bin/sh
# A failure that waiting does not heal is looked at by a program of yours. Here it is a fake agent of a few lines.
set -eu
cd "$(mktemp -d)"
medbay init 2>/dev/null

cat > medbay.toml <<'END'
[triage]
agent = "command"
command = ["./agent.sh"]
[policy.ladder.unknown]
delays = ["100ms"]
END

cat > agent.sh <<'END'
#!/bin/sh
context=$(cat)                                   # JSON: the task, its failures, what was tried
echo "looking at ${#context} letters" >&2        # stderr is its log
case $context in
  *"row 77"*) echo '{"verdict": "ADJUST", "adjust": {"guidance": "use the replica"}, "root_cause": "row 77 is locked"}' ;;
  *)          echo '{"verdict": "ESCALATE", "why": "nobody knows this one", "look_at": "compare the totals with the ledger"}' ;;
esac
END
chmod +x agent.sh
medbay policy check

# This job heals when it gets the right advice; the other one does not.
import=$(medbay add "import" --run 'case $MEDBAY_GUIDANCE in *replica*) ;; *) echo "row 77 looks odd"; exit 3 ;; esac')
report=$(medbay add "report" --run 'echo "the totals look odd"; exit 3')
medbay up --until-idle || test $? = 75           # 75: something waits for a person

medbay show $import
medbay log .triage-$import-1
medbay inbox
medbay answer $report cancel
