#!/usr/bin/env bash
# Packs predgen, its CUDA tests and what measures it into one folder, for a machine that has a GPU and a Python with
# torch but no compiler: there, FOLDER/first.sh tries all of it in nine minutes (FOLDER/first.sh --help).
#
#   scripts/gpu_bundle.sh [--build DIR] [--before DIR] [--output DIR] [--archive]
#
#   --build DIR    a finished build with tests and CUDA (default: build)
#   --before DIR   such a build of an earlier commit, whose passes first.sh times beside today's
#   --output DIR   default: build/gpu_bundle; replaced if a bundle is there
#   --archive      also DIR.tar.gz, half the size
#
# The programs need the torch that they were compiled against. They have code for the GPUs that the build was made
# for (PREDGEN_CUDA_ARCHITECTURES). A third of the bundle are the libraries of Parquet (PREDGEN_PARQUET=OFF).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
die() { echo "gpu_bundle: $*" >&2; exit 2; }

build=build before='' output=build/gpu_bundle archive=0
while [ $# -gt 0 ]; do
  case $1 in
    --build | --before | --output)
      [ -n "${2:-}" ] || die "$1 needs a folder"
      declare "${1#--}=${2%/}"
      shift
      ;;
    --archive) archive=1 ;;
    -h | --help) sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die "unknown option $1; try --help" ;;
  esac
  shift
done
[ ! -e "$output" ] || [ -e "$output/made_for" ] || die "$output is there and no bundle: give another --output"
for program in predgen cuda_test libpredgen_cuda.so; do
  [ -e "$build/$program" ] || die "no $build/$program: scripts/build.sh --all --with-tests --gpu makes it in build"
done
python=$(sed -n 's/^PREDGEN_PYTHON:[A-Z]*=//p' "$build/CMakeCache.txt")
[ -n "$python" ] || die "$build was made with a LibTorch folder: make a build with the torch of PyPI"
torch=$("$python" -c 'import os, torch; print(os.path.dirname(torch.__file__))')

rm -rf "$output"
mkdir -p "$output"/{bin,lib,share/checkpoints,share/data,python/cli,python/voice/zonos}
: >"$output/made_for"  # marks a bundle, so that the next run replaces it if this one fails
programs=(predgen cuda_test libpredgen_cuda.so)
[ ! -e "$build/predgen-espeak" ] || programs+=(predgen-espeak)
for program in "${programs[@]}"; do
  strip -o "$output/bin/$program" "$build/$program"
done
made=("${programs[@]/#/$build/}")
if [ -n "$before" ]; then
  mkdir "$output/before"
  for program in predgen libpredgen_cuda.so; do
    [ -e "$before/$program" ] || die "no $before/$program"
    strip -o "$output/before/$program" "$before/$program"
    made+=("$before/$program")
  done
fi

# What the programs load, except torch, CUDA, glibc and the compiler's libraries, which the target has.
for program in "${made[@]}"; do ldd "$program"; done | awk '$2 == "=>" {print $1, $3}' | sort -u |
  while read -r name path; do
    [ "$path" != not ] || die "$name is not found"
    case $path in "$torch"/* | */nvidia/*) continue ;; esac
    case $name in
      ld-linux* | libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | libutil.so.* | libresolv.so.* | \
        libstdc++.so.* | libgcc_s.so.* | libgomp.so.* | libcuda.so.*) continue ;;
    esac
    cp -L "$path" "$output/lib/$name"
  done
strip --strip-unneeded "$output"/lib/* 2>/dev/null || true  # some are stripped already

if [ -e "$build/predgen-espeak" ]; then  # espeak-ng with English only
  data=$(dirname "$(ldd "$build/predgen-espeak" | awk '/libespeak-ng/ {print $3}')")/espeak-ng-data
  [ -d "$data" ] || data=/usr/share/espeak-ng-data
  mkdir "$output/share/espeak-ng-data"
  cp -r "$data"/phon* "$data"/intonations "$data"/en_dict "$data"/lang "$data"/voices "$output/share/espeak-ng-data"
fi
cp -r checkpoints/demo "$output/share/checkpoints"
cp -r configs "$output/share"
cp -r data/samples "$output/share/data"
cp tests/cli/tiny_zonos.py "$output/python/cli"
cp tests/voice/zonos/zonos_models.py "$output/python/voice/zonos"
cp scripts/{random_model,gpu_first,gpu_trials}.py "$output/python"
cat >"$output/first.sh" <<'SH'
#!/bin/sh
exec "${PREDGEN_PYTHON:-python3}" "$(dirname "$0")/python/gpu_first.py" "$@"
SH
chmod +x "$output/first.sh"
version=$("$python" -c 'import torch; print(torch.__version__.split("+")[0])')
commit=$(git describe --always --dirty 2>/dev/null || echo unknown)
printf 'torch=%s\ncommit=%s\n' "$version" "$commit" >"$output/made_for"

echo "gpu_bundle: made $output, $(du -sm --apparent-size "$output" | cut -f1) MiB; on the GPU machine: $output/first.sh"
[ "$archive" = 0 ] || tar -czf "$output.tar.gz" -C "$(dirname "$output")" "$(basename "$output")"
