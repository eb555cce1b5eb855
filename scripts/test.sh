#!/usr/bin/env bash
# Sets up, builds and runs the tests. Arguments go to ctest, for example: scripts/test.sh -R runtime
#
#   --slow   also those labelled slow, as before a release
#
# Ends with what was skipped, the slowest tests, and where the time went.
#
# Some tests (label shared) also read reference data that is not part of the repository, if it is in
# $PREDGEN_SHARED, by default ../shared beside the repository. What is skipped without it is named; with CI=true its
# absence is a failure.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

preset=release
if [ "${1:-}" = --slow ]; then
  preset=slow
  shift
fi

export PREDGEN_SHARED=${PREDGEN_SHARED:-$root/../shared}
if [ ! -d "$PREDGEN_SHARED" ]; then
  if [ "${CI:-}" = true ]; then
    echo "test: no reference data in $PREDGEN_SHARED, and CI=true; set PREDGEN_SHARED" >&2
    exit 2
  fi
  echo "test: no reference data in $PREDGEN_SHARED: what needs it is skipped" >&2
else
  PREDGEN_SHARED=$(cd "$PREDGEN_SHARED" && pwd)
fi
export PREDGEN_DATA=${PREDGEN_DATA:-$PREDGEN_SHARED/data}

build_began=$(date +%s)
scripts/build.sh --all --with-tests
build_ended=$(date +%s)
python=$(scripts/setup.sh --with-tests)

results=build/test-results
rm -rf "$results"
mkdir -p "$results"
# One thread for each test: faster, and the same numbers everywhere. One test more than processors, because some wait.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
status=0
GTEST_OUTPUT=json:$root/$results/ ctest --preset $preset --parallel $(($(nproc) + 1)) \
  --test-output-size-passed 100000 --output-junit "$root/$results/ctest.xml" "$@" 2>&1 | tee "$results/ctest.log" || status=$?

"$python" scripts/summarize_tests.py build "$build_began" "$build_ended"
echo
sed -n '/tests passed, .* tests failed out of/,$p' "$results/ctest.log"
exit "$status"
