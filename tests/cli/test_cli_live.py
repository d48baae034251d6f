#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""test_cli_live - large maps, maps in use, and maps one may only read.

    test_cli_live.py USERMAP FILL ENTRIES [nolimit]

FILL is the program of fill.c. With nolimit the memory of the command is not
bounded, since a sanitizer's own would not fit.
"""
import hashlib
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

USERMAP, FILL = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ENTRIES = int(sys.argv[3])
LIMIT = 0 if sys.argv[4:] == ["nolimit"] else 16 << 20
failures = []
cases = 0


def check(name, good, *more):
    global cases
    cases += 1
    if not good:
        failures.append(name)
        print("FAIL", name, *more)


def bounded():
    """Heap and private mappings; what is mapped of the map's file does not count."""
    if LIMIT:
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))


def start(*args, **more):
    return subprocess.Popen([USERMAP, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, preexec_fn=bounded, **more)


def run(*args, **more):
    process = start(*args, **more)
    out, err = process.communicate()
    return process.returncode, out.decode(), err.decode()


def plain_entries(lines):
    """Entries of fill.c's maps: 4 bytes below `key:`, 24 in two lines below `value:`."""
    lines = iter(lines)
    for line in lines:
        if line.startswith("Found"):
            yield line
            return
        assert line == "key:\n", line
        key = next(lines)
        line = next(lines)
        assert line == "value:\n", line
        yield struct.unpack("=I3Q", bytes.fromhex(key + next(lines) + next(lines)))


def json_entries(file):
    """The same from one line of JSON, not all of it in memory at once."""
    rest = ""
    for piece in iter(lambda: file.read(1 << 20), ""):
        pieces = (rest + piece).split("},{")
        rest = pieces.pop()
        yield from pieces
    yield rest


def words(entry):
    assert list(entry) == ["key", "value"], entry
    return struct.unpack("=I3Q", bytes(int(b, 16) for b in entry["key"] + entry["value"]))


def large_map():
    """Every entry comes, once, in the memory of one."""
    subprocess.run([FILL, "large", str(ENTRIES)], check=True)

    process = start("map", "dump", "name", "large")
    seen = set()
    last = None
    for entry in plain_entries(line.decode() for line in process.stdout):
        last = entry
        if not isinstance(entry, str):
            seen.add(entry[0] if entry[1:] == (3 * entry[0], 3 * entry[0], 0) else -1)
    check("large_plain", process.wait() == 0, process.stderr.read())
    check("large_plain_count", last == f"Found {ENTRIES} elements\n", last)
    check("large_plain_keys", seen == set(range(ENTRIES)), len(seen))

    byte = '"0x[0-9a-f]{2}"'
    shape = re.compile(rf'"key":\[(?:{byte},){{3}}{byte}\],"value":\[(?:{byte},){{23}}{byte}\]')
    process = start("-j", "map", "dump", "name", "large")
    keys = 0
    good = True
    text = os.fdopen(os.dup(process.stdout.fileno()), "r", encoding="ascii")
    previous = None
    for entry in json_entries(text):
        if previous is None:
            good &= entry.startswith("[{")
            entry = entry[2:]
        elif not shape.fullmatch(previous):
            good = False
        keys += 1
        previous = entry
    check("large_json", process.wait() == 0, process.stderr.read())
    check("large_json_shape", good and previous.endswith("}]\n") and
          shape.fullmatch(previous[:-3]), previous)
    check("large_json_count", keys == ENTRIES, keys)
    os.unlink(f"{maps}/large")


def right(name, entries, n):
    """Keys that stay come once each, no value is torn, nothing comes that never was."""
    stay = [e[0] for e in entries if e[0] < n]
    check(f"{name}_each_once", sorted(stay) == list(range(n)), len(stay), "of", n)
    guests = [e[0] for e in entries if e[0] >= n]
    check(f"{name}_no_strangers", all(k < 2 * n for k in guests))
    torn = [e for e in entries if not e[1] == e[2] == 3 * e[0]]
    check(f"{name}_not_torn", not torn, torn[:3])


def busy_map():
    """A dump comes to its end while another process writes as fast as it can."""
    n = max(ENTRIES // 100, 100)
    writer = subprocess.Popen([FILL, "busy", str(n), "100"], stdout=subprocess.PIPE)
    writer.stdout.readline()
    for turn in range(3):
        status, out, err = run("map", "dump", "name", "busy")
        check("busy_plain", status == 0, err)
        entries = list(plain_entries(out.splitlines(keepends=True)))
        found = entries.pop()
        check("busy_plain_count", found == f"Found {len(entries)} elements\n", found)
        right("busy_plain", entries, n)
        status, out, err = run("-p" if turn else "-j", "map", "dump", "name", "busy")
        check("busy_json", status == 0, err)
        right("busy_json", [words(entry) for entry in json.loads(out)], n)
        status, out, err = run("-j", "map", "lookup", "name", "busy", "key", "u32", "7")
        check("busy_lookup", status == 0 and words(json.loads(out))[:3] == (7, 21, 21), out, err)
        status, out, err = run("-j", "map", "show", "name", "busy")
        check("busy_show", status == 0, err)
        check("busy_count", n <= json.loads(out)["stats"]["count"] <= 2 * n, out)
    status, out, err = run("map", "update", "name", "busy", "key", "u32", "7",
                           "value", "u64", "21", "u64", "21", "u64", "0")
    check("busy_update", status == 0, err)
    check("busy_writer_lives", writer.poll() is None)
    writer.terminate()
    check("busy_writer_ends_well", writer.wait() == 0)
    os.unlink(f"{maps}/busy")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest(), os.stat(path).st_mtime_ns


def stranger(uid):
    """Who may read the file, and no more, sees everything and changes nothing."""
    subprocess.run([FILL, "shown", "100"], check=True)
    path = f"{maps}/shown"
    program = shutil.copy(USERMAP, f"{top}/usermap")
    who = dict(user=uid, group=uid, extra_groups=[]) if uid else {}

    def as_stranger(*args):
        done = subprocess.run([program, *args], capture_output=True, text=True, **who)
        return done.returncode, done.stdout, done.stderr

    os.chmod(top, 0o755)
    os.chmod(maps, 0o555)
    os.chmod(path, 0o444)
    before = digest(path)
    for words_ in (["dump"], ["show"], ["lookup", "key", "u32", "5"], ["getnext"]):
        for option in ([], ["-j"]):
            args = option + ["map", words_[0], "name", "shown"] + words_[1:]
            status, out, err = as_stranger(*args)
            check(f"stranger_{words_[0]}", status == 0 and not err, err)
            if words_[0] == "dump" and not option:
                check("stranger_dump_is_whole", out.endswith("\nFound 100 elements\n"), out[-80:])
    status, out, err = as_stranger("map", "show")
    check("stranger_lists", status == 0 and "name fill" in out, out, err)
    writes = (["update", "key", "u32", "5", "value"] + ["u64", "1"] * 3,
              ["delete", "key", "u32", "5"], ["freeze"])
    for words_ in writes:
        status, out, err = as_stranger("map", words_[0], "pinned", path, *words_[1:])
        check(f"stranger_may_not_{words_[0]}", status == 255 and not out and
              err.startswith(f"Error: bpf obj get ({path}): "), status, out, err)
    check("stranger_changed_nothing", digest(path) == before)
    os.chmod(path, 0o000)
    status, out, err = as_stranger("map", "dump", "name", "shown")
    check("stranger_without_permission", status == 255 and
          err.startswith(f"Error: bpf obj get ({path}): "), err)
    status, out, err = as_stranger("-j", "map", "show")
    check("stranger_list_says_what_is_left_out", status == 0 and out == "[]\n" and
          err.startswith(f"Left out {path}: "), out, err)
    os.chmod(maps, 0o000)
    hint = "(set USERMAP_DIR to a directory of your own"
    for words_ in (["show"], ["dump", "name", "shown"], ["show", "pinned", path],
                   "create new type hash key 4 value 8 entries 2 name new".split()):
        status, out, err = as_stranger("map", *words_)
        check(f"stranger_gets_a_hint_{words_[0]}", status != 0 and not out and maps in err and
              hint in err and err.count("\n") == 1, status, out, err)
    os.chmod(maps, 0o755)
    os.chmod(path, 0o600)


def cut_while_read():
    """A file cut short under a dump ends it with a sentence, not with a signal."""
    subprocess.run([FILL, "cut", str(ENTRIES // 4)], check=True)
    process = start("map", "dump", "name", "cut")
    process.stdout.readline()  # it is in the walk, and will wait for the pipe
    os.truncate(f"{maps}/cut", 4096)
    out, err = process.communicate()
    check("cut_while_read", process.returncode == 255 and
          err == b"Error: the file of the map was cut short while it was open\n",
          process.returncode, err)
    os.unlink(f"{maps}/cut")


top = tempfile.mkdtemp(prefix="usermap-cli.", dir=os.environ.get("TMPDIR", "/dev/shm"))
maps = f"{top}/maps"
os.environ["USERMAP_DIR"] = maps
try:
    large_map()
    busy_map()
    stranger(65534 if os.geteuid() == 0 else 0)
    if LIMIT:
        cut_while_read()
finally:
    shutil.rmtree(top)
print(f"{cases} cases, {len(failures)} failed")
sys.exit(bool(failures))
