# SPDX-License-Identifier: Apache-2.0
# The front door. Meson and ninja do the work (meson.build); scripts/ holds what the targets run.
#
#   make           install what the build needs if it is missing, build build/reticle
#   make demo      record a bundled workload and show its report
#   make check     all tests and checks
#   make bench     speed and memory against perf, on a recording made in the run; cost and exactness of the virtual PMU
#   make bench-truth  function metrics against the virtual PMU's exact counts: errors, intervals, speed
#   make bench-stacks  what stitching call stacks of branch records costs
#   make bench-memory  Arm SPE: decoding, reports and tables of 500 MB of packets, beside perf
#   make bench-activity  what activities cost: calls of the library, time in BPF and bytes per sample, a server
#                  under load
#   make lab       Debian's kernels and one with the patches of kernel/, and reticle on them, in QEMU; not part of
#                  check, minutes the first time
#   make install   install under PREFIX (default /usr/local)
#   make format    clang-format all sources
BUILD ?= build
PREFIX ?= /usr/local

.PHONY: all demo check bench bench-truth bench-stacks bench-memory bench-activity lab install format clean
all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) product

$(BUILD)/build.ninja:
	@scripts/bootstrap build
	@meson setup --prefix=$(PREFIX) $(BUILD)

demo: all
	@scripts/demo $(BUILD)

check:
	@scripts/bootstrap build test
	@scripts/check

bench: all
	@scripts/bootstrap bench
	@ninja -C $(BUILD) bench/classes bench/lanes
	@missed=; \
	bench/run --reticle $(BUILD)/reticle --demo $(BUILD)/bench/demo || missed="$$missed run"; \
	for one in vpmu small pairs; do bench/$$one --reticle $(BUILD)/reticle || missed="$$missed $$one"; done; \
	[ -z "$$missed" ] || { echo "bench: not all is as it should be:$$missed"; exit 1; }

bench-truth: all
	@scripts/bootstrap bench demo truth
	@ninja -C $(BUILD) bench/classes bench/turns bench/resonance bench/kinds
	@missed=; for one in truth-windows truth-spe; do \
		bench/$$one --reticle $(BUILD)/reticle || missed="$$missed $$one"; \
	done; [ -z "$$missed" ] || { echo "bench-truth: not all is as it should be:$$missed"; exit 1; }

bench-stacks: all
	@scripts/bootstrap bench
	@bench/stacks --reticle $(BUILD)/reticle

bench-memory: all
	@scripts/bootstrap bench
	@ninja -C $(BUILD) bench/spe_decode
	@bench/memory --build $(BUILD)

bench-activity: all
	@scripts/bootstrap bench
	@bench/activity $(BUILD)/reticle
	@bench/activity_server $(BUILD)/reticle

lab: all
	@scripts/bootstrap lab
	@lab/run

install: all
	@meson setup --reconfigure --prefix=$(PREFIX) $(BUILD) >/dev/null
	@ninja -C $(BUILD) product
	@meson install --no-rebuild -C $(BUILD)

format:
	@scripts/bootstrap test
	@git ls-files -z '*.[ch]' | xargs -0 clang-format -i

clean:
	@rm -rf build build-*
