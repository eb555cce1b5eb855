#!/usr/bin/env bash
# What a user does with the packages in dist/, on a bare Debian as root: scripts/fresh_machine.sh --packages runs it.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
scratch=$(mktemp -d)
ok() { echo "ok      $*"; }
quietly() { "$@" >"$scratch/log" 2>&1 || { tail -n 20 "$scratch/log"; echo "FAILED  $*"; exit 1; }; }
files() { find / -xdev \( -path /proc -o -path /dev -o -path /sys -o -path /run -o -path /tmp -o -path /var/log -o -path /var/cache -o -path /root \
  -o -path /var/lib/apt -o -path /var/lib/dpkg \) -prune -o -print | sort; }

quietly apt-get update
quietly apt-get install -y --no-install-recommends python3 python3-pip python3-venv curl zstd systemd
quietly python3 -m venv "$scratch/venv"
quietly "$scratch/venv/bin/pip" install openai
files >"$scratch/before"

answers() {  # answers URL: whether its /health does, within 20 s
  for _ in $(seq 100); do curl -sf "$1/health" && return; sleep 0.2; done
  return 1
}

ask() {  # ask URL: what OpenAI's own client gets for a request
  "$scratch/venv/bin/python" - "$1/v1" <<'END'
import sys
import openai
client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
question = [{"role": "user", "content": "What is the capital of France?"}]
answer = client.chat.completions.create(model="smollm2", max_tokens=24, temperature=0, messages=question)
print(answer.choices[0].message.content)
END
}

try() {  # try NAME PROGRAM: what a newcomer does
  local name=$1 program=$2 server answer
  [ "$("$program" --version)" = "$(sed -n 's/.*"versionInfo": "\(.*\)",/\1/p' dist/predgen-*.spdx.json | head -n 1)" ]
  "$program" >"$scratch/welcome" || [ $? = 2 ]
  grep -q "predgen chat --model smollm2" "$scratch/welcome"
  quietly "$program" models get smollm2
  answer=$(printf 'What is the capital of France?\n' | "$program" chat --model smollm2 --max-new-tokens 24 2>"$scratch/log") ||
    { cat "$scratch/log"; exit 1; }
  grep -qi paris <<<"$answer"
  ok "$name: chat: $(tr '\n' ' ' <<<"$answer" | cut -c1-80)"
  printf 'Hello.\n' | quietly "$program" chat --model smollm2 --max-new-tokens 8 --tts espeak --audio-out "$scratch/answer.wav"
  [ "$(stat -c %s "$scratch/answer.wav")" -gt 10000 ]
  ok "$name: espeak"
  "$program" serve --model smollm2 --port 8123 >"$scratch/serve.log" 2>&1 &
  server=$!
  answers http://127.0.0.1:8123 >"$scratch/health" || { cat "$scratch/serve.log"; echo "FAILED  $name: serve"; exit 1; }
  grep -q "\"version\":\"$("$program" --version)\"" "$scratch/health"
  answer=$(ask http://127.0.0.1:8123)
  kill "$server"
  wait "$server" || [ $? = 130 ]
  grep -qi paris <<<"$answer"
  ok "$name: serve, asked by openai's client: $(tr '\n' ' ' <<<"$answer" | cut -c1-60)"
}

try_service() {  # the steps of docs/packages.md. No systemd runs here, so the unit's command is started by hand, as nobody
  local unit=/usr/lib/systemd/system/predgen@.service file command server
  quietly systemd-analyze verify "$unit"
  quietly predgen models get smollm2 --into /var/lib/predgen
  ln -s smollm2.gguf /var/lib/predgen/model
  quietly systemctl enable predgen@8124
  [ -L /etc/systemd/system/multi-user.target.wants/predgen@8124.service ]
  while read -r file; do [ -e "$file" ] || { echo "FAILED  no $file"; exit 1; }; done < <(sed -n 's/^AssertPathExists=//p' "$unit")
  read -ra command < <(sed -n 's/^ExecStart=//p' "$unit" | sed 's/%i/8124/')
  (cd / && exec setpriv --reuid 65534 --regid 65534 --clear-groups env -i PATH=/usr/bin:/bin \
    "$(sed -n 's/^Environment=//p' "$unit")" "${command[@]}") >"$scratch/service.log" 2>&1 &
  server=$!
  answers http://127.0.0.1:8124 >/dev/null || { cat "$scratch/service.log"; echo "FAILED  the service"; exit 1; }
  kill "$server"
  wait "$server" || [ $? = 130 ]
  ok "deb: the service, by its unit"
}

quietly apt-get install -y --no-install-recommends ./dist/predgen_*.deb
ok "apt installs it"
for file in /usr/share/man/man1/predgen-chat.1.gz /usr/share/bash-completion/completions/predgen \
  /usr/share/zsh/vendor-completions/_predgen /usr/lib/systemd/system/predgen@.service; do
  # dpkg leaves manual pages out in containers and the like
  [ -e "$file" ] || grep -q "path-exclude" -r /etc/dpkg/dpkg.cfg.d || { echo "FAILED  no $file"; exit 1; }
done
quietly predgen-fetch-model --list
quietly predgen-judge --help
try deb predgen
try_service
quietly apt-get purge -y predgen
files >"$scratch/after"
if ! diff "$scratch/before" "$scratch/after"; then echo "FAILED  files are left"; exit 1; fi
ok "apt purges it, and nothing is left"

mkdir "$scratch/anywhere"
tar -xf dist/predgen-[0-9]*-linux-x86_64.tar.zst -C "$scratch/anywhere"
mv "$scratch"/anywhere/predgen-* "$scratch/moved here"
try tar "$scratch/moved here/bin/predgen"
