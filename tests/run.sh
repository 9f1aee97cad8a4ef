#!/usr/bin/env bash
# Installs what the tests need, builds, and runs them in stages. Ends with "N passed, N failed, N skipped" over all.
#
# No test gets a second run without a measured reason: a test that fails now and then has a cause. There are three
# exceptions. A test recognises MindSpore's own crash (tests/e2e/support/mindspore_crash.py) itself and warns. Up to
# three unit tests that failed run again, alone, if no sanitizer found anything; other tests ran beside them the first
# time. An end-to-end test runs again, alone, if it failed beside others or while the machine left it no processor
# (tests/e2e/support/starvation.py). The output shows each second run. With --long all end-to-end tests run alone.
#
#   tests/run.sh                      every stage, as continuous integration does
#   tests/run.sh --quick              while you work: style, the unit tests that were built since the last --quick that
#                                     passed, golden scripts, 300 seeds of the simulation, one job
#   tests/run.sh --only unit,e2e      these stages only
#   tests/run.sh --long               also what takes hours (simulation, every point of a crash, each link 20 times)
#
# Further words after -- go to pytest: tests/run.sh --only e2e -- -k cable
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
stages=(style unit sim e2e faults bench asan fuzz tsan aarch64 quick)
# What each stage is for:
#   style  clang-format; clang-tidy; whether the simulation's planted defects still fit the code; tests/tidy: includes, sizes,
#          purity, documented settings
#   unit   unit, golden and contract tests, release build (without --long, and if asan runs, too, only those that
#          tests/CMakeLists.txt names); whether the programs can be linked fully static
#   sim    the simulation's share for each change
#   e2e    real processes, PyTorch 2.13 and Debian's 1.13, MindSpore 2.10.0, JAX 0.10.2
#   faults real processes in network namespaces under random faults (tests/faults): 2.5 minutes, with --long an hour
#   bench  the benchmark at a small size: whether it runs; its figures do not count
#   asan   unit, golden and contract tests, built by clang (for -Wthread-safety) with AddressSanitizer and
#          UndefinedBehaviorSanitizer; with --long the end-to-end tests as well
#   fuzz   libFuzzer on the code that reads foreign bytes: 2.5 minutes of all targets together, with --long an hour for each
#   tsan   the test programs that link no gRPC (which is not built for it) with ThreadSanitizer (with --long, or
#          by name); with --long the end-to-end tests as well, with suppressions for libraries only
#   quick  what --quick adds to style
#   aarch64  (with --long, or by name) the wheel for aarch64, and a job of its programs in an emulated machine

is_long=0
chosen=()
while (($# > 0)); do
  case $1 in
    --long) is_long=1 ;;
    --quick) chosen=(style quick) ;;
    --only) shift; IFS=, read -ra chosen <<<"${1:-}" ;;
    --only=*) IFS=, read -ra chosen <<<"${1#--only=}" ;;
    --) shift; break ;;
    *) echo "tests/run.sh: unknown option '$1'; known: --long, --quick, --only STAGE[,STAGE…] (${stages[*]}), --" >&2; exit 2 ;;
  esac
  shift
done
pytest_words=("$@")
for stage in "${chosen[@]}"; do
  [[ " ${stages[*]} " == *" $stage "* ]] ||
    { echo "tests/run.sh: unknown stage '$stage'; known: ${stages[*]}" >&2; exit 2; }
