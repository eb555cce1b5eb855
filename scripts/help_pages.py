"""Makes manual pages and shell completions from predgen's --help.

usage: help_pages.py FOLDER PREDGEN [ARGUMENT ..]

FOLDER gets share/man/man1/predgen.1.gz and one for each command, share/bash-completion/completions/predgen and
share/zsh/site-functions/_predgen. PREDGEN is the program, with what comes before it. The pages have the date of
$SOURCE_DATE_EPOCH, or else of today.
"""
import datetime
import gzip
import os
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"^  (-[^\n]*?)(?:\s{2,}(\S.*))?$")  # two blanks, its names, and mostly what it does
COMMAND = re.compile(r"^  (\w[\w-]*)  +(\S.*)$")
WORD = re.compile(r"^  (\w+) [A-Z]+:\{([^}]*)\}")  # one of these
INDENTED = re.compile(r"^\s{10,}(\S.*)$")

# What --help does not say.
FILES = """Models that are called by name lie in predgen/models of the cache folder ($XDG_CACHE_HOME, ~/.cache)."""
ENVIRONMENT = """PREDGEN_MODELS: another folder of such models. PREDGEN_LIBTORCH: the folder of another LibTorch."""
EXIT_STATUS = """0: done. 1: a fault that is not yours. 2: a mistake that you can mend, which the message names. 130: stopped by
Ctrl-C or SIGTERM."""

# Bash and zsh: the names of models, as checkpoint/model_names.cpp finds them.
MODEL_OPTIONS = ("--model", "--draft-model")
MODEL_FOLDER = "${PREDGEN_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/predgen/models}"
BASH_MODELS = f"""_predgen_models() {{
  local path
  for path in "{MODEL_FOLDER}"/*; do
    case $path in
      *.gguf) path=${{path%.gguf}} ;;
      *) [ -e "$path/config.json" ] || continue ;;
    esac
    printf '%s\\n' "${{path##*/}}"
  done
}}"""
ZSH_MODELS = f"""_predgen_models() {{
  local folder={MODEL_FOLDER}
  local -a names
  names=($folder/*.gguf(N:t:r) $folder/*/config.json(N:h:t))
  _alternative "models:model:($names)" 'files:file:_files'
}}"""


class Help:
    """What one command's --help says."""

    def __init__(self, text):
        self.sections, self.options, self.commands, self.words, self.usage = {}, [], [], [], ""
        section = ""
        for line in text.splitlines():
            if line.startswith("Usage: "):
                self.usage = line.removeprefix("Usage: ")
            if line and not line.startswith(" ") and line.endswith(":"):
                section = line[:-1]
                self.sections[section] = []
                continue
            self.sections.setdefault(section, []).append(line)
            option, command, more = OPTION.match(line), COMMAND.match(line), INDENTED.match(line)
            if section == "Positionals" and WORD.match(line):
                self.words += WORD.match(line)[2].split(",")
            if option:
                self.options.append([option[1].strip(), option[2] or ""])
            elif section == "Subcommands" and command:
                self.commands.append([command[1], command[2]])
            elif more and self.options and section != "Subcommands":
                self.options[-1][1] += " " + more[1]
            elif more and self.commands:
                self.commands[-1][1] += " " + more[1]

    def summary(self):
        first = next((line for line in self.sections.get("", []) if line.strip()), "")
        return first.strip()

    def flags(self):
        """Each option's longest name, with whether it takes a value, its choices and what it does."""
        for names, text in self.options:
            longest = max(re.findall(r"--?[A-Za-z][\w-]*", names.split(" ")[0]), key=len)
            choices = re.search(r":\{([^}]*)\}", names)
            yield longest, " " in names.strip(), choices[1].split(",") if choices else [], text


def read_help(predgen, command):
    done = subprocess.run([*predgen, *command, "--help"], capture_output=True, text=True, check=True)
    return done.stdout, Help(done.stdout)


def find_all(predgen, command=()):
    """Of the program and each of its commands, by their words."""
    text, found = read_help(predgen, command)
    helps = {command: (text, found)}
    for name, _ in found.commands:
        helps |= find_all(predgen, (*command, name))
    return helps


def roff(line):
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line.startswith((".", "'")) else line


