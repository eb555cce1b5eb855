#!/usr/bin/env bash
# Sets up and builds. Makes build/predgen, and build/predgen-espeak and build/predgen-ears, which it starts.
#
#   scripts/build.sh [--gpu] [--all] [options of setup.sh]
#
#   --gpu   the CUDA code, too (build/libpredgen_cuda.so), and what it needs, as happens by itself where NVIDIA's
#           driver is installed
#   --all   that and the tests
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

wants_gpu=0 wants_all=0
setup_options=() options=()
for argument in "$@"; do
  case $argument in
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --gpu) wants_gpu=1 ;;
    --all) wants_all=1 ;;
    *) setup_options+=("$argument") ;;
  esac
done

if /sbin/ldconfig -p 2>/dev/null | grep 'libcuda\.so\.1' >/dev/null; then has_gpu=1; else has_gpu=$wants_gpu; fi
[ $has_gpu = 0 ] || setup_options+=(--gpu)
export PREDGEN_PARTS=${PREDGEN_PARTS:-4}
PREDGEN_PYTHON=$(scripts/setup.sh "${setup_options[@]}")
libtorch='' cuda=''
# shellcheck source=/dev/null
[ ! -f build/setup-options ] || source build/setup-options
# Another machine lacks what this shell adds to every compiler's search paths.
unset CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH
export PREDGEN_PYTHON PREDGEN_LIBTORCH=$libtorch PREDGEN_CUDA=$cuda PYTHONNOUSERSITE=1

# A LibTorch source takes up to 1.5 GB to compile.
jobs=$(env -u OMP_NUM_THREADS nproc)  # which that variable, meant for LibTorch, would bound
memory=$(awk '/^MemAvailable/ {print int($2 / 1500000)}' /proc/meminfo)
[ "$jobs" -le "$memory" ] || jobs=$((memory > 0 ? memory : 1))

# Warnings are errors with the compiler that CI uses; another one may know more of them.
[ "$("${CXX:-c++}" -dumpversion)" = 12 ] || options=(-DPREDGEN_WERROR=OFF)

targets=(--target predgen_programs)
[ $has_gpu = 0 ] || targets=(--target predgen_gpu)
[ $wants_all = 0 ] || targets=()

part="build: [4/$PREDGEN_PARTS] compiling"
SECONDS=0
cmake --preset release --log-level=WARNING "${options[@]}" >/dev/null
compile=(cmake --build --preset release --parallel "$jobs" "${targets[@]}")
if [ -t 1 ]; then
  "${compile[@]}"
else  # one line for each tenth, where nobody watches
  "${compile[@]}" | awk -v part="$part" '
    /^ninja: no work to do/ || /^-- / {next}
    match($0, /^\[[0-9]+\/[0-9]+\] /) {
      split(substr($0, 2, RLENGTH - 3), count, "/")
      tenth = int(10 * count[1] / count[2])
      if (count[2] > 10 && tenth > last) {printf "%s: %d of %d\n", part, count[1], count[2]; fflush()}
      last = tenth
      next
    }
    {print; fflush()}'
fi
echo "$part .. $SECONDS s"
module=build/libpredgen_cuda.so
if [ $wants_gpu = 1 ] && [ ! -e $module ]; then
  echo "build: no $module, because this LibTorch is for CPUs: choose one for CUDA with --libtorch" >&2
  exit 2
fi
without=''
[ -e $module ] || without=", without CUDA code (--gpu compiles it, too)"
echo "build: made $root/build/predgen$without"
