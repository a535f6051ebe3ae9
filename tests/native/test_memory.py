"""Memory that runs out inside native threads: the caller is told, and the process goes on."""

import subprocess
import sys
import textwrap

import pytest

resource = pytest.importorskip("resource", reason="needs limits of the operating system")

SETUP = """
    import resource
    import numpy as np
    from mercer import _native

    def limit(room):
        "Let the process take this much more address space than it has."
        taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + room, resource.RLIM_INFINITY))

    def free():
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    rng = np.random.default_rng(0)
"""

# Each defines compute(), which allocates much in its threads, and small(), which does not and has a known result.
CASES = {
    "machines": """
        n = 2500
        X = rng.normal(size=(n, 2))
        plan = _native.Plan([("sqdist", X, None)], [], [], [("exp", 0, 0, 0, -0.5, 0.0)])
        y = np.where(np.arange(n) % 2, 1.0, -1.0)

        def part(count):
            lower, upper, t = np.minimum(y, 0)[:count], np.maximum(y, 0)[:count], y[:count]
            return np.arange(count), t, lower, upper, np.zeros(count), np.zeros(count)

        def compute():
            plan.smo_parts([part(n) for _ in range(4)], 0.0, 1e-3, 100, 4)

        def small():
            return plan.smo_parts([part(20) for _ in range(4)], 0.0, 1e-3, 100, 4)
    """,
    "windows": """
        codes = rng.integers(0, 1000, 600_000).astype(np.int32)

        def matches(count):
            starts = np.arange(0, len(codes) + 1, len(codes) // 30)
            rows, zeros = np.arange(count), np.zeros(count, dtype=np.int64)
            groups = [(k, np.arange(k), 1.0) for k in range(3, 9)]
            out = np.zeros((count, count))
            _native.window_matches((codes, starts, 1000), rows, rows, zeros, zeros + count, groups, out, 4)
            return out.tolist()

        def compute():
            matches(30)

        def small():
            return matches(1)
    """,
    "trees": """
        def fragments(n):
            start, group = np.zeros(n + 1, dtype=np.int64), np.zeros(n, dtype=np.int64)
            ends, all_, once = np.array([0, n]), np.arange(n), np.ones(n)
            out = np.empty((1, 1))
            table = start, np.empty(0, dtype=np.int64), group
            trees, rule = (ends, all_, once), (True, 0.4, 0.4, 1.0, True)
            _native.tree_block(*table, *trees, *trees, *rule, 2**40, False, out, 4)
            return out.tolist()

        def compute():
            fragments(9000)

        def small():
            return fragments(50)
    """,
}


@pytest.mark.skipif(sys.platform != "linux", reason="needs the size of the process from /proc")
@pytest.mark.parametrize("case", CASES)
def test_memory_that_runs_out_in_threads_is_an_error_and_not_the_end(case):
    check = """
        expected = small()  # starts the threads
        failed = 0
        for room in (2**22, 2**24):
            limit(room)
            try:
                compute()
            except MemoryError:
                failed += 1
            free()
            assert small() == expected
        assert failed, "nothing ran out"
        compute()
        print("went on")
    """
    program = "".join(textwrap.dedent(part) for part in (SETUP, CASES[case], check))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "went on"
