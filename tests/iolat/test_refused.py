#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""test_refused - what usermap-iolat will not do, it says in one sentence."""
import os
import shutil
import struct

from iolat import Skip, iolat, main, program, run, IOLAT, tests_of


def _refused(status, sentence, *argv, options=()):
    got = iolat(*argv, options=options)
    err = got[2].decode()
    assert got[0] == status and got[1] == b"", (argv, got)
    assert sentence in err and err.count("\n") == 1, err
    assert err.startswith("usermap-iolat: "), err


def _copy_of_true(name, mode):
    shutil.copy(os.path.realpath("/bin/true"), name)
    os.chmod(name, mode)
    return os.path.abspath(name)


def a_static_program_is_not_traceable():
    _refused(1, "not traceable: it is statically linked", program("static"), "lowest")


def a_set_user_id_program_is_not_traceable():
    _refused(1, "not traceable: it is a set-user-ID program", _copy_of_true("suid", 0o4755))
    if shutil.which("passwd"):
        _refused(1, "not traceable: it is a set-user-ID program", "passwd", "--help")


def a_set_group_id_program_is_not_traceable():
    _refused(1, "not traceable: it is a set-group-ID program", _copy_of_true("sgid", 0o2755))


def a_program_with_capabilities_is_not_traceable():
    path = _copy_of_true("caps", 0o755)
    try:
        # revision 2, effective; CAP_NET_RAW permitted
        os.setxattr(path, "security.capability",
                    struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))
    except OSError as err:
        raise Skip(f"cannot give capabilities: {err}") from err
    _refused(1, "not traceable: it has file capabilities", path)


def a_32_bit_program_is_not_traceable():
    with open("elf32", "wb") as file:
        file.write(b"\x7fELF\x01\x01\x01".ljust(16, b"\0") + struct.pack("<HHI", 2, 3, 1))
        file.write(bytes(200))
    os.chmod("elf32", 0o755)
    _refused(1, "not traceable: it is a 32-bit program", "./elf32")


def a_damaged_program_is_not_traceable():
    with open(os.path.realpath("/bin/true"), "rb") as file:
        head = file.read(64)
    with open("cut", "wb") as file:
        file.write(head)
    os.chmod("cut", 0o755)
    _refused(1, "not traceable: its program header is damaged", "./cut")


def a_script_is_what_its_interpreter_is():
    with open("script", "w") as file:
        file.write(f"#! {program('static')} lowest\n")
    os.chmod("script", 0o755)
    _refused(1, f"{program('static')} is not traceable: it is statically linked", "./script")
    with open("good", "w") as file:
        file.write("#!/bin/sh\necho yes\n")
    os.chmod("good", 0o755)
    assert iolat("./good", options=["-q", "-o", "/dev/null"])[:2] == (0, b"yes\n")
    with open("plain", "w") as file:
        file.write("echo plain\n")
    os.chmod("plain", 0o755)
    assert iolat("./plain", options=["-q", "-o", "/dev/null"])[:2] == (0, b"plain\n")


def a_program_that_is_not_there_is_127():
    _refused(127, "no such program", "no-such-program-anywhere")
    _refused(127, "no such program", "/no/such/program")
    _refused(127, "no such program", "")


def a_program_that_cannot_be_executed_is_126():
    with open("data", "w") as file:
        file.write("data\n")
    _refused(126, "cannot be executed", "./data")
    _refused(126, "cannot be executed", "/etc")


def wrong_options_are_refused_before_anything_runs():
    for options, sentence in ((["-i", "0"], "interval"), (["-i", "x"], "interval"),
                              (["-i", "nan"], "interval"),
                              (["-p", "toolong89"], "1 to 8"), (["-p", "a/b"], "1 to 8"),
                              (["-p", ""], "1 to 8"), (["-f", "0"], "number of files"),
                              (["-f", "-1"], "number of files"), (["-f", "9z"], "number of files")):
        _refused(2, sentence, "touch", "made", options=options)
    status, out, err = run([IOLAT, "-Z", "touch", "made"])
    assert status == 2 and out == b"" and b"'Z'" in err, (status, out, err)
    status, out, err = run([IOLAT])
    assert status == 2 and out == b"" and b"which command" in err, (status, out, err)
    assert not os.path.exists("made")


def help_and_version_go_to_standard_output():
    for option, text in (("--help", b"Usage: usermap-iolat"), ("-V", b"usermap-iolat 0.")):
        status, out, err = run([IOLAT, option])
        assert status == 0 and out.startswith(text) and err == b"", (status, out, err)


def a_report_that_cannot_be_written_is_refused_before_anything_runs():
    _refused(1, "cannot be written", "touch", "made", options=["-o", "/no/such/file"])
    assert not os.path.exists("made")


def a_report_that_fills_the_disk_is_an_error():
    status, _, err = iolat("true", options=["-q", "-o", "/dev/full"])
    assert status == 1 and b"the report cannot be written" in err, (status, err)


def maps_that_are_there_are_left_alone():
    maps = os.environ["USERMAP_DIR"]
    assert iolat("true", options=["-q", "-o", "/dev/null", "-k", "-p", "mine"])[0] == 0
    before = sorted(os.listdir(maps))
    assert before == ["mine.files", "mine.hist", "mine.starts"], before
    _refused(1, f"the maps mine.* cannot be made in {maps}: ", "touch", "made", options=["-q", "-p", "mine"])
    assert sorted(os.listdir(maps)) == before and not os.path.exists("made")
    os.remove(os.path.join(maps, "mine.starts"))
    _refused(1, f"the maps mine.* cannot be made in {maps}: ", "touch", "made", options=["-q", "-p", "mine"])
    assert sorted(os.listdir(maps)) == ["mine.files", "mine.hist"]
    for name in os.listdir(maps):
        os.remove(os.path.join(maps, name))


def a_directory_of_another_user_is_said_to_be_one():
    maps = os.environ["USERMAP_DIR"]
    if os.geteuid():
        os.chmod(maps, 0)
    os.environ["USERMAP_DIR"] = maps if os.geteuid() else "/no/such"
    _refused(1, f"cannot be made in {os.environ['USERMAP_DIR']}: ", "touch", "made", options=["-q"])
    if os.geteuid():
        os.chmod(maps, 0o700)
        return
    # as another user, with a program that this one can reach
    os.environ["USERMAP_DIR"] = maps
    top = os.path.dirname(shutil.copy(IOLAT, os.getcwd() + "/iolat"))
    os.chmod(top, 0o755)
    status, _, err = run([top + "/iolat", "true"], user=65534, group=65534, extra_groups=[])
    assert status == 1 and err.count(b"\n") == 1, (status, err)
    assert f"in {maps}: ".encode() in err and b"; set USERMAP_DIR to a dir" in err, err


def a_library_that_is_not_there_is_said_so():
    os.environ["USERMAP_IOLAT_LIB"] = "/no/such/library"
    try:
        _refused(1, "$USERMAP_IOLAT_LIB names /no/such/library", "touch", "made")
    finally:
        del os.environ["USERMAP_IOLAT_LIB"]
    assert not os.path.exists("made")


main(tests_of(globals()))
