#!/usr/bin/env bash
# Formats the C++ files that git tracks, or those given, with clang-format 14.
#
#   scripts/format.sh [--check] [FILE..]
#
#   --check   change nothing; name the files that are not formatted and exit with 1
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
die() { echo "format: $*" >&2; exit 2; }

check=0 files=()
while [ $# -gt 0 ]; do
  case $1 in
    --check) check=1 ;;
    -h | --help) sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) die "unknown option $1; try --help" ;;
    *)
      [ -f "$1" ] || die "$1: no such file"
      files+=("$(realpath "$1")") ;;
  esac
  shift
done
cd "$root"

formatter=''  # other versions format differently
for candidate in clang-format-14 clang-format; do
  case $("$candidate" --version 2>/dev/null) in
    *"version 14."*) formatter=$candidate; break ;;
  esac
done
[ -n "$formatter" ] || die "needs clang-format 14; on Debian: apt-get install clang-format-14"

[ ${#files[@]} -gt 0 ] || mapfile -t files < <(git ls-files '*.h' '*.cpp' '*.cu' '*.cuh')
[ ${#files[@]} -gt 0 ] || exit 0
if [ $check = 0 ]; then
  "$formatter" -i "${files[@]}"
  exit
fi
unformatted=$("$formatter" --dry-run "${files[@]}" 2>&1 |
  sed -n 's/^\(.*\):[0-9]*:[0-9]*: warning: code should be clang-formatted.*/\1/p' | sort -u)
[ -z "$unformatted" ] && exit
echo "$unformatted"
echo "format: these files are not formatted; run scripts/format.sh" >&2
exit 1