done
if ((${#chosen[@]} == 0)); then
  chosen=(style unit sim e2e faults bench asan fuzz)
  if ((is_long)); then chosen+=(tsan aarch64); fi
fi
release_tests=ON  # which tests are compiled without sanitizers, too
if ((!is_long)) && [[ " ${chosen[*]} " == *" asan "* ]]; then release_tests=BOTH; fi

jobs=$(nproc)
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1  # a clone elsewhere finds the cached objects of this one
results=$(mktemp -d -t muster-tests.XXXXXX)
trap 'rm -rf "$results"' EXIT
is_broken=0  # a stage failed and no test's result shows it

# Runs one check of this script's own (a build, a check of the whole tree) and writes a JUnit file: check NAME command…
check() {
  local name=$1 file
  file=$(mktemp -p "$results" check.XXXXXX)
  if "${@:2}"; then
    echo '<testsuite tests="1" failures="0"/>' >"$file.xml"
  else
    echo '<testsuite tests="1" failures="1"/>' >"$file.xml"
    echo "FAILED: $name"
    return 1
  fi
}

quietly() {  # shows its output only when it fails
  local log
  log=$(mktemp -p "$results" log.XXXXXX)
  "$@" >"$log" 2>&1 || { tail -n 60 "$log"; return 1; }
}

build() {  # build FOLDER PRESET [target…]
  local folder=$1 preset=$2 tests=ON
  if [[ $preset == release ]]; then tests=$release_tests; fi
  # A build folder that was configured with another generator is used as it is.
  if [[ -f $folder/CMakeCache.txt ]]; then
    quietly cmake -S . -B "$folder" -DMUSTER_TESTS=$tests || return 1
  else
    quietly cmake --preset "$preset" -DMUSTER_TESTS=$tests || return 1
  fi
  quietly cmake --build "$folder" --parallel "$jobs" ${3:+--target "${@:3}"}
}

run_ctest() {  # run_ctest FOLDER NAME [ctest's words]
  local folder=$1 name=$2 log words failed
  log=$(mktemp -p "$results" ctest.XXXXXX)
  words=(ctest --test-dir "$folder" --output-on-failure --no-tests=error --timeout 600)
  "${words[@]}" --output-junit "$results/$name.xml" "${@:3}" >"$log" 2>&1
  local code=$?
  # A crash, or anything that a sanitizer finds, gets no second run.
  mapfile -t failed < <(grep -aE '^[[:space:]]+[0-9]+ - .* \([^)]*\)$' "$log" | grep -v '(Skipped)$')
  if [[ $name == unit || $name == asan ]] && ((code != 0 && ${#failed[@]} >= 1 && ${#failed[@]} <= 3)) &&
    ! printf '%s\n' "${failed[@]}" | grep -vqE '\((Failed|Timeout)\)$' &&
    ! grep -aqE 'Sanitizer|runtime error:' "$log"; then
    printf 'run again, alone, because others ran beside it: %s\n' "${failed[@]}"
    grep -avE '^ *Start |   Passed  ' "$log" | tail -n 100
    "${words[@]}" --rerun-failed -j 1 --output-junit "$results/again_$name.xml" >"$log" 2>&1
    code=$?
  fi
  if ((code != 0)); then grep -avE '^ *Start |   Passed  ' "$log" | tail -n 200; else grep -E 'tests passed|steps per second|steps/s' "$log" || true; fi
  if [[ ! -s $results/$name.xml ]]; then echo "FAILED: ctest left no result ($name)"; is_broken=1; fi
  return $code
}

run_pytest() {  # run_pytest NAME [pytest's words]
  local name=$1 words code
  words=(/usr/bin/python3 -m pytest tests/e2e -q -rsf --durations=20 --durations-min=5 -o junit_family=legacy
    -p no:cacheprovider "${@:2}" "${pytest_words[@]}")
  export MUSTER_PYTHON=$torch_python MUSTER_MINDSPORE_PYTHON=$mindspore_python MUSTER_JAX_PYTHON=$jax_python
  export MUSTER_OLDER_JAX_PYTHONS=$older_jax_pythons
  export MUSTER_STARVED=$results/starved_$name
  "${runs_under[@]}" "${words[@]}" --junitxml "$results/$name.xml"
  code=$?
  if ((code == 1)) && [[ -s $MUSTER_STARVED ]]; then
    local starved failed
    mapfile -t starved < <(sort -u "$MUSTER_STARVED")
    failed=$(grep -o '<failure\|<error' "$results/$name.xml" | wc -l)
    unset MUSTER_STARVED
    echo "run again, alone, because others ran beside them or the machine left them no processor: ${starved[*]}"
    words=(/usr/bin/python3 -m pytest -q -rsf -o junit_family=legacy -p no:cacheprovider "${starved[@]}")
    if "${runs_under[@]}" "${words[@]}" --junitxml "$results/again_$name.xml" && ((failed == ${#starved[@]})); then
      code=0
    fi
  fi
  if [[ ! -s $results/$name.xml ]]; then echo "FAILED: pytest left no result ($name)"; is_broken=1; fi
  ((code != 5)) || code=0  # the words after -- select none of these tests
  return $code
}

run_e2e() {  # run_e2e NAME [pytest's words]
  if ((is_long)); then run_pytest "$@"; return; fi
  # They mostly wait, so there are more of them than processors side by side; those that measure are fewer.
  local code=0
  run_pytest "$1" -n $((2 * jobs)) --dist loadgroup -m 'not measures and not long' "${@:2}" || code=1
  run_pytest "${1}_measures" -n "$jobs" --dist loadgroup -m 'measures and not long' "${@:2}" || code=1
  return $code
}

prepare_torch() {
  torch_python=$(bash tests/e2e/venv.sh torch) || {
    torch_python=
    echo "The tests go on with Debian's PyTorch only."
  }
}
prepare_mindspore() {
  if mindspore_python=$(bash tests/e2e/venv.sh mindspore); then
    echo "The real MindSpore runs in these tests: $("$mindspore_python" -c 'import mindspore; print(mindspore.__version__)' 2>/dev/null)"
  else
    mindspore_python=
    echo "The real MindSpore does NOT run in these tests; the reference client replaces it."
  fi
}
prepare_jax() {
  jax_python=$(bash tests/e2e/venv.sh jax) || {
    jax_python=
    echo "The real JAX does NOT run in these tests."
  }
  ((is_long)) || return 0
  local version python
  for version in 0.4.38 0.6.2 0.9.2; do  # the oldest version that is supported, and the last one before each change of the protocol
    if python=$(bash tests/e2e/venv.sh jax $version); then older_jax_pythons+=${older_jax_pythons:+:}$python; fi
  done
}
torch_python=
mindspore_python=
jax_python=
older_jax_pythons=  # separated by colons
runs_under=()  # a wrapper for the end-to-end tests

defects_fit() {
  local patch code=0
  for patch in tests/sim/defects/*.patch; do patch --dry-run --silent -p1 -F2 <"$patch" || { echo "$patch"; code=1; }; done
  return $code
}

stage_style() {
  local files code=0
  mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.cc' '*.h' | xargs -r ls -d 2>/dev/null)
  check "clang-format" clang-format-14 --dry-run -Werror "${files[@]}" || code=1
  check "the simulation's planted defects fit the code" quietly defects_fit || code=1
  check "includes, sizes, purity, documents" quietly /usr/bin/python3 tests/tidy/tidy.py || code=1
  check "plain words in comments, messages and documents" quietly /usr/bin/python3 tests/tidy/prose.py --check || code=1
  check "the documents' site" site_builds || code=1
  check "the checks find planted violations" quietly /usr/bin/python3 tests/tidy/tidy_test.py || code=1
  check "clang-tidy" quietly tidied || code=1
  return $code
}

site_builds() {
  quietly bash deploy/docs.sh
  local code=$?
  if ((code == 77)); then echo "The documents' site is NOT built: MkDocs could not be installed."; return 0; fi
  return $code
}

tidied() { cmake --preset asan -DMUSTER_TESTS=ON && /usr/bin/python3 tests/tidy/clang_tidy.py build-asan; }

plain_build() {
  cmake -S . -B build-plain -G Ninja -DCMAKE_BUILD_TYPE=Release -DMUSTER_UNITY=OFF -DMUSTER_TESTS=ON &&
    cmake --build build-plain --parallel "$jobs"
}

stage_unit() {
  check "release build" build build release || return 1
  local code=0
  if ((is_long)); then check "a build of one source at a time" quietly plain_build || code=1; fi
  run_ctest build unit -j $((2 * jobs)) -LE 'sim|long' || code=1  # they mostly wait
  check "the programs, linked fully static" quietly bash deploy/wheel/static_link.sh build || code=1
  check "the fault campaign's checks" quietly /usr/bin/python3 -m pytest tests/faults -q -p no:cacheprovider || code=1
  return $code
}

stage_quick() {
  check "release build" build build release || return 1
  local code=0 program programs=(golden_test) passed=build/quick-passed
  for program in build/bin/*_test; do
    if [[ ! -e $passed || $program -nt $passed ]]; then programs+=("${program##*/}"); fi
  done
  echo "programs: ${programs[*]}"
  run_ctest build quick -j $((2 * jobs)) -LE 'sim|long' -R "^($(IFS='|' && echo "${programs[*]}"))\\." || code=1
  check "300 seeds of the simulation" quietly build/bin/muster_sim --seeds 300 || code=1
  check "one job" quietly env MUSTER_BIN="$root/build/bin" /usr/bin/python3 -m pytest tests/e2e/jobs/test_jobs.py -q \
    -p no:cacheprovider -k test_two_jobs_at_once || code=1
  ((code != 0)) || touch "$passed"
  return $code
}

stage_sim() {
  check "release build" build build release || return 1
  if ((is_long)); then run_ctest build sim --timeout 10800 -L 'sim|long'; else run_ctest build sim -L sim -LE long; fi
}

stage_e2e() {
  check "release build" build build release || return 1
  check "the load" quietly cmake --build build --parallel "$jobs" --target muster_load || return 1
  build_asan_ahead
  prepare_torch
  prepare_mindspore
  prepare_jax
  local code=0 over_tls='(test_recovery or test_jobs or test_quick_job or test_quiet or test_kills)'
  if ((is_long)); then
    local -x MUSTER_LONG=1  # only here: it would take days with sanitizers
  else
    over_tls+=' and not (torch-2.13 or checkpoint or spare)'
  fi
  MUSTER_BIN=$root/build/bin run_e2e e2e || code=1
  # Runs the tests of a job and its recovery again, over mutual TLS.
  MUSTER_BIN=$root/build/bin MUSTER_E2E_TLS=1 run_e2e e2e_tls \
    -k "$over_tls" || code=1
  return $code
}

stage_faults() {
  check "release build" build build release ms-scheduler ms-worker ms-ctl || return 1
  local seconds=150
  if ((is_long)); then seconds=3600; fi
  MUSTER_BIN=$root/build/bin /usr/bin/python3 tests/faults/run.py --seconds "$seconds"
  local code=$?
  if ((code == 77)); then
    echo '<testsuite><testcase name="faults"><skipped/></testcase></testsuite>' >"$results/faults.xml"
    return 0
  fi
  check "the fault campaign" test "$code" = 0
}

stage_bench() {
  local code=0
  check "benchmark at a small size" quietly bash bench/run.sh --smoke || code=1
  check "the comparison with the targets" quietly /usr/bin/python3 -m pytest bench -q -p no:cacheprovider || code=1
  return $code
}

# The end-to-end tests mostly wait: the next stage builds on the processor time that they leave, and only on that.
build_asan_ahead() {
  [[ " ${chosen[*]} " == *" asan "* ]] || return 0
  { cmake --preset asan -DMUSTER_TESTS=ON && chrt --idle 0 cmake --build build-asan --parallel "$jobs"; } \
    >"$results/asan_ahead.log" 2>&1 </dev/null &
  asan_ahead=$!
}
asan_ahead=

stage_asan() {
  [[ -z $asan_ahead ]] || wait "$asan_ahead"  # if it failed, the next line shows how
  check "asan build" build build-asan asan || return 1
  export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
  run_ctest build-asan asan -j $((jobs + 1)) -LE 'sim|long'
  local code=$?
  if ((is_long)); then
    prepare_torch
    MUSTER_BIN=$root/build-asan/bin MUSTER_SLOWNESS=4 run_pytest asan_e2e -k 'not torch-1.13' || code=1
  fi
  unset ASAN_OPTIONS UBSAN_OPTIONS
  return $code
}

# Checks that the script runs and makes the seeds of the tree. (A journal file's bytes depend on SQLite's version.)
corpora_fit() {
  local made=$results/corpora seed code=0
  /usr/bin/python3 tests/fuzz/make_message_corpus.py "$made" || return 1
  for seed in "$made"/*/*; do
    [[ $seed == */journal_file/* ]] || cmp "$seed" "tests/fuzz/corpus/${seed#"$made"/}" || code=1
  done
  return $code
}

stage_fuzz() {
  local targets=() source target seconds corpus running=0 code=0
  for source in tests/fuzz/corpus/*/; do targets+=("$(basename "$source")"); done
  check "the script that makes corpora" quietly corpora_fit || code=1
  check "fuzz build" build build-asan asan "${targets[@]/#/fuzz_}" || return 1
  if ((is_long)); then seconds=3600; else seconds=$((150 / ${#targets[@]})); fi
  for target in "${targets[@]}"; do
    if ((running == jobs)); then
      wait -n || code=1
      ((--running))
    fi
    corpus=$(mktemp -d -p "$results")  # new inputs go here, not into the tree
    check "fuzz_$target" quietly "build-asan/bin/fuzz_$target" -max_total_time=$seconds -timeout=20 -rss_limit_mb=2048 \
      -max_len=16384 -artifact_prefix="$root/build-asan/$target-" "$corpus" "tests/fuzz/corpus/$target" &
    ((++running))
  done
  for ((; running > 0; --running)); do wait -n || code=1; done
  return $code
}

stage_aarch64() {
  local code=0 program
  local programs=(scheduler_core_test agent_core_test store_core_test)
  check "the cross compiler" quietly bash deploy/install-deps.sh --cross --machine || return 1
  check "the libraries" quietly bash deploy/cross/sysroot.sh arm64 build-aarch64/sysroot || return 1
  check "aarch64 build" build build-aarch64 aarch64 ms-scheduler ms-worker ms-ctl ms-ring ms-exec "${programs[@]}" || return 1
  for program in "${programs[@]}"; do
    check "$program on aarch64" quietly qemu-aarch64-static -L build-aarch64/sysroot "build-aarch64/bin/$program" \
      --gtest_output="xml:$results/aarch64_$program.xml" || code=1
  done
  check "a release for aarch64" quietly bash deploy/release.sh --build build-aarch64 --processor aarch64 \
    --into build-aarch64/dist || code=1
  rm -rf build-aarch64/wheel
  check "its wheel" quietly /usr/bin/python3 -m zipfile -e build-aarch64/dist/*.whl build-aarch64/wheel || code=1
  check "a job on a machine with aarch64" quietly bash tests/aarch64/run.sh build-aarch64/wheel/*.data/scripts || code=1
  return $code
}

stage_tsan() {
  local programs
  quietly cmake --preset tsan -DMUSTER_TESTS=ON || { check "tsan build" false; return 1; }
  mapfile -t programs < <(bash tests/without_grpc.sh build-tsan)
  if ((${#programs[@]} == 0)); then check "test programs without gRPC" false; return 1; fi
  echo "programs: ${programs[*]##*/}"
  check "tsan build" build build-tsan tsan "${programs[@]}" || return 1
  local program code=0
  for program in "${programs[@]}"; do
    # ThreadSanitizer of gcc 12 can't place its shadow memory where address randomisation is strong.
    TSAN_OPTIONS=halt_on_error=0:exitcode=66 check "$program" quietly setarch -R "build-tsan/$program" \
      --gtest_output="xml:$results/tsan_${program##*/}.xml" || code=1  # (a race alone fails no test)
    if [[ ! -s $results/tsan_${program##*/}.xml ]]; then check "results of $program" false || code=1; fi
  done
  if ((is_long)); then tsan_e2e || code=1; fi
  return $code
}

tsan_e2e() {
  local reports=$results/race code=0
  check "tsan build of the programs" build build-tsan tsan ms-scheduler ms-worker ms-ctl ms-ring large_journal || return 1
  prepare_torch
  runs_under=(setarch -R)
  TSAN_OPTIONS="suppressions=$root/tests/tsan.supp halt_on_error=0 exitcode=0 log_path=$reports" \
    MUSTER_BIN=$root/build-tsan/bin MUSTER_SLOWNESS=6 run_pytest tsan_e2e -k 'not torch-1.13' || code=1
  runs_under=()
  check "no data race in the end-to-end tests" no_file_of "$reports" || code=1
  return $code
}

no_file_of() {
  local files=("$1".*)
  [[ -e ${files[0]} ]] || return 0
  head -n 100 "${files[@]}"
  return 1
}

quietly bash deploy/install-deps.sh --tests || { echo "FAILED: the packages could not be installed"; exit 1; }
begin=$SECONDS
for stage in "${chosen[@]}"; do
  printf '\n== %s\n' "$stage"
  stage_begin=$SECONDS
  if "stage_$stage"; then word=ok; else word=FAILED; fi
  printf '== %s: %s, %d s\n' "$stage" "$word" $((SECONDS - stage_begin))
done

printf '\n%d s in all\n' $((SECONDS - begin))
/usr/bin/python3 tests/total.py "$results" && ((is_broken == 0))
