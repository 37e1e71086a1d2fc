# The commands of the README; each installs what is missing and builds first. CMake does the work (CMakePresets.json).
.PHONY: setup setup-dev setup-bench build test demo bench format lint clean

setup:
	@.ci/setup

setup-dev:
	@.ci/setup dev

setup-bench: setup
	@.ci/setup bench

build: setup
	@test -f build/build.ninja || cmake --preset release
	@cmake --build --preset release

test: build
	ctest --test-dir build --output-on-failure

demo: build
	@experiments/demo.sh build/cerar demo

bench: setup-bench
	@cmake --preset release && cmake --build --preset release
	@python3 experiments/bench/suite/suite.py --build build

format: setup-dev
	git ls-files '*.h' '*.cpp' | xargs clang-format -i

lint: build setup-dev
	cmake --preset release -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
	git ls-files '*.cpp' | grep -v '^tests/consumer/' | xargs clang-tidy -p build --quiet

clean:
	rm -rf build build-debug build-tsan build-clang
