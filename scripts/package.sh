#!/usr/bin/env bash
# Makes what users download, in dist/, from the last commit:
#
#   predgen-VERSION-linux-x86_64.tar.zst       a folder that runs from anywhere, with all that a CPU needs
#   predgen_VERSION_amd64.deb                  the same for Debian 12 and later, and Ubuntu 24.04
#   predgen-cuda-VERSION-linux-x86_64.tar.zst  the additions for a GPU
#   predgen-VERSION.spdx.json                  what is inside, with versions and licences
#   SHA256SUMS                                 of these, and SOURCES: the commit, and the hash of its files
#
#   scripts/package.sh [--build DIR] [options of setup.sh]
#   scripts/package.sh --check [--against OTHER]
#
#   --build DIR  for a test: use the finished build in DIR (build, say) instead of compiling in build-package, and
#                compress quickly; the packages then contain its paths, and support the GPUs that it was made for
#   --check      unpack what is in dist/, and check its limits: sizes, libraries, start times, a CPU with AVX2 only; and with
#                --against that OTHER, the dist/ of another build of this commit, has the same bytes
#
# The same commit gives the same bytes on a Debian 12 with the same packages. Needs patchelf and zstd.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
die() { echo "package: $*" >&2; exit 2; }

build='' setup_options=()
while [ $# -gt 0 ]; do
  case $1 in
    --build) [ $# -ge 2 ] || die "--build needs a folder"; build=$2; shift ;;
    --check) shift; exec python3 scripts/check_package.py dist "$@" ;;
    -h | --help) sed -n '2,19s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) setup_options+=("$1") ;;
  esac
  shift
done
for tool in patchelf zstd dpkg-deb readelf; do
  command -v "$tool" >/dev/null || die "needs $tool: apt-get install patchelf zstd dpkg binutils"
done
[ "$(uname -m)" = x86_64 ] || die "makes packages for x86_64 only"
[ -z "$(git status --porcelain --untracked-files=no)" ] || die "commit your changes first: packages are of a commit"
version=$(sed -n 's/^project(predgen VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8
umask 022

# 1. The programs.
python=${PREDGEN_PYTHON:-$(scripts/setup.sh --gpu "${setup_options[@]}")}
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
options=(-DPREDGEN_INSTALL_LIBTORCH=CPU) level=6
if [ -z "$build" ]; then
  build=build-package level=19
  unset CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH
  options+=(-G Ninja "-DPREDGEN_PYTHON=$python" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG"
    "-DCMAKE_CXX_FLAGS=-ffile-prefix-map=$root/= -ffile-prefix-map=$site/=" -DPREDGEN_CUDA_ARCHITECTURES=all
    -DPREDGEN_ONNXRUNTIME=libonnxruntime.so -DPREDGEN_TESTS=OFF -DPREDGEN_BENCH=OFF)
fi
cmake -B "$build" "${options[@]}" >/dev/null
cmake --build "$build" --parallel "${PREDGEN_JOBS:-$(nproc)}" --target predgen_gpu

# 2. One tree, from which all packages are made.
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
name=predgen-$version-linux-x86_64
tree=$stage/$name
cmake --install "$build" --prefix "$tree" --component Unspecified --strip >/dev/null
cuda=$stage/predgen-cuda-$version-linux-x86_64
mkdir "$cuda"
[ ! -e "$tree/libexec/predgen/libpredgen_cuda.so" ] || mv "$tree/libexec/predgen/libpredgen_cuda.so" "$cuda"
"$python" scripts/bundle_libraries.py "$tree" "$site" "$stage/contents.json"
"$python" scripts/help_pages.py "$tree" "$tree/bin/predgen"

dist=$root/dist
rm -rf "$dist"
mkdir "$dist"
sources=$(git archive --format=tar HEAD | sha256sum | cut -d' ' -f1)
printf 'commit  %s\nsha256  %s  of: git archive --format=tar %s\n' "$(git rev-parse HEAD)" "$sources" "$(git rev-parse HEAD)" >"$dist/SOURCES"
"$python" scripts/spdx_list.py "$stage/contents.json" "$version" "$sources" "$SOURCE_DATE_EPOCH" >"$dist/predgen-$version.spdx.json"
cp "$dist/predgen-$version.spdx.json" "$tree/share/doc/predgen/contents.spdx.json"
cp "$dist/SOURCES" "$tree/share/doc/predgen/SOURCES"

pack() {  # pack FOLDER: $dist/<its name>.tar.zst
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --mode=u+rw,go=rX,a-s \
    --format=gnu -C "$stage" -cf - "$(basename "$1")" | zstd -q -$level --long=27 -T0 -o "$dist/$(basename "$1").tar.zst"
}
pack "$tree"

# 3. The additions for a GPU.
torch=$("$python" -c 'import runpy, sys; version = runpy.run_path(sys.argv[1]); print(version["__version__"].split("+")[0], version["cuda"])' "$site/torch/version.py")
if [ -e "$cuda/libpredgen_cuda.so" ]; then
  sed -e "s/@version@/$version/g" -e "s/@torch@/${torch% *}/g" -e "s/@cuda@/${torch#* }/g" \
    scripts/package/cuda_readme.txt >"$cuda/README.txt"
  cp LICENSE "$cuda"
  pack "$cuda"
fi

# 4. The Debian package.
scripts/package/make_deb.sh "$tree" "$version" $level "$dist/predgen_${version}_amd64.deb"

(cd "$dist" && sha256sum -- * >SHA256SUMS)
du -m --apparent-size "$dist"/* | sed 's/^/package: MiB /'
