#!/usr/bin/env bash
# Installs what predgen needs: Debian packages, a Python environment whose wheels carry LibTorch, Arrow
# and sherpa-onnx, the sources of XGrammar, and small models: the language model smollm2, and the speech models of a spoken
# conversation. Does nothing if all this is there. Prints the environment's python as its only line on
# stdout; everything else goes to stderr.
#
#   scripts/setup.sh [--gpu] [--with-tests] [--libtorch DIR] [--cuda DIR]
#
#   --gpu           also the libraries and the compiler of CUDA (2.0 GB more to download)
#   --with-tests    that, what tests compare with or drive (transformers, peft, .., Chromium, HAProxy),
#                   and clang, clang-format and clang-tidy
#   --libtorch DIR  use this LibTorch instead of downloading torch; remembered in build/
#   --cuda DIR      use this CUDA toolkit instead of the headers and compiler beside torch; remembered
#                   (an empty DIR forgets either)
#
# The environment is in the user's cache folder under a name made from the requirements, so all clones
# share it, and it grows with what is asked for. The hashes of what predgen links are checked, and those of
# models. Delete ${XDG_CACHE_HOME:-~/.cache}/predgen to remove old ones. The models are in $PREDGEN_MODELS,
# or else in models/ there; one of your own under such a name stays.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { echo "setup: $*" >&2; }
die() { echo "setup: $*" >&2; exit 2; }
# What is under way, as a part of all that its caller does, and how long it took.
parts=${PREDGEN_PARTS:-3}
begin() { part="[$1/$parts] $2"; began=$SECONDS; say "$part${3:+: $3}"; }
finish() { say "$part .. $((SECONDS - began)) s"; }

with_tests=0 gpu=0
options_file=$root/build/setup-options
libtorch='' cuda=''
# shellcheck source=/dev/null
[ ! -f "$options_file" ] || source "$options_file"
while [ $# -gt 0 ]; do
  case $1 in
    --gpu) gpu=1 ;;
    --with-tests) with_tests=1 gpu=1 ;;
    --libtorch | --cuda)
      [ $# -ge 2 ] || die "$1 needs a folder"
      folder=$2
      if [ -n "$folder" ]; then
        [ -d "$folder" ] || die "$1 $folder: no such folder"
        folder=$(cd "$folder" && pwd)
      fi
      if [ "$1" = --libtorch ]; then libtorch=$folder; else cuda=$folder; fi
      shift ;;
    -h | --help) sed -n '2,20s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die "unknown option $1; try --help" ;;
  esac
  shift
done
[ -z "$libtorch" ] || [ -f "$libtorch/include/ATen/ATen.h" ] ||
  die "--libtorch $libtorch: there is no include/ATen/ATen.h in it; give the unpacked libtorch folder"
[ -z "$cuda" ] || [ -f "$cuda/include/cuda_runtime_api.h" ] ||
  die "--cuda $cuda: there is no include/cuda_runtime_api.h in it; give the toolkit's folder"
if [ -n "$libtorch$cuda" ] || [ -f "$options_file" ]; then
  mkdir -p "$root/build"
  printf 'libtorch=%q\ncuda=%q\n' "$libtorch" "$cuda" >"$options_file"
fi

