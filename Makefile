# The front door. Meson and ninja do the work; see meson.build.
BUILD ?= build

.PHONY: all
all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@meson setup $(BUILD)
