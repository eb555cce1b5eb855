#!/usr/bin/env bash
# Makes the Debian package of an installed tree, which moves into it. The tree goes to /usr/lib/predgen, with links to what
# others look for elsewhere; beside it are the service's unit and its settings. Times are SOURCE_DATE_EPOCH's.
#
#   scripts/package/make_deb.sh TREE VERSION LEVEL FILE      (LEVEL: how hard zstd tries)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
[ $# = 4 ] || { sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
tree=$1 version=$2 level=$3 file=$4
deb=$(mktemp -d)
trap 'rm -rf "$deb"' EXIT
chmod 755 "$deb"
umask 022

mkdir -p "$deb/usr/lib" "$deb/usr/bin" "$deb/usr/share/doc" "$deb/usr/lib/systemd/system" "$deb/DEBIAN"
mv "$tree" "$deb/usr/lib/predgen"
for place in man bash-completion; do mv "$deb/usr/lib/predgen/share/$place" "$deb/usr/share"; done
mkdir -p "$deb/usr/share/zsh"
mv "$deb/usr/lib/predgen/share/zsh/site-functions" "$deb/usr/share/zsh/vendor-completions"
rmdir "$deb/usr/lib/predgen/share/zsh"
ln -s ../lib/predgen/bin/predgen{,-fetch-model,-judge} "$deb/usr/bin"
ln -s ../../lib/predgen/share/doc/predgen "$deb/usr/share/doc/predgen"

# The service: what configs/deploy/predgen@.service names.
sed 's|/usr/local/bin/predgen|/usr/bin/predgen|; s|^# Command: .*|# Command: systemctl enable --now predgen@8081|' \
  "$root/configs/deploy/predgen@.service" >"$deb/usr/lib/systemd/system/predgen@.service"
mkdir -p "$deb/etc/predgen" "$deb/var/lib/predgen"
sed '1s|.*|# What it is for: the settings of the service predgen@PORT. All values are the defaults.|
  2s|.*|# Command:  systemctl restart predgen@8081       # after a change; the port is the one in its name|' \
  "$root/configs/runtime/serve.yaml" >"$deb/etc/predgen/serve.yaml"
echo /etc/predgen/serve.yaml >"$deb/DEBIAN/conffiles"

# Of files alone: how large a folder is depends on the file system.
size=$(find "$deb" -type f -printf '%s\n' | awk '{sum += $1} END {print int((sum + 1023) / 1024)}')
for script in postinst prerm postrm; do install -m 755 "$root/scripts/package/$script" "$deb/DEBIAN"; done
sed -e "s/@version@/$version/" -e "s/@size@/$size/" \
  "$root/scripts/package/control" >"$deb/DEBIAN/control"
find "$deb" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zzstd "-z$level" --build "$deb" "$file" >/dev/null
