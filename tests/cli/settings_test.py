"""docs/settings.md and the shipped files of settings are what the program says of its settings."""
import subprocess
import sys

from program import PREDGEN, REPOSITORY, check

# The files, and what they have above the settings.
FILES = {name: 3 for name in ("serve", "hibari", "piper", "espeak", "zonos")}


def printed(*arguments):
    done = subprocess.run([PREDGEN, "settings", *arguments], capture_output=True, text=True)
    check(done.returncode == 0, f"predgen settings {arguments}: {done.stderr}")
    return done.stdout


def main():
    page = printed()
    check((REPOSITORY / "docs/settings.md").read_text() == page,
          "docs/settings.md is old: predgen settings > docs/settings.md")
    for name, head in FILES.items():
        file = REPOSITORY / f"configs/runtime/{name}.yaml"
        lines = file.read_text().splitlines(keepends=True)
        check("".join(lines[head:]) == printed(name), f"{file} is old: its settings are those of predgen settings {name}")
    for line in page.splitlines():
        if line.startswith("| `"):
            check(len(line.replace("\\|", "").split("|")) == 6, f"four cells: {line}")
    done = subprocess.run([PREDGEN, "settings", "sreve"], capture_output=True, text=True)
    check(done.returncode == 2 and "serve" in done.stderr, f"another name: {done.stderr}")


if __name__ == "__main__":
    main()
    print("ok")
    sys.exit(0)
