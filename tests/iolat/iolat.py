# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""iolat.py - what the tests of usermap-iolat have in common.

A test file is run as FILE PROGRAMS [WORD...]: the directory of the tests'
programs, and words to choose tests whose names hold one of them. Each test is a
function whose name is a sentence; it gets an empty directory to be in. The
programs of the project are named by the environment: IOLAT, USERMAP.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

EXIT_SKIP = 77
IOLAT = os.path.abspath(os.environ["IOLAT"])
USERMAP = os.path.abspath(os.environ["USERMAP"])
PROGRAMS = os.path.abspath(sys.argv[1])


class Skip(Exception):
    pass


def program(name):
    return os.path.join(PROGRAMS, "iolat-" + name)


def probe(*args):
    return [program("probe"), *map(str, args)]


def run(argv, **more):
    """Run to the end; status (negative: a signal), standard output and error as bytes."""
    more.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120, **more)
    return done.returncode, done.stdout, done.stderr


def iolat(*argv, options=(), **more):
    return run([IOLAT, *options, "--", *argv], **more)


class Traced:
    """A command run under usermap-iolat -j, and what the report says."""

    def __init__(self, *argv, options=(), status=0, **more):
        path = os.path.abspath("report.json")
        self.status, self.out, self.err = iolat(
            *argv, options=["-q", "-j", "-o", path, *options], **more)
        if status is not None:
            assert self.status == status, (argv, self.status, self.err)
        with open(path) as file:
            self.report = json.load(file)
        self.calls = {o["operation"]: o["calls"] for o in self.report["operations"]}
        for o in self.report["operations"]:
            assert o["calls"] == sum(b["count"] for b in o["buckets"]), o
        self.lost = self.report["lost"]
        self.files = {f["file"]: f for f in self.report["files"]["busiest"]}

    def bytes_of(self, path):
        return self.files[os.path.abspath(path)]["bytes"]


def strace_counts(argv, calls, **more):
    """What strace -c -f counts of these calls; Skip if it may not trace."""
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    path = os.path.abspath("strace.out")
    status, _, err = run(["strace", "-c", "-f", "-o", path, "-e", "trace=" + ",".join(calls),
                          *argv], **more)
    if status:
        raise Skip("strace cannot trace here: " + err.decode(errors="replace").strip())
    counts = dict.fromkeys(calls, 0)
    with open(path) as file:
        for line in file:
            words = line.split()
            if words and words[-1] in counts:
                counts[words[-1]] = int(words[3])
    return counts


def main(tests):
    """Run the tests of the calling file; exit with what came of it."""
    ran = skipped = failed = 0
    for test in tests:
        name = test.__name__
        if sys.argv[2:] and not any(word in name for word in sys.argv[2:]):
            continue
        ran += 1
        # on /tmp, as maps lie on /dev/shm
        directory = tempfile.mkdtemp(prefix="usermap-iolat-")
        os.environ["USERMAP_DIR"] = maps = tempfile.mkdtemp(prefix="usermap-iolat-", dir="/dev/shm")
        os.chdir(directory)
        try:
            test()
            left = os.listdir(maps)
            assert not left, f"maps are left behind: {left}"
            print("ok   ", name)
        except Skip as reason:
            skipped += 1
            print("skip ", name, reason, sep=" ", file=sys.stderr)
        except Exception:
            failed += 1
            print("FAIL ", name)
            traceback.print_exc(file=sys.stdout)
        finally:
            os.chdir("/")
            shutil.rmtree(directory, ignore_errors=True)
            shutil.rmtree(maps, ignore_errors=True)
        sys.stdout.flush()
    sys.exit(1 if failed else EXIT_SKIP if ran and ran == skipped else 0)


def tests_of(module):
    return [f for name, f in module.items()
            if callable(f) and getattr(f, "__module__", "") == "__main__"
            and re.match(r"[a-z0-9_]+$", name) and f.__code__.co_argcount == 0
            and not name.startswith("_")]
