#!/usr/bin/env bash
# Fuzzes the readers of model files and the ports of predgen serve with libFuzzer, AddressSanitizer and
# UndefinedBehaviorSanitizer.
#
#   scripts/fuzz.sh [seconds for each target, default 600] [target..]
#
# Builds build-fuzz/predgen_fuzz with clang++-14 (Debian: clang-14 libclang-rt-14-dev); exits with 77
# if that is missing. Targets are the folders of tests/fuzz/seeds; inputs that reach new code stay in
# build-fuzz/corpus. A finding (crash, leak, more than 60 seconds or 2 GB, an exception that is not
# UserError) stops its target and is left in build-fuzz/findings: fix it and keep the input in
# tests/fuzz/seeds, which the test `fuzz` reads in every build.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
case ${1:-} in
  -h | --help) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
esac
seconds=${1:-600}
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(ls tests/fuzz/seeds)

if ! clang++-14 -fsanitize=fuzzer -x c++ - -o /dev/null 2>/dev/null \
  <<<'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }'; then
  echo "fuzz: skipped, there is no clang++-14 with libFuzzer; apt-get install clang-14 libclang-rt-14-dev" >&2
  exit 77
fi

python=${PREDGEN_PYTHON:-$(scripts/setup.sh)}
cmake -G Ninja -B build-fuzz -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
  -DCMAKE_C_COMPILER=clang-14 -DCMAKE_CXX_COMPILER=clang++-14 -DPREDGEN_PYTHON="$python" -DPREDGEN_FUZZ=ON -DPREDGEN_TESTS=OFF \
  -DPREDGEN_ESPEAK=OFF -DPREDGEN_PARQUET=OFF -DPREDGEN_SPEECH=OFF -DPREDGEN_SANITIZE=fuzzer-no-link,address,undefined
cmake --build build-fuzz --target predgen_fuzz --parallel "$(nproc)"

export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 SOURCE_DATE_EPOCH=0 OMP_NUM_THREADS=1
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
mkdir -p build-fuzz/findings
failed=()
for target in "${targets[@]}"; do
  corpus=build-fuzz/corpus/$target
  mkdir -p "$corpus"
  dictionary=tests/fuzz/json.dict
  case $target in
    chat_template) dictionary=tests/fuzz/jinja.dict ;;
    gguf) dictionary=tests/fuzz/gguf.dict ;;
    access | http | web_socket) dictionary=tests/fuzz/http.dict ;;
    realtime | request | transcripts | wyoming) dictionary=tests/fuzz/serve.dict ;;
  esac
  echo "fuzz: $target for $seconds s"
  PREDGEN_FUZZ_TARGET=$target build-fuzz/predgen_fuzz "$corpus" "tests/fuzz/seeds/$target" \
    -max_total_time="$seconds" -max_len=16384 -timeout=60 -rss_limit_mb=2048 -dict="$dictionary" \
    -artifact_prefix="build-fuzz/findings/$target-" -print_final_stats=1 -verbosity=0 \
    >"build-fuzz/$target.log" 2>&1 || failed+=("$target")
  grep -E "number_of_executed_units|peak_rss|SUMMARY" "build-fuzz/$target.log" || true
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "fuzz: findings in: ${failed[*]} (build-fuzz/findings/, build-fuzz/<target>.log)" >&2
  exit 1
fi
echo "fuzz: no findings"
