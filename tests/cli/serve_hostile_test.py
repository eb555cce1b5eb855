"""What hostile clients do to predgen serve, one function an attack. Beside each of them another client gets its answers in
time, the server's memory is bounded, whoever has no key gets nothing, and the server lives and answers after it.

usage: PREDGEN=build/predgen serve_hostile_test.py [ATTACK..]     (all if absent)
"""

import os
import sys
import time

from skipping import skip_without

skip_without("websockets", "each attack")

import attacks_on_time  # noqa: E402
import attacks_on_trust  # noqa: E402
from attacked import ANSWER_SECONDS, LOADED, SANITISED, measured  # noqa: E402
from serving import check  # noqa: E402

ATTACKS = {attack.__name__: attack for attack in [*attacks_on_time.ATTACKS, *attacks_on_trust.ATTACKS]}


def main():
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    names = sys.argv[1:] or list(ATTACKS)
    unknown = set(names) - set(ATTACKS)
    check(not unknown, f"attacks are {', '.join(ATTACKS)}, not {', '.join(unknown)}")
    print(f"answers must come within {ANSWER_SECONDS} s: the machine is {'loaded' if LOADED else 'free'}"
          f"{', the program sanitised: its memory is not looked at' if SANITISED else ''}")
    red = {}
    for name in names:
        begin, outcome = time.monotonic(), None
        measured.clear()
        try:
            outcome = ATTACKS[name]()
        except (SystemExit, Exception) as error:  # the others are of interest, too
            red[name] = f"RED: {error!r}"
        print(f"{name}: {red.get(name) or outcome or 'it stands'}; {'; '.join(measured)} ({time.monotonic() - begin:.1f} s)", flush=True)
    check(not red, f"{len(red)} of {len(names)} attacks succeed: {', '.join(red)}")


main()
