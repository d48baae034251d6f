#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""test_counts - usermap-iolat counts each call once, and to the right file."""
import os
import shutil

from iolat import Skip, Traced, main, probe, program, run, strace_counts, tests_of

# strace's name of a call, and the operation
NAMES = {"read": "read", "write": "write", "pread64": "pread", "pwrite64": "pwrite"}
# A call that an exec makes before the program begins: the loader reads the head
# of each library, and some more of libc.
LOADER = {"read": 12, "pread64": 6, "write": 0, "pwrite64": 0}


def _agree_with_strace(argv, execs, **more):
    """Only the loader may have made calls that are not in the report."""
    untraced = strace_counts(argv, NAMES, **more)
    traced = Traced(*argv, **more)
    assert not any(traced.lost.values()), traced.lost
    for name, op in NAMES.items():
        missing = untraced[name] - traced.calls.get(op, 0)
        assert 0 <= missing <= LOADER[name] * execs, (name, untraced, traced.calls)
    return traced


def every_name_of_every_call_is_counted():
    traced = Traced(program("calls"), os.path.abspath("file"))
    made = dict(line.split() for line in traced.out.decode().splitlines())
    assert {op: int(n) for op, n in made.items()} == traced.calls, (made, traced.calls)
    assert len(made) == 24, made
    assert not any(traced.lost.values()), traced.lost


def counts_of_dd_are_those_of_strace():
    traced = _agree_with_strace(["dd", "if=/dev/zero", "of=file", "bs=512", "count=3000",
                                 "status=none"], 1)
    assert traced.calls["read"] == traced.calls["write"] == 3000, traced.calls
    assert traced.bytes_of("file") == os.path.getsize("file") == 512 * 3000


def counts_of_cat_are_those_of_strace():
    names = []
    for i in range(40):
        names.append(f"file{i}")
        with open(names[-1], "wb") as file:
            file.write(b"x" * (i * 7001))
    traced = _agree_with_strace(["cat", *names], 1)
    assert traced.calls["read"] >= 80 and len(traced.out) == sum(map(os.path.getsize, names))


def counts_of_many_processes_are_those_of_strace():
    with open("file", "wb") as file:
        file.write(os.urandom(300000))
    # no pipe of data: how much of one a read gets is another each time
    _agree_with_strace(["sh", "-c", "for i in 1 2 3; do cat file >copy; (dd if=copy of=again "
                        "bs=777 status=none) & (cat file file >twice); wait; done; "
                        "exec cat file again twice"], 10)


def counts_of_fio_are_those_of_strace():
    if not shutil.which("fio"):
        raise Skip("fio is not installed")
    argv = ["fio", "--name=j", "--filename=file", "--size=1M", "--bs=4k", "--rw=randrw",
            "--ioengine=psync", "--numjobs=3", "--randseed=1", "--loops=4", "--output=fio.out",
            "--allow_mounted_write=1"]
    run(argv)  # lays the file out, which is not to be counted in one run only
    untraced = strace_counts(argv, NAMES)
    traced = Traced(*argv)
    for name, op in (("pread64", "pread"), ("pwrite64", "pwrite")):
        missing = untraced[name] - traced.calls[op]
        assert 0 <= missing <= LOADER[name], (name, untraced, traced.calls)
    assert traced.calls["pread"] + traced.calls["pwrite"] == 3 * 4 * 256, traced.calls


def threads_are_counted_together():
    traced = Traced(*probe("threads", 40, 2500))
    assert traced.calls == {"open": 1, "pread": 100000}, traced.calls
    zero = traced.files["/dev/zero"]
    assert zero["calls"] == 100001 and zero["bytes"] == 1600000, zero


def forks_and_execs_are_followed():
    traced = Traced(*probe("tree", 5))
    assert traced.calls == {"open": 6, "write": 11}, traced.calls


def every_exec_call_is_followed():
    traced = Traced(*probe("execs"))
    assert traced.calls == {"open": 9, "close": 8, "write": 8}, traced.calls
    assert traced.files["/dev/null"]["calls"] == 24, traced.files


def a_child_of_clone_counts_only_its_own_calls():
    traced = Traced(*probe("rawfork"))
    assert traced.calls == {"open": 1, "write": 30}, traced.calls
    assert traced.files["/dev/null"]["bytes"] == 30, traced.files


def _handlers(name):
    traced = Traced(*probe(name, 400000))
    handled = int(traced.out)
    assert handled > 0
    assert traced.calls["pread"] + traced.calls["write"] + traced.lost["calls"] == \
        400000 + handled, (traced.calls, handled, traced.lost)
    # the maps are there for a handler, too: what is lost is an exception
    assert traced.lost["calls"] * 20 <= handled, (traced.lost, handled)
    assert traced.report["unfinished"] == 0
    for f in traced.files.values():
        assert f["worst_ns"] < traced.report["seconds"] * 1e9, f


def calls_of_a_signal_handler_are_counted():
    _handlers("timer")


def calls_of_a_signal_handler_on_another_stack_are_counted():
    _handlers("altstack")


def a_number_that_means_another_file_counts_to_that():
    traced = Traced(*probe("descriptors", os.getcwd()))
    want = {"close": 3, "dup2": 5, "dup3": 7, "range": 11, "stream": 13, "reopen": 17}
    assert {name: traced.bytes_of(name) for name in want} == want, traced.files


def what_a_child_of_vfork_redirects_stays_its_own():
    traced = Traced(*probe("vfork", os.getcwd()))
    assert (traced.bytes_of("parent"), traced.bytes_of("child")) == (7, 5), traced.files


def processes_killed_in_the_middle_do_not_disturb_the_others():
    traced = Traced("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do "
                    "timeout -s KILL 0.0$i dd if=/dev/zero of=/dev/null bs=64; done & "
                    "dd if=/dev/zero of=/dev/null bs=64 count=100000 status=none; wait",
                    status=None)
    assert traced.status == 0 and traced.calls["write"] >= 100000, traced.calls
    assert not any(traced.lost.values()), traced.lost


def more_files_than_there_is_room_for_are_said_to_be_lost():
    traced = Traced("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo >f$i; done; "
                    "cat f?; exec cat f?", options=["-f", "4"])
    assert traced.calls["read"] >= 36, traced.calls
    assert traced.lost["calls"] == 0 and traced.lost["calls_of_files"] > 0, traced.lost
    assert len(traced.files) == 4, traced.files


main(tests_of(globals()))