# 1. Debian packages.
packages=(
  build-essential cmake ninja-build ccache git ca-certificates pkg-config python3 python3-venv
  libhdf5-dev libyaml-cpp-dev libgtest-dev libgmock-dev libcli11-dev
  libspdlog-dev libfmt-dev nlohmann-json3-dev libpcre2-dev libsentencepiece-dev libutf8proc-dev libxxhash-dev libjemalloc-dev
  libespeak-ng-dev espeak-ng-data libsndfile1-dev libsamplerate0-dev portaudio19-dev libspeexdsp-dev libboost-dev
)
[ $with_tests = 0 ] || packages+=(clang-14 clang-format-14 clang-tidy-14 chromium chromium-driver curl haproxy)
if command -v dpkg-query >/dev/null; then
  # `|| true`: dpkg-query fails when it does not know a package.
  installed=$(dpkg-query -W -f='${db:Status-Abbrev}${Package}\n' "${packages[@]}" 2>/dev/null || true)
  missing=()
  for package in "${packages[@]}"; do
    grep -qx "ii *$package" <<<"$installed" || missing+=("$package")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    by_hand="apt-get install -y --no-install-recommends ${missing[*]}"
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
      if ! command -v sudo >/dev/null || { ! sudo -n true 2>/dev/null && [ ! -t 0 ]; }; then
        die "Debian packages are missing and this user is not root. Ask an administrator to run: $by_hand"
      fi
      as_root=(sudo)
    fi
    begin 1 "Debian packages" "${missing[*]}"
    { "${as_root[@]}" apt-get update -qq &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null; } >&2 ||
      die "apt-get failed (is there a network?). When it works again, run this script again, or: $by_hand"
    finish
  fi
else
  say "not a Debian system: install the equivalents of ${packages[*]}"
fi

# 2. The Python environment.
unset PYTHONHOME PYTHONPATH
export PYTHONNOUSERSITE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
python=''
for candidate in /usr/bin/python3 python3 python3.13 python3.12 python3.11; do
  if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
[ -n "$python" ] || die "needs python3 >= 3.11 with venv; on Debian: apt-get install python3 python3-venv"

[ "$(uname -m)" = x86_64 ] || die "needs a processor of the kind x86-64: this one is $(uname -m)"
wheels() {  # wheels PATTERN: requirements with their hashes, for pip
  awk -v wanted="$1" '/^[^ ]/ {is_wanted = $0 ~ wanted} is_wanted' "$root"/requirements.txt "$root"/requirements-libraries.txt
}
versions() { awk '/^[^# ]/ {print $1}' "$@"; }
requirements=$(versions "$root/requirements.txt")
base='^(numpy|pyarrow|torch|nvidia-cuda-(cupti|runtime))=='
# Another LibTorch needs its own toolkit: parts of two CUDA versions do not go together.
[ -z "$libtorch" ] || { requirements=$(grep -v '^torch==\|^nvidia-' <<<"$requirements"); base='^(numpy|pyarrow)=='; }
key=$({ "$python" -c 'import sys; print(sys.version_info[:2], sys.prefix)'; uname -m; echo "$requirements"; cat "$root/requirements-test.txt"; } |
  sha256sum | cut -c1-12)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/predgen
env=$cache/env-$key
jinja=share/llama-jinja-0.3.36  # chat templates of models, for the tests
oracle=share/xgrammar-python-0.2.9  # its wheel, which a test compares with
xgrammar=share/xgrammar-0.2.9  # sources, which cmake/XGrammar.cmake compiles
# Not in requirements.txt or requirements-test.txt: their text names the environment, so a new one would be made.
sherpa=$(versions "$root/requirements-libraries.txt" | grep '^sherpa-onnx-core==')
gguf=gguf==0.19.0
clients=share/clients-$(sha256sum <"$root/requirements-clients.txt" | cut -c1-12)  # tests/cli/other_clients.py, too
models=${PREDGEN_MODELS:-$cache/models}

quiet=--quiet
[ ! -t 2 ] || quiet=''  # pip draws its progress
install() {  # install WHAT OPTION..: into the environment
  "$env/bin/python" -m pip install ${quiet:+"$quiet"} --no-input "${@:2}" >&2 ||
    die "pip could not install $1 (is there a network, and enough room under $cache?). Run this script again when there is"
}
install_wheels() {  # install_wheels WHAT PATTERN: hardly anything imports these, so their Python is not compiled
  wheels "$2" >"$effective"
  install "$1" --no-deps --no-compile --require-hashes -r "$effective"
}
have() { [ -e "$env/$1" ] && "$env/bin/python" -c '' 2>/dev/null; }

