#!/usr/bin/env bash
# Packs predgen, its CUDA tests and its benchmarks into one folder, for a machine that has only a GPU and
# a Python with torch: there, `DIR/run.sh` runs all of it (DIR/run.sh --help).
#
#   scripts/gpu_bundle.sh [--output DIR] [--archive] [options of setup.sh]
#
#   --output DIR   default: build/gpu_bundle; replaced if a bundle is there
#   --archive      also DIR.tar.gz, which is half the size
#
# The programs need the torch version they were compiled against. Its CUDA may differ (not tried), as they and
# libpredgen_cuda.so beside them name no CUDA library themselves, if the driver is new enough for the one that
# compiled their kernels. They are built in build-gpu, without Parquet, whose library would be most of the
# bundle.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
die() { echo "gpu_bundle: $*" >&2; exit 2; }

output=build/gpu_bundle archive=0
setup_options=()
while [ $# -gt 0 ]; do
  case $1 in
    --output) [ $# -ge 2 ] || die "--output needs a folder"; output=${2%/}; shift ;;
    --archive) archive=1 ;;
    -h | --help) sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) setup_options+=("$1") ;;
  esac
  shift
done
[ -n "$output" ] || die "--output needs a folder"
if [ -e "$output" ] && [ ! -e "$output/made_for" ]; then
  die "$output is there and no bundle: give another --output"
fi

python=${PREDGEN_PYTHON:-$(scripts/setup.sh --gpu "${setup_options[@]}")}
libtorch='' cuda=''
# shellcheck source=/dev/null
[ ! -f build/setup-options ] || source build/setup-options
programs=(predgen predgen-espeak cuda_test predgen_load_bench libpredgen_cuda.so)
cmake -G Ninja -B build-gpu -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
  -DPREDGEN_PYTHON="$python" -DPREDGEN_LIBTORCH="$libtorch" -DPREDGEN_CUDA="$cuda" -DPREDGEN_PARQUET=OFF -DPREDGEN_SPEECH=OFF \
  -DPREDGEN_CUDA_ARCHITECTURES=all
for source in captured_graph_cuda.cpp gpu_kernels_cuda.cu nccl_backend_cuda.cpp; do
  grep -q "$source" build-gpu/build.ninja ||
    die "no $source in this build (see what cmake says above), which a bundle is there to test"
done
cmake --build build-gpu --parallel "${PREDGEN_JOBS:-$(nproc)}" --target "${programs[@]}"

rm -rf "$output"
mkdir -p "$output/bin" "$output/lib" "$output/share/checkpoints" "$output/share/data" "$output/python/cli" \
  "$output/python/voice/zonos"
: >"$output/made_for"  # marks a bundle, so that the next run replaces it if this one fails
for program in "${programs[@]}"; do
  strip -o "$output/bin/$program" "build-gpu/$program"
done

# What the programs load, except torch, CUDA, glibc and the compiler's libraries, which the target has.
torch_dir=$libtorch
[ -n "$torch_dir" ] || torch_dir=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch
for program in "${programs[@]}"; do
  ldd "build-gpu/$program"
done | awk '$2 == "=>" {print $1, $3}' | sort -u |
  while read -r name path; do
    [ "$path" != not ] || die "$name is not found"
    case $path in "$torch_dir"/* | */site-packages/* | */nvidia/*) continue ;; esac
    case $name in
      ld-linux* | libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | libutil.so.* | \
        libresolv.so.* | libstdc++.so.* | libgcc_s.so.* | libgomp.so.* | libcuda.so.*) continue ;;
    esac
    cp -L "$path" "$output/lib/$name"
  done
strip --strip-unneeded "$output"/lib/*

# espeak-ng with English only.
data=$(dirname "$(ldd build-gpu/predgen-espeak | awk '/libespeak-ng/ {print $3}')")/espeak-ng-data
[ -d "$data" ] || data=/usr/share/espeak-ng-data
mkdir "$output/share/espeak-ng-data"
cp -r "$data"/phon* "$data"/intonations "$data"/en_dict "$data"/lang "$data"/voices \
  "$output/share/espeak-ng-data"

cp -r checkpoints/demo "$output/share/checkpoints"
cp -r configs "$output/share"
cp -r data/samples "$output/share/data"
cp tests/cli/tiny_zonos.py "$output/python/cli"
cp tests/voice/zonos/zonos_models.py "$output/python/voice/zonos"
cp scripts/random_model.py scripts/gpu_train.py "$output/python"
cp scripts/gpu_run.sh "$output/run.sh"
"$python" - "$output/made_for" "$torch_dir" <<'PYTHON'
import platform
import runpy
import sys

version = runpy.run_path(f"{sys.argv[2]}/version.py")
with open(sys.argv[1], "w") as file:
    file.write(f"torch={version['__version__'].split('+')[0]}\ncuda={version['cuda']}\n"
               f"glibc={platform.libc_ver()[1]}\n")
PYTHON
echo "commit=$(git describe --always --dirty 2>/dev/null || echo unknown)" >>"$output/made_for"

size=$(du -sm --apparent-size "$output" | cut -f1)
echo "gpu_bundle: made $output, $size MiB; on the GPU machine: $(basename "$output")/run.sh"
[ "$archive" = 0 ] || tar -czf "$output.tar.gz" -C "$(dirname "$output")" "$(basename "$output")"
[ "$size" -le 60 ] || die "$output has $size MiB, more than 60"
