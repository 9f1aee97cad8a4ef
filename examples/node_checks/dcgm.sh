#!/bin/sh
# Node check: NVIDIA's quick diagnostic of this node's GPUs, `dcgmi diag -r 1`.
#
#     sh dcgm.sh [--if_available] [--limit SECONDS] [-- further words for dcgmi diag]
#
# Needs dcgmi of DCGM 3 or 4. dcgmi asks the nv-hostengine of this node; without one it starts an engine of its own.
# Takes a few seconds, and at most --limit (60) where `timeout` knows --foreground, as GNU's does.
# Exit code: 0 all tests passed, or "skipped: ..." with --if_available if there is no dcgmi; 1 a test failed, and the
# last line names the GPUs; 2 wrong words; 3 there is no result: no dcgmi, no engine, no GPU, or over the limit.
is_optional=0
limit=60
usage() {
  echo "dcgm.sh: $1; usage: dcgm.sh [--if_available] [--limit SECONDS] [-- further words for dcgmi diag]"
  exit 2
}
while [ $# -gt 0 ]; do
  case $1 in
    --if_available) is_optional=1 ;;
    --limit)
      [ $# -gt 1 ] || usage "--limit needs a number of seconds"
      limit=$2
      shift
      ;;
    --) shift; break ;;
    *) usage "unknown word '$1'" ;;
  esac
  shift
done
case $limit in
  '' | *[!0-9]*) usage "--limit needs a number of seconds, not '$limit'" ;;
esac

if ! command -v dcgmi >/dev/null; then
  if [ $is_optional = 1 ]; then echo "skipped: there is no dcgmi"; exit 0; fi
  echo "there is no dcgmi: install DCGM, or pass --if_available"
  exit 3
fi

# SIGTERM makes dcgmi stop the diagnostic. After SIGKILL it goes on in nv-hostengine, and refuses the next one. With
# --foreground, timeout stays in this process group, so that the agent can kill it.
if timeout --foreground 5 true 2>/dev/null; then
  output=$(timeout --foreground -k 10 "$limit" dcgmi diag -r 1 -j "$@" 2>&1)
else
  output=$(dcgmi diag -r 1 -j "$@" 2>&1)
fi
code=$?
if [ $code = 124 ] || [ $code = 137 ]; then
  echo "dcgmi diag did not end within $limit s: see the log of nv-hostengine, or raise --limit"
  exit 3
fi

# dcgmi ends with 226 (-30) or 205 (-51) if a test failed, with another code if there is no result. The JSON says why.
# The JSON of both versions has its keys in alphabetic order, so that a result's GPU stands before its status:
#   DCGM 4  test_categories[] > tests[] > name, results[] {entity_group, entity_id, status, warnings[] {warning}},
#           test_summary {status, warnings[]}
#   DCGM 3  test_categories[] > tests[] > name, results[] {gpu_ids, status, warnings[] {warning}}
#   both    runtime_error instead of test_categories if no test could run
printf '%s\n' "$output" | awk -v code="$code" '
  # Returns the text or number after the key.
  function value(piece) {
    sub(/^[^:]*:[ \t]*(\[[ \t]*)?/, "", piece)
    if (match(piece, /^"([^"\\]|\\.)*"/)) {
      piece = substr(piece, 2, RLENGTH - 2)
      gsub(/\\n/, " ", piece)
      gsub(/\\/, "", piece)
      return piece
    }
    return match(piece, /^[0-9]+/) ? substr(piece, 1, RLENGTH) : ""
  }
  # Counts each GPU of "GPU 0" or "GPU 0,1,2" once.
  function count(device,   ids, many, i) {
    many = split(device, ids, /[^0-9]+/)
    for (i = 1; i <= many; i++) if (ids[i] != "" && !(ids[i] in gpus)) { gpus[ids[i]] = 1; gpu_count++ }
  }
  /[^ \t]/ { last = $0 }
  { text = text " " $0 }
  END {
    gsub(/"(name|entity_group|entity_id|gpu_ids|status|warnings?|runtime_error|test_summary)"[ \t]*:/, "\n&", text)
    pieces = split(text, piece, "\n")
    for (i = 2; i <= pieces; i++) {
      split(piece[i], words, "\"")
      key = words[2]
      found = value(piece[i])
      if (key == "name") { test = found; device = ""; is_failed = 0 }
      else if (key == "test_summary") device = ""
      else if (key == "entity_group") group = found
      else if (key == "entity_id") device = group " " found
      else if (key == "gpu_ids") device = "GPU " found
      else if (key == "runtime_error") error = found
      else if (key == "status") {
        is_failed = tolower(found) ~ /^fail/
        if (is_failed) failed++
        if (tolower(found) ~ /^pass/) passed++
        if (device ~ /^GPU /) count(device)
        if (is_failed && device != "" && !(device in named)) {
          named[device] = 1
          names = names (names == "" ? "" : ", ") device
        }
        if (is_failed && first == "") first_test = test
      } else if (is_failed && first == "" && found != "") {
        first = test (device == "" ? "" : " on " device) ": " found
      }
    }
    if (failed) {
      print "dcgmi diag: " (names == "" ? first_test : names) " failed" (first == "" ? "" : "; " first)
      exit 1
    }
    if (error != "") print "dcgmi diag could not run: " error
    else if (code != 0) print "dcgmi diag ended with code " code ": " last
    else if (!passed) print "dcgmi diag ran no test: " (last ~ /^[ \t}]*$/ ? "all were skipped" : last)
    else { printf "dcgmi diag: passed on %d GPU%s\n", gpu_count, gpu_count == 1 ? "" : "s"; exit 0 }
    exit 3
  }'
