# Shortcuts for CMake and Ninja. Everything else is in CMakeLists.txt and tools/.
# SPDX-License-Identifier: Apache-2.0
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# tests at a time
TESTS ?= $(JOBS)
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all examples tests demo check test install wheel deb asan tsan memcheck fuzz coverage format clean help
all:  ## build the library and the program, build/fulgurite
	@tools/install-deps build
	@test -f build/build.ninja || cmake --preset dev
	@cmake --build build -j $(JOBS) --target product

examples: all  ## build the examples, build/examples
	@cmake --build build -j $(JOBS) --target examples

tests: all  ## build everything, including tests and examples
	@tools/install-deps test
	@cmake --build build -j $(JOBS)

demo: all  ## train a small CNN on handwritten digits and plot its metrics
	@tools/demo

check:  ## run all tests and checks; install what they need
	@JOBS=$(JOBS) tools/check-all

test: tests  ## run the tests
	@ctest --test-dir build -j $(TESTS) --output-on-failure

install: all  ## install under PREFIX [/usr/local]
	@DESTDIR=$(DESTDIR) cmake --install build --prefix $(PREFIX)

wheel: all  ## build a Python wheel with the program and the library: build/packages
	@tools/make-wheel build

deb: all  ## build the Debian packages: build/packages
	@tools/install-deps package && tools/make-deb build

asan:  ## run all tests with AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/install-deps build test && cmake --preset asan >/dev/null && cmake --build build-asan -j $(JOBS)
	@FGT_FAULT_STRIDE=3 LSAN_OPTIONS=suppressions=$(CURDIR)/tests/support/lsan.supp:print_suppressions=0 \
	    ctest --test-dir build-asan -j $(TESTS) --output-on-failure

tsan:  ## run the tests of our own threads with ThreadSanitizer
	@tools/install-deps build test && cmake --preset tsan >/dev/null
	@cmake --build build-tsan -j $(JOBS) --target tsan_tests
	@FGT_FAULT_STRIDE=5 ctest --test-dir build-tsan -j $(JOBS) -L tsan --output-on-failure

memcheck: tests  ## run the same tests under valgrind
	@tools/install-deps check && JOBS=$(JOBS) tools/memcheck

fuzz:  ## run each fuzz target for SECONDS [60]
	@tools/install-deps build test check
	@cmake --preset fuzz -DFG_FUZZ_SECONDS=$(or $(SECONDS),60) >/dev/null
	@cmake --build build-fuzz -j $(JOBS) && ctest --test-dir build-fuzz -L fuzz --output-on-failure

coverage:  ## report the lines of src that the tests execute: build-coverage/coverage.html
	@tools/install-deps build test coverage && cmake --preset coverage >/dev/null
	@cmake --build build-coverage -j $(JOBS) && ctest --test-dir build-coverage -j $(JOBS) -Q || true
	@gcovr --root . --filter src/ --exclude '.*pb-c.*' --object-directory build-coverage \
	    --html-details build-coverage/coverage.html --print-summary

format:  ## format all C files with clang-format
	@tools/check.d/written | xargs clang-format -i

clean:  ## remove all build folders
	@rm -rf build build-*

help:  ## print this list
	@sed -n 's/^\([a-z]*\):[^#]*## */  make \1\t/p' Makefile | expand -t 18
