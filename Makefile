# Each target does its own set-up in .venv; nothing else is needed but Python 3.11 or newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
STAMP := $(VENV)/.installed
FAST := $(VENV)/.accelerator
PEERS := $(VENV)/.peers
DRAWN := simulate systems
MODELS := life flocking schelling boltzmann sugarscape wolf_sheep traffic virus dilemma ants daisyworld rebellion
# compare.py is told what to compare.
BENCHMARKS := $(filter-out $(patsubst %,benchmarks/%.py,$(DRAWN) compare),$(wildcard benchmarks/[a-z]*.py))
BROWSER := $(shell command -v chromium-headless-shell || command -v chromium)
GET_BROWSER := apt-get update && apt-get install -y --no-install-recommends chromium-headless-shell
SOURCES := ecsgen tests benchmarks docs examples

# Each file's tests go to one process, for they share packages; the files in the order of conftest.py.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder
# Which quarter of the mutants: another one after each commit.
SHARE ?= $(shell expr $$(git rev-list --count HEAD) % 4)/4

.PHONY: demo view films flock models sweep test soak search fast browser hooks lint types check bench cachegrind mutants docs site dist lowest clean

demo: $(READY)
	$(BIN)/ecsgen build schemas/
	$(BIN)/python examples/solar_system.py

# The same birds on one rank and on two; those of each rank have a colour in build/flock-2.svg.
# On few cores, ranks that wait must let the others work.
flock: export HYDRA_IFACE = lo
flock: export MPIR_CVAR_ENABLE_HEAVY_YIELD = 1
flock: export MPIR_CVAR_POLLS_BEFORE_YIELD = 10
flock: $(STAMP)
	$(BIN)/ecsgen build examples/flock_shards --output build/flock
	for n in 1 2; do \
		$(BIN)/mpiexec -n $$n $(BIN)/python examples/flock_shards.py \
			--svg build/flock-$$n.svg > build/flock-$$n.txt || exit; \
		cat build/flock-$$n.txt; \
	done
	test "$$(tail -n 1 build/flock-1.txt)" = "$$(tail -n 1 build/flock-2.txt)"

# Those of docs/gallery.md: built for numba, run, and drawn into build/.
models: $(STAMP)
	for name in $(MODELS); do \
		$(BIN)/ecsgen build examples/models/$$name --output build/$${name}_model --backend numba || exit; \
		$(BIN)/python examples/models/$$name.py --svg build/$$name.svg || exit; \
	done

# A page to watch a model on: fire, epidemic or flock.
view: MODEL ?= epidemic
view: $(STAMP)
	test ! -d examples/watch_$(MODEL) || \
		$(BIN)/ecsgen build examples/watch_$(MODEL) --output build/$(MODEL)_world
	$(BIN)/python examples/watch_$(MODEL).py

# The models' films, of which each is one page in build/films/; `make site` shows them in the gallery.
films: models
	$(BIN)/python examples/models/films.py
	for name in fire epidemic; do \
		$(BIN)/ecsgen build examples/watch_$$name --output build/$${name}_world || exit; \
	done
	for name in fire epidemic flock; do \
		$(BIN)/python examples/watch_$$name.py --film build/films/watch_$$name.html || exit; \
	done

# That of docs/sweeps.md. Stopped, it goes on from build/sweep.jsonl.
sweep: $(STAMP)
	$(BIN)/ecsgen build examples/models/schelling --output build/schelling_model --backend numba
	$(BIN)/python examples/sweep.py --path build/sweep.jsonl --picture build/sweep.svg

# The bytecode that one process leaves serves the hundreds that come after it.
test: export PYTHONDONTWRITEBYTECODE =
test: $(STAMP) fast
	$(PYTEST)

# What searches further: tests that `make test` leaves out and many examples, then mutants.
soak: search
	$(BIN)/python -m tests.mutate --share $(SHARE)