have_base() { have DONE-base || have DONE; }
have_gpu() { [ -n "$libtorch" ] || have DONE; }
have_tests() { have DONE-tests && have "DONE-$gguf" && have "$clients" && have $oracle; }
have_all() {
  have_base && have "DONE-$sherpa" && have $xgrammar && { [ $gpu = 0 ] || have_gpu; } && { [ $with_tests = 0 ] || { have_tests && have $jinja; }; }
}
missing_models() {  # the names of models that are to be fetched; a user's own are not touched
  "$python" "$root/scripts/fetch_model.py" smollm2 silero smart-turn whisper-base hibari --absent --into "$models"
}

mapfile -t missing < <(missing_models)
if ! have_all || [ ${#missing[@]} -gt 0 ]; then
  mkdir -p "$cache" || die "cannot write to $cache; set XDG_CACHE_HOME to a folder of yours"
  exec 9>"$env.lock"
  flock -n 9 || { say "waiting for another set-up to finish"; flock 9; }
  effective=$cache/requirements-$key.txt
  if ! have_all; then  # nobody did it while we waited
    begin 2 libraries
    if ! have_base; then
      say "LibTorch, Arrow (downloads 615 MB, keeps 1.5 GB in $env, once)"
      rm -rf "$env"  # what an interrupted run left
      "$python" -m venv "$env" >&2
      install_wheels "LibTorch and Arrow" "$base"
      touch "$env/DONE-base"
    fi
    if ! have "DONE-$sherpa"; then
      say "sherpa-onnx (downloads 11 MB, keeps 31 MB)"
      install_wheels "$sherpa" '^sherpa-onnx-core=='
      touch "$env/DONE-$sherpa"
    fi
    if ! have $xgrammar; then
      say "the sources of XGrammar (downloads 3 MB)"
      "$env/bin/python" "$root/scripts/fetch_xgrammar.py" "$env/$xgrammar" >&2 ||
        die "no sources of XGrammar (is there a network?). Run this script again when there is"
    fi
    if [ $gpu = 1 ] && ! have_gpu; then
      say "CUDA (downloads 2.0 GB, keeps 3.0 GB)"
      install_wheels CUDA '^nvidia-'
      touch "$env/DONE"
    fi
    if [ $with_tests = 1 ] && ! have_tests; then
      say "the Python packages of the tests (downloads 0.4 GB)"
      echo "$requirements" >"$effective"  # for what torch asks for, besides what is there
      install "the packages of the tests" -r "$effective" -r "$root/requirements-test.txt" "$gguf"
      "$env/bin/python" -m compileall -q "$env"/lib/python3*/site-packages/{torch,numpy} >/dev/null || true
      touch "$env/DONE-tests" "$env/DONE-$gguf"
      if ! have "$clients"; then
        rm -rf "$env/$clients.part"
        install "other programs' clients" --no-deps --no-compile --target "$env/$clients.part" -r "$root/requirements-clients.txt"
        mv "$env/$clients.part" "$env/$clients"
      fi
    fi
    if [ $with_tests = 1 ] && ! have $oracle; then
      install "XGrammar's wheel" --no-deps --no-compile --target "$env/$oracle.part" xgrammar==0.2.9 apache-tvm-ffi==0.1.15.post2
      mv "$env/$oracle.part" "$env/$oracle"
    fi
    if [ $with_tests = 1 ] && ! have $jinja; then
      say "chat templates of models (downloads 77 MB, keeps 1 MB)"
      "$env/bin/python" "$root/scripts/fetch_jinja.py" "$env/$jinja" >&2 ||
        die "no chat templates (is there a network?). Run this script again when there is"
    fi
    finish
  fi
  mapfile -t missing < <(missing_models 2>/dev/null)
  if [ ${#missing[@]} -gt 0 ]; then
    begin 3 models "${missing[*]}"
    "$env/bin/python" "$root/scripts/fetch_model.py" "${missing[@]}" --into "$models" >/dev/null || {
      [ -f "$models/smollm2.gguf" ] ||
        die "no model smollm2 (is there a network?). Run this script again when there is"
      mapfile -t missing < <(missing_models 2>/dev/null)
      say "going on without ${missing[*]}: predgen builds, and converses by text; the next set-up tries again"
    }
    finish
  fi
  exec 9>&-
fi
echo "$env/bin/python"
