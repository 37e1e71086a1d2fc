# The commands of the README; each installs what is missing and builds first. CMake does the work (CMakePresets.json).
.PHONY: setup setup-dev build test demo bench format lint clean

setup:
	@.ci/setup

setup-dev:
	@.ci/setup dev

build: setup
	@test -f build/build.ninja || cmake --preset release
	@cmake --build --preset release

test: build
	ctest --test-dir build --output-on-failure

demo: build
	@experiments/demo.sh build/cerar demo

bench: build
	@mkdir -p build/bench
	build/cerar fit --workers 4 --chunks 12 -o build/bench/code_4_12.json
	build/cerar bench --workers 4 --code build/bench/code_4_12.json --json build/bench/bench_4_12.json

format: setup-dev
	git ls-files '*.h' '*.cpp' | xargs clang-format -i

lint: build setup-dev
	cmake --preset release -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
	git ls-files '*.cpp' | grep -v '^tests/consumer/' | xargs clang-tidy -p build --quiet

clean:
	rm -rf build build-debug build-tsan build-clang
