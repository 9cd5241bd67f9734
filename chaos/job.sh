# One attempt of the fault harness's load. It notes what it does itself, in one write each, in a file nobody else keeps.
# $1 is what to do, $2 how long. A lock that every process of its tree holds shows two trees of one task beside each other.
note() {
    printf '%s\n' "$1 $MEDBAY_TASK $MEDBAY_ATTEMPT ${EPOCHREALTIME/[.,]/} $MEDBAY_KEY $MEDBAY_ATTEMPT_KEY ${2:--}" >> record
}
first_time() {
    [ -e "state/$1.$MEDBAY_TASK" ] && return 1
    : > "state/$1.$MEDBAY_TASK"
}
name_a_time() {
    note named $((${EPOCHREALTIME/[.,]/} + 500000))
    echo '{"outcome": "failed", "category": "transient", "summary": "not there yet", "retry_after": 0.5}' > "$MEDBAY_RESULT"
}
if [ "$1" = check ]; then
    note check
    [ "$2" = flaky ] && first_time check && exit 1
    exit 0
fi
exec 9>> "locks/$MEDBAY_TASK"
flock -n 9 || note double
note start
sleep "$2"
case $1 in
flaky) first_time work && echo "something odd happened" && exit 1 ;;
hangs) first_time work && sleep 60 ;;
swells) first_time work && tail -c 500M /dev/zero > tail.out ;;
named) first_time work && name_a_time && exit 1 ;;
later) first_time work && name_a_time && exit 75 ;;
leaves) first_time work && (setsid sleep 60 &) && exit 1 ;;
kills) kill -9 $PPID && sleep 60 ;;
esac
note end
