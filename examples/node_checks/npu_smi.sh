#!/bin/sh
# Node check: the health of each Ascend card of this node, as npu-smi reports it.
#
#     sh npu_smi.sh [--if_available] [--expect CARDS] [--allow_warning] [--limit SECONDS]
#
# A card is healthy if npu-smi says OK; with --allow_warning also if it says Warning, a minor alarm. --expect fails if
# npu-smi lists another number of cards: a card that has dropped off the bus is not listed at all.
# Needs npu-smi of the Ascend driver, and a user that may use it (root, or a member of the driver's group).
# Takes about a second for each card. A call of npu-smi that takes more than --limit (20) ends the check, where
# `timeout` knows --foreground, as GNU's does.
# Exit code: 0 all cards are healthy, or "skipped: ..." with --if_available if there is no npu-smi; 1 a card is missing
# or not healthy, and the last line names it; 2 wrong words; 3 npu-smi is missing, fails or hangs.
is_optional=0
limit=20
expected=
allowed=OK
usage() {
  echo "npu_smi.sh: $1; usage: npu_smi.sh [--if_available] [--expect CARDS] [--allow_warning] [--limit SECONDS]"
  exit 2
}
while [ $# -gt 0 ]; do
  case $1 in
    --if_available) is_optional=1 ;;
    --allow_warning) allowed='OK|Warning' ;;
    --expect)
      [ $# -gt 1 ] || usage "--expect needs a number of cards"
      expected=$2
      shift
      ;;
    --limit)
      [ $# -gt 1 ] || usage "--limit needs a number of seconds"
      limit=$2
      shift
      ;;
    *) usage "unknown word '$1'" ;;
  esac
  shift
done
case $expected in
  *[!0-9]*) usage "--expect needs a number of cards, not '$expected'" ;;
esac
case $limit in
  '' | *[!0-9]*) usage "--limit needs a number of seconds, not '$limit'" ;;
esac

if ! command -v npu-smi >/dev/null; then
  if [ $is_optional = 1 ]; then echo "skipped: there is no npu-smi"; exit 0; fi
  echo "there is no npu-smi: install the Ascend driver, add its folder to PATH, or pass --if_available"
  exit 3
fi

# Sets $output. npu-smi blocks if the driver does. With --foreground, timeout stays in this process group, so that the
# agent can kill it.
ask() {
  if [ $has_timeout = 1 ]; then
    output=$(timeout --foreground -k 1 "$limit" npu-smi "$@" 2>&1)
  else
    output=$(npu-smi "$@" 2>&1)
  fi
  code=$?
  if [ $code = 124 ] || [ $code = 137 ]; then
    echo "npu-smi $* did not end within $limit s: the driver may hang; see dmesg"
    exit 3
  fi
  return $code
}
has_timeout=0
if timeout --foreground 5 true 2>/dev/null; then has_timeout=1; fi
last_line() { printf '%s\n' "$output" | awk 'NF {line = $0} END {sub(/^[ \t]+/, "", line); print line}'; }

# Prints the values of a key in $output, for lines such as "  NPU ID                         : 0".
values_of() {
  printf '%s\n' "$output" | awk -v key="^[ \t]*($1)[ \t]*:" '
    $0 ~ key { sub(/^[^:]*:[ \t]*/, ""); sub(/[ \t\r]+$/, ""); print }'
}

if ! ask info -l; then
  echo "npu-smi info -l ended with code $code: $(last_line)"
  exit 3
fi
cards=$(values_of 'NPU ID')
count=$(printf '%s\n' "$cards" | grep -c '^[0-9]')
if [ -n "$expected" ] && [ "$count" != "$expected" ]; then
  echo "npu-smi lists $count cards, $expected are expected:" $cards
  exit 1
fi
if [ "$count" = 0 ]; then
  echo "npu-smi lists no card: $(last_line)"
  exit 3
fi

broken=
for card in $cards; do
  if ! ask info -t health -i "$card"; then
    echo "npu-smi info -t health -i $card ended with code $code: $(last_line)"
    exit 3
  fi
  # One line "Health" or "Health Status" for each chip, and for the card's microcontroller if it has one.
  health=$(values_of 'Health|Health Status')
  if [ -z "$health" ]; then
    echo "npu-smi info -t health -i $card shows no health: $(last_line)"
    exit 3
  fi
  worst=$(printf '%s\n' "$health" | grep -Evx "$allowed" | head -n 1)
  [ -n "$worst" ] || continue

  # Most versions show the error only for a single chip.
  error=$(values_of 'Error Code|Error Information' | grep -vx NA | tr '\n' ' ')
  for chip in $(values_of 'Chip ID'); do
    [ -z "$error" ] || break
    ask info -t health -i "$card" -c "$chip" || continue
    error=$(values_of 'Error Code|Error Information' | grep -vx NA | tr '\n' ' ')
  done
  broken="$broken${broken:+; }NPU $card: $worst${error:+, error ${error% }}"
done
if [ -n "$broken" ]; then
  printf '%s\n' "$broken"
  exit 1
fi
echo "npu-smi: $count cards are healthy"
