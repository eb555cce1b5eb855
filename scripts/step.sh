# Sourced by scripts that make one result after the other.

step() {  # step RESULT TITLE COMMAND..: runs the command unless its result is there
  if [ -e "$1" ]; then
    printf '\n== %s: %s is there\n' "$2" "$1"
    return
  fi
  printf '\n== %s\n$ %s\n' "$2" "${*:3}"
  "${@:3}"
}
