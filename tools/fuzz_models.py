"""Change model files in thousands of ways, load them, and use what loads: python tools/fuzz_models.py 20000 [seed].

Prints what was refused, what worked, and every change after which the use of a model ended in words that are not ours,
took longer than a few seconds, or took too much memory.
"""

import collections
import resource
import signal
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.persist.fuzzing import NAMES, Mutation, find_problems

from mercer.persist import ModelFileError

SECONDS = 5  # of processor time
MEMORY = 8 * 2**30


class TooLongError(BaseException):
    """The time is over."""


def stop(*_):
    raise TooLongError


def main(count, seed=0):
    """Run so many changes, spread over all models."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGVTALRM, stop)
    outcomes, kinds, names = collections.Counter(), collections.Counter(), NAMES
    for i in range(count):
        mutation = Mutation(names[i % len(names)], seed + i // len(names))
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            found = find_problems(mutation.load(), mutation.X)
            outcome = "used" if not found else "failed in use"
        except ModelFileError:
            outcome, found = "refused", []
        except (TooLongError, Exception) as error:
            outcome, found = "took too long" if isinstance(error, TooLongError) else "failed", [("load", error)]
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        outcomes[outcome] += 1
        for method, error in found:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if "mercer" in f.filename]
            place = " < ".join(f"{Path(f.filename).stem}:{f.lineno}" for f in frames[:-4:-1])
            key = f"{type(error).__name__}: {str(error)[:70]} at {place}"
            kinds[key] += 1
            if kinds[key] <= 3:
                print(f"{mutation.name!r}, {mutation.number}: {method}: {key}\n      {mutation.done}", flush=True)
    print(dict(outcomes))
    for key, times in kinds.most_common():
        print(times, key)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
