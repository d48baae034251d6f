#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""test_report - what usermap-iolat prints, and what its maps show meanwhile."""
import json
import os
import re
import subprocess

from iolat import IOLAT, USERMAP, Traced, iolat, main, probe, program, run, tests_of

HEADER = re.compile(r"^     (usecs|nsecs) {15}: count     distribution$")
ROW = re.compile(r"^ *(\d+) -> (\d+) *: (\d+) +\|(\**)( *)\|$")


def _histograms(text):
    """Operation -> (calls, unit, rows); each line must be as it should."""
    found = {}
    for block in text.split("\n\n"):
        lines = block.strip("\n").split("\n")
        head = re.match(r"^(\w+): (\d+) calls$", lines[0])
        if not head or len(lines) < 2:
            continue
        unit = HEADER.match(lines[1])
        assert unit, lines[1]
        rows = []
        for line in lines[2:]:
            row = ROW.match(line)
            assert row and len(row[4] + row[5]) == 40, line
            rows.append((int(row[1]), int(row[2]), int(row[3]), len(row[4])))
        found[head[1]] = (int(head[2]), unit[1], rows)
    return found


def histograms_have_the_shape_of_bcc():
    for options, unit in (([], "usecs"), (["-n"], "nsecs")):
        status, _, err = iolat("dd", "if=/dev/zero", "of=/dev/null", "count=5000", "status=none",
                               options=["-q", *options])
        assert status == 0
        histograms = _histograms(err.decode())
        assert {"read", "write", "open", "close"} <= set(histograms), err.decode()
        for calls, got, rows in histograms.values():
            assert got == unit and calls == sum(row[2] for row in rows), rows
            most = max(row[2] for row in rows)
            for i, (low, high, nr, stars) in enumerate(rows):
                assert (low, high) == ((0, 1) if i == 0 else (1 << i, (2 << i) - 1)), rows
                assert stars == 40 * nr // most, rows
            assert rows[-1][2] > 0, rows
        assert histograms["read"][0] == 5000, histograms


def files_are_listed_slowest_and_busiest():
    for i in range(12):
        with open(f"file{i:02}", "wb") as file:
            file.write(b"x" * (1 + i) * 512)
    argv = ["sh", "-c", "for i in file*; do dd if=$i of=/dev/null bs=512 status=none; done"]
    traced = Traced(*argv)
    files = traced.report["files"]
    for order, key in (("slowest", "worst_ns"), ("busiest", "calls")):
        assert len(files[order]) == 10, files[order]
        values = [f[key] for f in files[order]]
        assert values == sorted(values, reverse=True) and values[-1] > 0, values
    for f in files["busiest"]:
        assert f["worst_ns"] <= f["total_ns"], f
    big = next(f for f in files["busiest"] if f["file"] == os.path.abspath("file11"))
    assert big["bytes"] == 12 * 512 and big["inode"] == os.stat("file11").st_ino, big
    text = iolat(*argv, options=["-q"])[2].decode()
    assert "slowest files, by their worst call\n" in text and "busiest files, by calls\n" in text
    assert re.search(rf" {12 * 512}  {re.escape(os.path.abspath('file11'))}\n", text), text


def names_of_files_cannot_spoil_the_report():
    name = b"new\nline\x1b[31m\xff\xc3\xa9\\"
    with open(name, "wb") as file:
        file.write(b"x")
    os.mkdir("d" * 200)
    with open("d" * 200 + "/" + "e" * 100, "wb") as file:
        file.write(b"x")
    argv = ["dd", b"if=" + name, "of=" + "d" * 200 + "/" + "e" * 100, "status=none"]
    more = ["-q", "-j", "-o", "report.json", "--"]
    assert subprocess.run([IOLAT, *more, *argv]).returncode == 0
    with open("report.json", encoding="utf-8") as file:
        names = {f["file"] for f in json.load(file)["files"]["busiest"]}
    assert os.path.abspath(".") + r"/new\x0aline\x1b[31m\xffé\x5c" in names, names
    assert any(n.startswith("...") and n.endswith("e" * 100) for n in names), names


def json_says_what_was_run():
    traced = Traced("sh", "-c", "exit 4", status=4)
    assert traced.report["command"] == ["sh", "-c", "exit 4"], traced.report
    assert traced.report["exit_status"] == 4 and "signal" not in traced.report
    assert traced.report["pid"] > 0 and traced.report["seconds"] > 0


def nothing_traced_is_a_report_too():
    traced = Traced("true")
    assert traced.report["intervals"] == [], traced.report
    assert iolat("true", options=["-q"])[0] == 0


