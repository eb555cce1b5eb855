#!/usr/bin/env bash
# Runs scripts/quickstart.sh --all and scripts/test.sh on a machine that has never seen this project: a bare Debian 12
# (debootstrap) in a folder, with only a clone of the last commit. Prints how long each took, and what was
# skipped. Run it before a release, and whenever set-up, requirements or CMake change. Needs root.
#
#   scripts/fresh_machine.sh [--user] [--compiled DIR] [--folder DIR] [--mirror URL]
#   scripts/fresh_machine.sh --packages SUITE [--folder DIR] [--mirror URL]
#
#   --packages SUITE  try the packages in dist/ instead (scripts/package.sh), on a bare Debian of this name, as
#                   bookworm or trixie, or on Ubuntu 24.04, noble: install, chat, serve, remove
#   --user          as an ordinary user who has sudo; default: as root
#   --compiled DIR  use the compiler cache (ccache) in DIR, which the user (of --user: id 1000) may write;
#                   default: everything is compiled
#   --folder DIR    where the tree goes, 25 GB; default: a new one in /var/tmp, which is deleted afterwards
#   --mirror URL    Debian's or Ubuntu's mirror; default: debootstrap's, or archive.ubuntu.com
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
die() { echo "fresh_machine: $*" >&2; exit 2; }

user=root home=/root compiled='' folder='' mirror='' packages=''
while [ $# -gt 0 ]; do
  case $1 in
    --user) user=newcomer home=/home/newcomer ;;
    --compiled | --folder | --mirror | --packages) [ $# -ge 2 ] || die "$1 needs a value"; declare "${1#--}=$2"; shift ;;
    -h | --help) sed -n '2,16s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die "unknown option $1; try --help" ;;
  esac
  shift
done
[ "$(id -u)" = 0 ] || die "needs root, for chroot"
command -v debootstrap >/dev/null || die "needs debootstrap: apt-get install debootstrap"
[ -z "$compiled" ] || [ -d "$compiled" ] || die "--compiled $compiled: no such folder"
[ -z "$packages" ] || ls "$root"/dist/predgen_*.deb >/dev/null 2>&1 || die "no packages in $root/dist: run scripts/package.sh"
[ -n "$packages" ] || [ -z "$(git -C "$root" status --porcelain)" ] || echo "fresh_machine: what is not committed is not tried" >&2
if [ -z "$folder" ]; then
  folder=$(mktemp -d /var/tmp/predgen-fresh-XXXXXX)
  trap 'rm -rf --one-file-system "$folder"' EXIT
fi
tree=$folder/tree
[ ! -e "$tree" ] || die "$tree is there already: delete it, or give another --folder"
mkdir -p "$folder"

suite=${packages:-bookworm}
from=() components=main
if [ "$suite" = noble ]; then
  components=main,universe
  from=("${mirror:-http://archive.ubuntu.com/ubuntu}" /usr/share/debootstrap/scripts/gutsy)  # Debian 12 has none for noble
elif [ -n "$mirror" ]; then
  from=("$mirror")
fi
echo "== a bare system, $suite, in $tree"
debootstrap --variant=minbase --components=$components --include=ca-certificates "$suite" "$tree" "${from[@]}" >"$folder/debootstrap.log" 2>&1 || {
  tail -n 20 "$folder/debootstrap.log" >&2  # the folder may be one that is deleted at the end
  die "debootstrap failed"
}
# What Debian's installer writes, and debootstrap does not.
printf '127.0.0.1\tlocalhost\n127.0.1.1\t%s\n::1\tlocalhost ip6-localhost ip6-loopback\n' "$(hostname)" >"$tree/etc/hosts"
# What belongs to this machine's network, not to the machine: names, certificates.
cp /etc/resolv.conf "$tree/etc/resolv.conf"
mkdir -p "$tree/usr/local/share/ca-certificates"
cp -r /usr/local/share/ca-certificates/. "$tree/usr/local/share/ca-certificates"
chroot "$tree" update-ca-certificates >/dev/null 2>&1
network=()
while IFS= read -r name; do network+=("$name=${!name}"); done < <(compgen -e | grep -E '^(https?_proxy|no_proxy|HTTPS?_PROXY|NO_PROXY|PIP_CERT|PIP_INDEX_URL|SSL_CERT_FILE)$' || true)
if [ "$user" != root ]; then
  chroot "$tree" sh -c "apt-get update && apt-get install -y --no-install-recommends sudo && useradd -m -s /bin/bash $user &&
    echo '$user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/$user" >>"$folder/debootstrap.log" 2>&1
fi
if [ -n "$packages" ]; then
  mkdir "$tree$home/predgen"
  cp -r "$root/dist" "$root/scripts/package/try.sh" "$tree$home/predgen"
else
  git clone --quiet --no-local "$root" "$tree$home/predgen"
fi
chroot "$tree" chown -R "$user:" "$home/predgen"

# Runs in mounts and processes of its own, all of which end with it.
enter() {  # enter COMMAND: as the user, in the clone
  # shellcheck disable=SC2016  # for the inner shell
  TREE=$tree COMPILED=$compiled HOME_THERE=$home USER_THERE=$user unshare --mount --pid --fork --kill-child bash -c '
    set -e
    mount -t proc proc "$TREE/proc"
    mount --rbind /dev "$TREE/dev"
    mount -t tmpfs -o mode=1777 tmpfs "$TREE/dev/shm"
    if [ -n "$COMPILED" ]; then
      chroot "$TREE" install -d -o "$USER_THERE" "$HOME_THERE/.cache" "$HOME_THERE/.cache/ccache"
      mount --bind "$COMPILED" "$TREE$HOME_THERE/.cache/ccache"
    fi
    exec chroot "$TREE" "$@"' enter \
    /usr/bin/env -i "HOME=$home" "USER=$user" PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8 TERM=dumb \
    "${network[@]}" setpriv --reuid "$user" --regid "$user" --init-groups bash -c "cd ~/predgen && $1"
}

status=0 commands=("scripts/quickstart.sh --all" scripts/test.sh)
[ -z "$packages" ] || commands=(./try.sh)
for command in "${commands[@]}"; do
  log=$folder/$(basename "${command%% *}" .sh).log
  echo "== $command, as $user (its output: $log)"
  SECONDS=0
  if enter "$command" >"$log" 2>&1 </dev/null; then outcome=green; else outcome="red ($?)" status=1; fi
  echo "$command: $outcome after $((SECONDS / 60)) min $((SECONDS % 60)) s"
  [ "$outcome" = green ] || [ -n "$packages" ] || tail -n 40 "$log"
done
if [ -n "$packages" ]; then cat "$folder/try.log"; else sed -n '/single tests:/,/^$/p' "$folder/test.log"; fi
if [ $status != 0 ]; then trap - EXIT; echo "fresh_machine: the tree stays in $folder" >&2; fi
exit $status
