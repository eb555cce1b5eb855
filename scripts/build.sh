#!/usr/bin/env bash
# Sets up and builds. Makes build/predgen, and build/predgen-espeak and build/predgen-ears, which it starts.
#
#   scripts/build.sh [--gpu] [--all] [options of setup.sh]
#
#   --gpu   the CUDA code too (build/libpredgen_cuda.so), as happens by itself where NVIDIA's driver is installed
#   --all   that and the tests
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

wants_gpu=0 wants_all=0
setup_options=() options=()
for argument in "$@"; do
  case $argument in
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --gpu) wants_gpu=1 ;;
    --all) wants_all=1 ;;
    *) setup_options+=("$argument") ;;
  esac
done

PREDGEN_PYTHON=$(scripts/setup.sh "${setup_options[@]}")
libtorch='' cuda=''
# shellcheck source=/dev/null
[ ! -f build/setup-options ] || source build/setup-options
# Another machine lacks what this shell adds to every compiler's search paths.
unset CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH
export PREDGEN_PYTHON PREDGEN_LIBTORCH=$libtorch PREDGEN_CUDA=$cuda PYTHONNOUSERSITE=1

# A LibTorch source takes up to 1.5 GB to compile.
jobs=$(nproc)
memory=$(awk '/^MemAvailable/ {print int($2 / 1500000)}' /proc/meminfo)
[ "$jobs" -le "$memory" ] || jobs=$((memory > 0 ? memory : 1))

# Warnings are errors with the compiler that CI uses; another one may know more of them.
[ "$("${CXX:-c++}" -dumpversion)" = 12 ] || options=(-DPREDGEN_WERROR=OFF)

targets=(--target predgen_programs)
if [ $wants_gpu = 1 ] || /sbin/ldconfig -p 2>/dev/null | grep 'libcuda\.so\.1' >/dev/null; then
  targets=(--target predgen_gpu)
fi
[ $wants_all = 0 ] || targets=()
cmake --preset release "${options[@]}"
cmake --build --preset release --parallel "$jobs" "${targets[@]}"
module=build/libpredgen_cuda.so
if [ $wants_gpu = 1 ] && [ ! -e $module ]; then
  echo "build: no $module, because this LibTorch is for CPUs: choose one for CUDA with --libtorch" >&2
  exit 2
fi
without=''
[ -e $module ] || without=", without CUDA code (--gpu compiles it, too)"
echo "build: made $root/build/predgen$without"
