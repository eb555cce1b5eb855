#!/usr/bin/env bash
# Runs clang-tidy 14 on the sources that changed, with the rules of .clang-tidy.
#
#   scripts/tidy.sh [--base REV] [--minutes N]
#
#   --base REV    changed since this commit; default: where this branch left main, on main HEAD~1
#   --minutes N   start no more sources after this time, default 10; those left out are named
#
# Needs build/compile_commands.json (scripts/build.sh). For a changed header, the source of the same name
# is checked. Exits with 1 if there are findings.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
die() { echo "tidy: $*" >&2; exit 2; }

base='' minutes=10
while [ $# -gt 0 ]; do
  case $1 in
    --base) [ $# -ge 2 ] || die "--base needs a commit"; base=$2; shift ;;
    --minutes) [[ ${2:-} =~ ^[0-9]+$ ]] || die "--minutes needs a number"; minutes=$2; shift ;;
    -h | --help) sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die "unknown option $1; try --help" ;;
  esac
  shift
done
if [ -z "$base" ]; then
  base=$(git merge-base HEAD main 2>/dev/null || true)
  [ -n "$base" ] && [ "$base" != "$(git rev-parse HEAD)" ] || base=HEAD~1
fi
git rev-parse --verify --quiet "$base^{commit}" >/dev/null || die "there is no commit $base; give --base REV"
[ -f build/compile_commands.json ] || die "no build/compile_commands.json: run scripts/build.sh first"

tidy=''
for candidate in clang-tidy-14 clang-tidy; do
  case $("$candidate" --version 2>/dev/null) in
    *"version 14."*) tidy=$candidate; break ;;
  esac
done
[ -n "$tidy" ] || die "needs clang-tidy 14; on Debian: apt-get install clang-tidy-14"

# The commands without what only g++ takes.
mkdir -p build/tidy
mapfile -t sources < <(git diff --name-only --diff-filter=d "$base" -- '*.h' '*.cpp' | sed 's/\.h$/.cpp/' | sort -u |
  python3 -c '
import json, os, pathlib, sys
sys.path.insert(0, "scripts")
from clang_commands import clang_commands
wanted = set(sys.stdin.read().split("\n"))
commands = [entry for entry in clang_commands(pathlib.Path("build")) if os.path.relpath(entry["file"]) in wanted]
for entry in commands:
    print(os.path.relpath(entry["file"]))
json.dump(commands, open("build/tidy/compile_commands.json", "w"))')

: >build/tidy/findings.log
: >build/tidy/left_out.log
export tidy end=$(($(date +%s) + 60 * minutes))
check() {
  if [ "$(date +%s)" -ge "$end" ]; then
    echo "$1" >>build/tidy/left_out.log
  elif ! found=$("$tidy" --quiet -p build/tidy "$1" 2>/dev/null); then
    printf '%s\n' "$found" >>build/tidy/findings.log
  fi
}
export -f check
# shellcheck disable=SC2016  # for the inner shell
[ ${#sources[@]} -eq 0 ] || printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'check "$1"' check
num_left_out=$(wc -l <build/tidy/left_out.log)
[ "$num_left_out" = 0 ] || echo "tidy: left out after $minutes minutes: $(tr '\n' ' ' <build/tidy/left_out.log)" >&2
if [ -s build/tidy/findings.log ]; then
  cat build/tidy/findings.log
  exit 1
fi
echo "tidy: no findings in $((${#sources[@]} - num_left_out)) of ${#sources[@]} changed sources"