def manual(command, text, found, version, date, commands):
    name = "-".join(("predgen", *command))
    pages = ", ".join(f"predgen-{'-'.join(other)}(1)" if other else "predgen(1)" for other in commands if other != command)
    lines = [f'.TH {name.upper()} 1 {date} "predgen {version}" "User Commands"', ".SH NAME",
             roff(f"{name} - {found.summary()}"), ".SH SYNOPSIS", roff(found.usage), ".SH DESCRIPTION", ".nf",
             *map(roff, text.rstrip().splitlines()), ".fi", ".SH FILES", roff(FILES), ".SH ENVIRONMENT", roff(ENVIRONMENT),
             ".SH EXIT STATUS", *map(roff, EXIT_STATUS.splitlines())]
    return "\n".join([*lines, ".SH SEE ALSO", roff(pages), ""])


def bash_completion(helps):
    """Words by command; a choice behind its option; the names of models; else files."""
    cases, choices = [], set()
    for command, (_, found) in helps.items():
        words = " ".join([*(name for name, _ in found.commands), *found.words, *(flag for flag, *_ in found.flags())])
        cases.append(f'    "{" ".join(command)}") words="{words}" ;;')
        choices |= {(flag, " ".join(names)) for flag, _, names, _ in found.flags() if names}
    by_flag = {}
    for flag, names in sorted(choices):
        by_flag.setdefault(flag, set()).update(names.split())
    values = [f'    {flag}) words="{" ".join(sorted(names))}" ;;' for flag, names in sorted(by_flag.items())]
    values.append(f'    {"|".join(MODEL_OPTIONS)}) words=$(_predgen_models) files=-f ;;')
    groups = " ".join(command[0] for command, (_, found) in helps.items() if len(command) == 1 and found.commands)
    return "\n".join([
        "# bash completion of predgen", BASH_MODELS, "_predgen() {",
        '  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command="" words="" files="" i',
        "  for ((i = 1; i < COMP_CWORD; ++i)); do",
        '    case ${COMP_WORDS[i]} in -*) continue ;; esac',
        '    if [ -z "$command" ]; then command=${COMP_WORDS[i]}; continue; fi',
        f'    case " {groups} " in *" $command "*) command="$command ${{COMP_WORDS[i]}}" ;; esac',
        "    break", "  done", '  case "$before" in', *values, '    *) case "$command" in', *cases, "    esac ;;",
        "  esac", '  COMPREPLY=($(compgen $files -W "$words" -- "$word"))',
        '  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))', "}",
        "complete -o filenames -F _predgen predgen", ""])


def quoted(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh_function(command, found, name):
    specs = []
    for flag, has_value, choices, text in found.flags():
        spec = f"{flag}[{quoted(' '.join(text.split())[:90])}]"
        if has_value:
            files = "_predgen_models" if flag in MODEL_OPTIONS else "_files"
            spec += f":value:({' '.join(choices)})" if choices else f":value:{files}"
        specs.append(f"    '{spec}' \\")
    if not found.commands:
        words = f"name:({' '.join(found.words)})" if found.words else "file:_files"
        return [f"{name}() {{", "  _arguments \\", *specs, f"    '*:{words}'", "}"]
    listed = [f"    '{sub}:{quoted(' '.join(text.split())[:90])}'" for sub, text in found.commands]
    branches = [f"      {sub}) {name}_{sub} ;;" for sub, _ in found.commands]
    return [f"{name}() {{", "  local state line", "  local -a commands", "  commands=(", *listed, "  )",
            "  _arguments -C \\", *specs, "    '1:command:->command' '*::argument:->argument'", "  case $state in",
            "    command) _describe command commands ;;", "    argument) case $line[1] in", *branches, "    esac ;;",
            "  esac", "}"]


def zsh_completion(helps):
    lines = ["#compdef predgen", "# zsh completion of predgen", ZSH_MODELS]
    for command, (_, found) in reversed(helps.items()):
        lines += zsh_function(command, found, "_".join(("_predgen", *command)))
    return "\n".join([*lines, '_predgen "$@"', ""])


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def main(folder, *predgen):
    share = pathlib.Path(folder) / "share"
    version = subprocess.run([*predgen, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    day = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc) if seconds else datetime.date.today()
    helps = find_all(predgen)
    for command, (text, found) in helps.items():
        page = manual(command, text, found, version, f"{day:%F}", helps)
        name = "-".join(("predgen", *command))
        write(share / f"man/man1/{name}.1.gz", gzip.compress(page.encode(), 9, mtime=0))
    write(share / "bash-completion/completions/predgen", bash_completion(helps).encode())
    write(share / "zsh/site-functions/_predgen", zsh_completion(helps).encode())
    print(f"help_pages: {len(helps)} manual pages, and completion for bash and zsh")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
