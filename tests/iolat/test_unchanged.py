#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""test_unchanged - a program does under usermap-iolat what it does without."""
import os
import shutil
import signal
import subprocess
import time

from iolat import IOLAT, Skip, Traced, iolat, main, probe, run, tests_of


def _same(*argv, **more):
    alone = run(argv, **more)
    traced = Traced(*argv, status=None, **more)
    assert (traced.status, traced.out, traced.err) == alone, (alone, traced.status, traced.err)
    return traced


def output_is_the_same_byte_for_byte():
    with open("file", "wb") as file:
        file.write(bytes(range(256)) * 1000)
    for argv in (["cat", "file", "missing"], ["od", "-c", "file"], ["ls", "-la", "/etc"],
                 ["sh", "-c", "echo out; echo err >&2; cat file | tr a b | wc -c; exit 5"],
                 ["bash", "-c", "exec 3<file; read -N 10 -u 3 x; printf %q \"$x\""],
                 ["perl", "-e", "open F, 'file'; binmode F; print <F>; print `echo hi`; exit 3"],
                 ["/usr/bin/python3", "-c", "import subprocess as s; print(s.run(['cat', 'file'],"
                  "capture_output=True, close_fds=True).stdout)"]):
        if shutil.which(argv[0]):
            _same(*argv)


def exit_status_is_the_same():
    for status in (0, 1, 2, 77, 125, 255):
        assert _same("sh", "-c", f"exit {status}").status == status


def death_by_a_signal_is_the_same():
    for name in ("SIGTERM", "SIGKILL", "SIGSEGV", "SIGPIPE", "SIGABRT", "SIGUSR1"):
        number = getattr(signal, name)
        traced = _same(*probe("kill", int(number)))
        assert traced.status == -number, traced.status
        assert traced.report["signal"] == number, traced.report


def standard_input_is_the_commands():
    with open("file", "wb") as file:
        file.write(b"line\n" * 1000)
    with open("file", "rb") as one, open("file", "rb") as two:
        assert run(["cat"], stdin=one)[1] == iolat("cat", options=["-q"], stdin=two)[1]


def open_gives_the_lowest_descriptor():
    assert _same(*probe("lowest")).out == b"3\n"


def a_program_that_closes_all_descriptors_goes_on_being_traced():
    traced = _same("/usr/bin/python3", "-c", "import os\n"
                   "os.closerange(3, 5000)\n"
                   "for fd in range(3, 2000):\n"
                   "    try: os.close(fd)\n"
                   "    except OSError: pass\n"
                   "if os.fork() == 0:\n"
                   "    fd = os.open('/dev/zero', 0)\n"
                   "    for i in range(50): os.pread(fd, 10, 0)\n"
                   "    os._exit(0)\n"
                   "os.wait()\n")
    assert traced.calls["pread"] == 50, traced.calls
    assert not any(traced.lost.values()), traced.lost


def a_cancelled_thread_leaves_nothing_behind():
    traced = _same(*probe("cancel"))
    assert traced.status == 0 and traced.report["unfinished"] == 0, traced.report


def a_call_left_by_longjmp_leaves_nothing_behind():
    traced = _same(*probe("longjmp"))
    assert traced.status == 0 and traced.report["unfinished"] == 0, traced.report
    assert traced.calls == {"read": 1, "write": 1}, traced.calls


def _start_block(**more):
    p = subprocess.Popen([IOLAT, "-q", "-j", "-o", "report.json", "--", *probe("block")],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)
    assert p.stdout.readline() == b"ready\n"
    return p


def a_signal_sent_to_iolat_reaches_the_command():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        p = _start_block()
        p.send_signal(number)
        assert p.wait(60) == -number, p.returncode
        with open("report.json") as file:
            assert f'"signal":{int(number)}' in file.read()


def a_signal_of_the_terminal_is_the_commands_alone_to_act_on():
    p = subprocess.Popen(
        [IOLAT, "-q", "-o", "report", "--", "sh", "-c",
         "trap 'echo trapped; exit 9' INT; echo ready; while :; do sleep 0.05; done"],
        stdout=subprocess.PIPE, start_new_session=True)
    assert p.stdout.readline() == b"ready\n"
    os.killpg(p.pid, signal.SIGINT)
    out, _ = p.communicate(timeout=60)
    assert p.returncode == 9 and out.startswith(b"trapped\n"), (p.returncode, out)


def an_ignored_signal_stays_ignored():
    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    p = _start_block(preexec_fn=ignore)
    p.send_signal(signal.SIGHUP)
    time.sleep(0.1)
    p.stdin.close()
    assert p.wait(60) == 0, p.returncode


def ignored_children_do_not_hide_the_exit_status():
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    assert iolat("sh", "-c", "exit 6", options=["-q"], preexec_fn=ignore)[0] == 6


def a_preloaded_library_of_the_user_stays():
    traced = Traced("sh", "-c", "echo $LD_PRELOAD",
                    env={**os.environ, "LD_PRELOAD": "libc.so.6"})
    assert traced.out.rstrip().endswith(b":libc.so.6"), traced.out


def a_process_that_cannot_have_the_maps_runs_untraced():
    # no room for their descriptors
    traced = Traced("sh", "-c", "ulimit -n 4; exec cat /etc/passwd")
    assert traced.out == open("/etc/passwd", "rb").read()
    assert traced.lost["processes"] == 1, traced.lost
    err = iolat("sh", "-c", "ulimit -n 4; exec cat /etc/passwd", options=["-q"])[2]
    assert b"\n1 process was not traced: " in err, err
    if os.geteuid():
        raise Skip("dropping privileges needs root")


main(tests_of(globals()))
