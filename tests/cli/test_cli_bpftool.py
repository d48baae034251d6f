#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""test_cli_bpftool - the same commands to bpftool and usermap, with the same answers.

    test_cli_bpftool.py USERMAP

Needs bpftool, root and a kernel that allows bpf(2). Numbers of maps, memory, the
order of a walk and paths differ; usermap's own members in JSON stand last.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

USERMAP = os.path.abspath(sys.argv[1])
failures = []
cases = 0


def skip(why):
    print(why, file=sys.stderr)
    sys.exit(77)


def run(program, folder, args):
    done = subprocess.run([program] + [a.replace("DIR", folder) for a in args],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return [done.returncode, done.stdout.replace(folder, "DIR"),
            done.stderr.replace(folder, "DIR")]


def alike(text):
    """Plain text without what may differ; entries of a walk sorted."""
    text = re.sub(r"^\d+: ", "N: ", text, flags=re.M)
    text = re.sub(r"memlock \d+B", "memlock NB", text)
    lines = text.splitlines()
    return "\n".join(sorted(lines) if lines and lines[-1].startswith("Found") else lines)


def same_json(theirs, ours, path=""):
    """Ours has all members of theirs, in their order, and may have more behind."""
    if isinstance(theirs, list) and isinstance(ours, list):
        key = lambda e: str(e.get("key", "")) if isinstance(e, dict) else ""
        if not path.endswith(("key", "value", "command")):
            theirs, ours = sorted(theirs, key=key), sorted(ours, key=key)
        return len(theirs) == len(ours) and all(
            same_json(t, o, path) for t, o in zip(theirs, ours))
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return list(ours)[:len(theirs)] == list(theirs) and all(
            same_json(theirs[k], ours[k], f"{path}.{k}") for k in theirs)
    if path.endswith((".id", ".bytes_memlock")):
        return isinstance(ours, int)
    return theirs == ours


def both(*args):
    global cases
    for option in ([], ["-j"], ["-p"]):
        if option and args[:2] in (("map", "update"), ("map", "delete")):
            continue
        cases += 1
        theirs = run("bpftool", bpf, option + list(args))
        ours = run(USERMAP, maps, option + list(args))
        if option and theirs[1].strip() and not theirs[2]:
            good = theirs[0] == ours[0] and same_json(json.loads(theirs[1]), json.loads(ours[1]))
            if option == ["-j"] and args[:2] in (("map", "lookup"), ("map", "getnext")):
                good &= theirs[1] == ours[1]
        else:
            good = theirs[0] == ours[0] and alike(theirs[1]) == alike(ours[1]) \
                and theirs[2].splitlines()[:1] == ours[2].splitlines()[:1]
        if not good:
            failures.append(args)
            print("FAIL", *option, *args, "\n  bpftool:", *theirs, "\n  usermap:", *ours)


def entries():
    both("map", "create", "DIR/flows", "type", "hash", "key", "4", "value", "8", "entries", "16",
         "name", "flows")
    flows = ("pinned", "DIR/flows")
    both("map", "show", *flows)
    both("map", "dump", *flows)
    both("map", "getnext", *flows)
    for key in range(3):
        both("map", "update", *flows, "key", str(key), "0", "0x0", "00",
             "value", "hex", "2b", "0", "0", "0", "0", "0", "0", "0xff", "noexist")
    both("map", "dump", *flows)
    both("map", "show", *flows)
    key = ("key", "1", "0", "0", "0")
    value = ("value", "1", "2", "3", "4", "5", "6", "7", "8")
    both("map", "lookup", *flows, *key)
    both("map", "lookup", *flows, "key", "9", "0", "0", "0")
    both("map", "update", *flows, *key, *value, "noexist")
    both("map", "update", *flows, "key", "9", "0", "0", "0", *value, "exist")
    both("map", "update", *flows, *value, *key, "exist")
    both("map", "delete", *flows, "key", "9", "0", "0", "0")
    both("map", "delete", *flows, "key", "0", "0", "0", "0")
    both("map", "delete", *flows, "key", "2", "0", "0", "0")
    both("map", "dump", *flows)
    both("map", "getnext", *flows)
    both("map", "getnext", *flows, *key)
    both("map", "getnext", *flows, "key", "9", "0", "0", "0")
    return flows, key, value


def words(flows, key, value):
    for bad in (["key", "1", "0", "0"], ["key"], ["key", "zz", "0", "0", "0"], [],
                ["key", "1", "0", "0", "0", "0"], ["key", "1", "0", "0", "0", "foo"],
                ["key", "1", "0", "0", "0", "value", "1"], ["foo"],
                ["key", "0x", "0", "0", "0"], ["key", "08", "0", "0", "0"],
                ["key", "1", "0", "0", "0", "key", "1", "0", "0", "0"]):
        both("map", "lookup", *flows, *bad)
    for bad in ([*key], [*key, "value", "1", "2"], [*key, *value, "any", "exist"],
                [*key, *value, "foo"], ["key", "1", "0", "0", *value], [*value]):
        both("map", "update", *flows, *bad)
    both("map", "lookup", "pin", "DIR/flows", "k", "1", "0", "0", "0")
    both("map", "show", "id", "abc")
    both("map", "show", "id", "4000000000")
    both("map", "show", "id")
    both("map", "show", "pinned")
    both("map", "dump", "foo", "bar")
    both("map", "dump", "pinned", "DIR/none")
    both("map", "lookup", "pinned", "DIR/none", *key)


def layouts():
    for key_size, value_size in ((1, 1), (8, 16), (9, 16), (16, 8), (16, 9), (16, 16), (17, 1),
                                 (1, 17), (33, 40)):
        name = f"m_{key_size}_{value_size}"
        both("map", "create", f"DIR/{name}", "type", "hash", "key", str(key_size),
             "value", str(value_size), "entries", "4", "name", name, "flags", "1")
        key = ["key", "hex"] + [f"{i:x}" for i in range(key_size)]
        value = ["value"] + [str(255 - i) for i in range(value_size)]
        both("map", "update", "pinned", f"DIR/{name}", *key, *value)
        both("map", "lookup", "pinned", f"DIR/{name}", *key)
        both("map", "dump", "pinned", f"DIR/{name}")
        both("map", "getnext", "pinned", f"DIR/{name}")
        both("map", "getnext", "pinned", f"DIR/{name}", "key", *["1"] * key_size)
        both("map", "lookup", "pinned", f"DIR/{name}", "key", *["1"] * key_size)
        both("map", "show", "pinned", f"DIR/{name}")


def limits(flows, key, value):
    both("map", "create", "DIR/one", "type", "hash", "key", "4", "value", "8", "entries", "1",
         "name", "one")
    one = ("pinned", "DIR/one")
    both("map", "update", *one, *key, *value)
    both("map", "update", *one, "key", "2", "0", "0", "0", *value)
    both("map", "update", *one, *key, *value)
    both("map", "pin", *one, "DIR/flows")
    both("map", "create", "DIR/one", "type", "hash", "key", "4", "value", "8", "entries", "1",
         "name", "one")
    create = ("map", "create", "DIR/x", "type")
    both(*create, "hash", "key", "4", "value", "8", "entries", "0", "name", "x")
    both(*create, "hash", "key", "0", "value", "8", "entries", "1", "name", "x")
    both(*create, "hash", "key", "4", "value", "8", "name", "x")
    both(*create, "hash", "key", "4", "value", "8", "entries", "1", "name", "a b")
    both(*create, "hash", "key", "4", "value", "8", "entries", "1", "name", "x", "flags",
         "0x80000000")
    both(*create, "hash", "key", "x", "value", "8", "entries", "1", "name", "x")
    both(*create, "hash", "key", "4", "value", "8", "entries", "x", "name", "x")
    both(*create, "nonesuch", "key", "4", "value", "8", "entries", "1", "name", "x")
    both(*create, "hash", "key", "4", "value", "8", "entries", "1")
    both(*create, "hash", "key", "4", "key", "4", "entries", "1", "name", "x")
    both(*create, "hash")
    both("map", "freeze")
    both("map", "freeze", *flows)
    both("map", "show", *flows)
    both("map", "update", *flows, *key, *value)
    both("map", "delete", *flows, *key)
    both("map", "freeze", *flows)


def batches():
    path = f"{top}/batch"
    with open(path, "w", encoding="ascii") as file:
        file.write("# comment\n\nmap lookup pinned F key 1 0 0 0  # behind\n"
                   "map lookup 'pinned' \"F\" \\\n key 9 0 0 0\nmap dump pinned F\n")
    global cases
    for option in ([], ["-j"], ["-p"]):
        answers = []
        cases += 1
        for program, folder in (("bpftool", bpf), (USERMAP, maps)):
            with open(path, encoding="ascii") as file:
                text = file.read().replace("F ", f"{folder}/one ").replace('"F"', f"{folder}/one")
            with open(f"{path}.{option}", "w", encoding="ascii") as file:
                file.write(text)
            answers.append(run(program, folder, option + ["batch", "file", file.name]))
        theirs, ours = answers
        if option:
            good = theirs[0] == ours[0] and same_json(json.loads(theirs[1]), json.loads(ours[1]))
        else:
            good = theirs == ours
        if not good:
            failures.append("batch")
            print("FAIL batch", *option, "\n  bpftool:", *theirs, "\n  usermap:", *ours)


def mounted(folder):
    done = subprocess.run(["mount", "-t", "bpf", "bpf", folder], capture_output=True, text=True)
    if done.returncode:
        skip(f"no BPF file system: {done.stderr.strip()}")


if not shutil.which("bpftool"):
    skip("bpftool is not installed")
if os.geteuid() != 0:
    skip("bpftool needs root")
top = tempfile.mkdtemp(prefix="usermap-cli.", dir=os.environ.get("TMPDIR", "/dev/shm"))
maps, bpf = f"{top}/maps", f"{top}/bpf"
os.environ["USERMAP_DIR"] = maps
os.mkdir(maps)
os.mkdir(bpf)
try:
    mounted(bpf)
    try:
        probe = run("bpftool", bpf, ["map", "create", "DIR/p", "type", "hash", "key", "4",
                                     "value", "4", "entries", "1", "name", "p"])
        if probe[0]:
            skip(f"bpf(2) is not allowed: {probe[2].strip()}")
        flows_, key_, value_ = entries()
        words(flows_, key_, value_)
        layouts()
        limits(flows_, key_, value_)
        batches()
    finally:
        subprocess.run(["umount", bpf], check=True)
finally:
    shutil.rmtree(top)
print(f"{cases} cases, {len(failures)} failed")
sys.exit(bool(failures))