search: export PYTHONDONTWRITEBYTECODE =
search: export ECSGEN_COMPILED = 1
search: export ECSGEN_COMBINATIONS = 0:40
search: export ECSGEN_MIGRATIONS = 400
search: $(STAMP) fast
	$(PYTEST) -m "soak or hypothesis" --hypothesis-profile soak
	ECSGEN_FAULTS=1 ECSGEN_INTERRUPTS=50 ECSGEN_SIGNALS=30 $(PYTEST) -m "" --dist load tests/policies/test_faults.py

# Methods in C, compiled where they are. Without a compiler their tests are left out, but not in CI.
fast: $(FAST)
	@$(BIN)/python -c 'import ecsgen_runtime.accelerator' 2> /dev/null || \
		{ echo "methods in C could not be compiled: their tests are left out"; test -z "$$CI"; }

$(FAST): $(STAMP) runtime/setup.py $(wildcard runtime/ecsgen_runtime/accelerator/*.[ch])
	rm -f runtime/ecsgen_runtime/accelerator/_fast.*.so
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable ./runtime
	touch $@

# What the inspector's page is tested in: the one that is there, or the distribution's.
browser:
ifeq ($(BROWSER),)
	@test "$$(id -u)" = 0 || { echo 'as root: $(GET_BROWSER)'; exit 1; }
	$(GET_BROWSER)
endif

# Before each commit: is generated/ what the schemas make, are the words plain, and is the subject
# `area: subject`?
hooks: $(READY)
	git config core.hooksPath .githooks

lint: $(STAMP)
	$(BIN)/ruff check $(SOURCES) generated runtime testing
	$(BIN)/black --quiet --check $(SOURCES) runtime testing
	$(BIN)/black --quiet --check --line-length 88 generated

types: $(STAMP)
	$(BIN)/mypy $(SOURCES) generated runtime/ecsgen_runtime testing/ecsgen_testing
	$(BIN)/ecsgen build schemas/ --backend numba --output build/compiled_town --force
	$(BIN)/mypy build/compiled_town
	for name in sharded language more_policies; do \
		mkdir -p build/typed/$$name && cp tests/$$name.yaml build/typed/$$name/ || exit; \
		$(BIN)/ecsgen build build/typed/$$name --output build/$${name}_typed --force || exit; \
		$(BIN)/mypy build/$${name}_typed || exit; \
	done
	ECSGEN_NAMES=types $(BIN)/python -m pytest -q -m "" tests/house/test_names.py -k types

check: $(STAMP)
	$(BIN)/ecsgen check schemas/

bench: $(STAMP) $(PEERS)
	for script in $(BENCHMARKS); do echo "== $$script"; $(BIN)/python $$script || exit; done
	for name in $(DRAWN); do \
		echo "== benchmarks/$$name.py"; \
		$(BIN)/python benchmarks/$$name.py --json docs/pictures/$$name.json \
			--svg docs/pictures/$$name.svg || exit; \
	done

cachegrind: $(STAMP) $(PEERS)
	$(BIN)/python benchmarks/cachegrind/count.py

mutants: $(STAMP)
	$(BIN)/python -m tests.mutate

docs: $(STAMP)
	$(BIN)/python docs/schema_pages.py
	$(BIN)/python docs/policy_pictures.py

# The pages as a site, in build/site; a link that leads nowhere is an error.
site: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[site]'
	$(BIN)/ecsgen build docs/reference --output build/town
	PYTHONPATH=build $(BIN)/python docs/api_reference.py
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --nitpicky docs build/site
	@echo build/site/index.html

# What is uploaded, after it has been used in an environment of its own.
dist: $(STAMP)
	rm -rf dist
	$(BIN)/python -m tests.distributions dist

lowest: $(STAMP)
	$(BIN)/python -m tests.lowest_versions build/lowest

clean:
	rm -rf $(VENV) build dist

# What ecsgen needs itself, and methods in C if there is a compiler.
$(READY): pyproject.toml runtime/pyproject.toml runtime/setup.py testing/pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ecsgen needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--editable ./runtime --editable ./testing --editable .
	touch $@

# What tests and checks need besides.
$(STAMP): $(READY) Makefile
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[numba,mpi,test,dev]'
	touch $@

# What the benchmarks compare with; they name whatever could not be installed.
$(PEERS): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]' \
		|| echo "not every contender of the benchmarks could be installed"
	touch $@