def intervals_are_printed_as_time_goes_by():
    argv = ["sh", "-c", "for i in 1 2 3 4 5 6; do dd if=/dev/zero of=/dev/null count=100 "
            "status=none; sleep 0.1; done"]
    traced = Traced(*argv, options=["-i", "0.1"])
    intervals = traced.report["intervals"]
    assert len(intervals) >= 3, intervals
    seen = sum(o["calls"] for i in intervals for o in i["operations"] if o["operation"] == "read")
    assert 100 <= seen <= traced.calls["read"], (seen, traced.calls)
    assert [i["at_s"] for i in intervals] == sorted(i["at_s"] for i in intervals)
    text = iolat(*argv, options=["-q", "-i", "0.1"])[2].decode()
    assert len(re.findall(r"^time +operation +calls ", text, re.M)) == 1, text
    rows = re.findall(r"^\d\d:\d\d:\d\d  read +(\d+) +\d+ +[\d.]+ +[\d.]+ +[\d.]+$", text, re.M)
    assert 1 <= len(rows) and sum(map(int, rows)) <= 600 + 24, text


def output_goes_where_it_is_told():
    status, out, err = iolat("echo", "hello", options=["-q", "-o", "report"])
    assert (status, out, err) == (0, b"hello\n", b""), (status, out, err)
    with open("report") as file:
        assert re.search(r"^echo: \d+ calls in ", file.read(), re.M)
    status, out, err = iolat("echo", "hello")
    assert (status, out) == (0, b"hello\n")
    assert re.match(rb"usermap-iolat: maps \S+\.starts, \.hist and \.files; look with: "
                    rb"usermap map dump pinned \S+\.hist\n", err), err


def _blocked(prefix, name="block"):
    p = subprocess.Popen([IOLAT, "-q", "-p", prefix, "-o", "report.json", "-j", "--",
                          *probe(name)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"ready\n"
    return p, os.path.join(os.environ["USERMAP_DIR"], prefix)


def another_process_sees_the_maps_live():
    p, prefix = _blocked("live")
    # soon the write of "ready" is counted, and the read is under way
    for _ in range(1000):
        status, out, err = run([program("watch"), prefix])
        assert status == 0, err
        lines = out.decode().splitlines()
        if "call 4 0" in lines:
            break
    assert lines[0] == "calls 1" and "call 4 0" in lines, lines
    assert any(re.match(r"file 1 6 pipe:", line) for line in lines), lines
    p.stdin.write(b"x" * 1000)
    p.stdin.close()
    assert p.wait(60) == 0


def a_blocked_call_stays_visible_when_another_thread_execs_a_child():
    p, prefix = _blocked("vfork", "vforkblock")
    for _ in range(1000):
        lines = run([program("watch"), prefix])[1].decode().splitlines()
        if "call 4 0" in lines:
            break
    # the read of standard input, and the thread's read of a pipe
    assert sum(line.startswith("call 4 ") for line in lines) == 2, lines
    p.stdin.close()
    assert p.wait(60) == 0


def usermap_dumps_the_histogram_live():
    p, prefix = _blocked("dump")
    for _ in range(1000):
        status, out, err = run([USERMAP, "-j", "map", "dump", "pinned", prefix + ".hist"])
        assert status == 0, err
        entries = json.loads(out)
        if entries:
            break
    assert len(entries) == 1, entries
    key = bytes(int(b, 16) for b in entries[0]["key"])
    assert key[:4] == (5).to_bytes(4, "little"), key
    assert bytes(int(b, 16) for b in entries[0]["value"]) == (1).to_bytes(8, "little")
    status, out, err = run([USERMAP, "map", "show"])
    assert status == 0 and err == b"", (status, err)  # no file there that is no map
    status, out, err = run([USERMAP, "map", "show", "name", "dump.files"])
    assert status == 0 and b"name dump.files" in out, (out, err)
    p.stdin.close()
    assert p.wait(60) == 0
    assert run([USERMAP, "map", "dump", "pinned", prefix + ".hist"])[0] != 0


def kept_maps_say_the_same_as_the_report():
    traced = Traced("dd", "if=/dev/zero", "of=/dev/null", "count=77", "status=none",
                    options=["-k", "-p", "kept"])
    prefix = os.path.join(os.environ["USERMAP_DIR"], "kept")
    _, out, _ = run([program("watch"), prefix])
    assert f"calls {sum(traced.calls.values())}" in out.decode(), (out, traced.calls)
    for suffix in (".starts", ".hist", ".files"):
        os.remove(prefix + suffix)


def calls_that_have_not_ended_are_said_so():
    p, _ = _blocked("killed")
    status, out, _ = run(["pgrep", "-P", str(p.pid)])
    assert status == 0
    os.kill(int(out), 9)
    assert p.wait(60) == -9
    with open("report.json") as file:
        assert json.load(file)["unfinished"] == 1


main(tests_of(globals()))
