# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# make                      build the library, usermap and usermap-iolat in build/
# make run                  trace a real program and look into its maps meanwhile
# make test                 build everything and run every check and test
# make bench [BENCH=ARGS]   usermap-bench with ARGS
# make install [PREFIX=DIR] install, without asserts; DESTDIR is added in front
# make clean                remove what these made
#
# run, test and bench install missing Debian packages first (scripts/packages).
# All building is meson's: meson.build.

BUILD ?= build
INSTALL_BUILD ?= build-install
TEST_BUILD ?= build-test
PREFIX ?= /usr/local
BENCH ?= htab-lookup htab-update htab-full-update
export PREFIX DESTDIR TEST_BUILD

# meson has its own idea of jobs.
unexport MAKEFLAGS MFLAGS MAKELEVEL

all:
	@scripts/install-packages --check build
	@scripts/build $(BUILD) -Dtests=false -Dbench=false

run:
	@scripts/install-packages build
	@scripts/build $(BUILD) -Dtests=false -Dbench=false
	@scripts/run-demo $(BUILD)

test:
	@scripts/install-packages build bench test
	@scripts/test

bench:
	@scripts/install-packages build bench
	@scripts/build --release $(INSTALL_BUILD)
	@$(INSTALL_BUILD)/bench/usermap-bench $(BENCH)

install:
	@scripts/install $(INSTALL_BUILD)

clean:
	rm -rf $(BUILD) $(INSTALL_BUILD) $(TEST_BUILD)

.PHONY: all run test bench install clean
