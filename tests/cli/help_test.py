"""Every help names flags that its command has, and files that are there or that the quickstart makes."""
import re
import sys

from user_errors_test import find_commands
from program import REPOSITORY, run

FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
OTHERS = re.compile(r"espeak-ng --voices|(?:torchrun|srun)[^\n]* (?=predgen)")  # programs with flags of their own
PATH = re.compile(r"(?<![\w/.])(?:configs|checkpoints|data|docs|scripts)/[\w/.-]*\w|runs/quickstart/\w+")


def help_of(command):
    return run(*command.split(), "--help", check=True).stdout


def flags_of(text):
    """Those that the list of options offers."""
    return {flag for line in re.findall(r"^ {2,4}(-\S.*)$", text, re.MULTILINE) for flag in FLAG.findall(line.split("  ")[0])}


def faults_of(command, made, everywhere):
    text = OTHERS.sub("", help_of(command))
    faults = [f"has no flag {flag}" for flag in sorted(set(FLAG.findall(text)) - flags_of(text) - everywhere)]
    faults += [f"there is no {path}" for path in sorted(set(PATH.findall(text)))
               if not (path in made if path.startswith("runs/") else (REPOSITORY / path).exists())]
    return [f"predgen {command} --help: {fault}" for fault in faults]


def check_example_of_data_show():
    """The tokenizer that it names is the one that the quickstart's dataset is made with: another is refused."""
    (named,) = re.findall(r"data show runs/quickstart/dataset --tokenizer (\S+)", help_of("data show"))
    config = (REPOSITORY / "configs/data/quickstart.yaml").read_text()
    (wanted,) = re.findall(r"^tokenizer: (\S+)", config, re.MULTILINE)
    return [] if named == wanted else [f"predgen data show --help: the dataset's tokenizer is {wanted}, not {named}"]


def main():
    made = {path for file in REPOSITORY.glob("configs/*/quickstart*.yaml")
            for path in re.findall(r"^output: (\S+)", file.read_text(), re.MULTILINE)}
    everywhere = flags_of(help_of("")) | {"--help"}
    commands = ["", *find_commands()]
    faults = [fault for command in commands for fault in faults_of(command, made, everywhere)]
    faults += check_example_of_data_show()
    print("\n".join(faults) or f"{len(commands)} helps: ok")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
