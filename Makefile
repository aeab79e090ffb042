# Needs Python 3.11 to 3.13 and nothing else; everything it installs goes into .venv and ~/.cache.
.DEFAULT_GOAL := help
PYTHON ?= $(firstword $(foreach each,python3.11 python3.12 python3.13 python3,$(shell command -v $(each))))
VENV := .venv
READY := $(VENV)/.ready
READERS := .venv-readers
AUDIT := .venv-audit
UV := $(VENV)/bin/uv

export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

# Some sandboxes forbid Python to keep what it compiles: each process would compile its libraries anew,
# which is most of the time that `frazil --help` or a file of tests takes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo ui up down test by-day first-half second-half nightly unit seeds planted mutants schemas stack cloud faults rowids upserts keys cdc derivations growth fuzz lint docs reference bench peers readers pictures week soak lock wheel sbom audit clean

help: ## Say what can be made.
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## Show it all: stock trades from Kafka to Iceberg, Glue and Snowflake.
	frazil demo

ui: up ## Open Dagster on the embedded stack, sensors on.
	eval "$$(frazil env)" && exec dg dev

up: $(READY) ## Start the embedded stack.
	frazil up

down: $(READY) ## Stop the embedded stack; its data stays.
	frazil down

# Tests of clouds and of the stack wait for servers half of the time, so three workers take them; those of one cloud stay
# with one worker, which starts its stand-ins once: tests/kit/runs/dealing.py. All others, five sixths of the tests, have
# two processes beside them, for about half of the CPU each: of workers each collects all that is dealt out to any.
SERVERS = tests/cloud tests/stack tests/faults tests/fuzz --numprocesses 3 --dist loadfile --no-loadscope-reorder
ALONE = tests/unit
FIRST_HALF = $(filter-out %.py, $(wildcard $(ALONE)/[a-j]*)) $(ALONE)/publishing $(ALONE)/sensors $(ALONE)/spec
test: $(READY) ## Run everything that a change must pass; mypy has one core for minutes, so tests run beside it.
	$(MAKE) --jobs 4 lint by-day first-half second-half

by-day: $(READY)
	pytest $(SERVERS) -m "not nightly"

first-half: $(READY)
	pytest $(FIRST_HALF) -m "$${UNIT:-not nightly}"

second-half: $(READY)
	pytest $(ALONE) $(addprefix --ignore , $(FIRST_HALF)) -m "$${UNIT:-not nightly}"

nightly: $(READY) $(READERS)/.ready ## Run all tests, those too that take long and stand beside quicker ones of their kind; before each release.
	FRAZIL_TEST_EXAMPLES=1 FRAZIL_TEST_COMPARED=4 FRAZIL_TEST_FUZZ=200 FRAZIL_TEST_READERS=$(CURDIR)/$(READERS)/bin/python pytest $(SERVERS) $(ALONE)

unit: $(READY) ## Run the tests that need no servers, but for files that take long; UNIT="not nightly" runs these as well.
	UNIT="$${UNIT:-not nightly and not longer}" $(MAKE) --jobs 2 --output-sync first-half second-half

seeds: $(READY) ## Try properties on twenty times as many examples, other ones each time.
	FRAZIL_TEST_EXAMPLES=20 pytest tests/unit -m hypothesis --numprocesses 2 --dist worksteal

stack: $(READY) ## Run the tests against the embedded stack.
	pytest tests/stack

cloud: $(READY) ## Make, prove, change, rotate and remove deployments, on stand-ins for the clouds; they wait for half of it.
	FRAZIL_TEST_KILLS=$${FRAZIL_TEST_KILLS:-25} FRAZIL_TEST_TRADES=$${FRAZIL_TEST_TRADES:-200000} \
	  pytest tests/cloud/test_*.py tests/stack/cloud tests/cloud/*/ --numprocesses 3 --dist loadfile --no-loadscope-reorder

# The longest tests come first and the shortest ones last, dealt out one by one, so that no worker is left with nothing
# to do; of five on two cores two or three wait for servers, or for the end of a time limit.
FAULTS = $(addprefix tests/faults/test_, rounds.py unseen_landings.py kafka_wire.py model.py guards.py)
faults: $(READY) ## Play 10,000 interleavings in memory, FRAZIL_TEST_MODEL, and 500 rounds of lost answers, FRAZIL_TEST_FAULTS; FRAZIL_TEST_SEED says which.
	FRAZIL_TEST_MODEL=$${FRAZIL_TEST_MODEL:-10000} FRAZIL_TEST_FAULTS=$${FRAZIL_TEST_FAULTS:-500} \
	  FRAZIL_TEST_SEED=$${FRAZIL_TEST_SEED:-$$(date +%s)} pytest $(FAULTS) --numprocesses 5 --dist load --maxschedchunk 1

rowids: $(READY) ## Land random changes 10,000 times, or FRAZIL_TEST_ROW_IDS, and compare the id of each row with a dictionary.
	FRAZIL_TEST_ROW_IDS=$${FRAZIL_TEST_ROW_IDS:-10000} pytest tests/unit/landing/upsert/test_lane.py -k keeps_the_id --numprocesses 2 --timeout 0

upserts: $(READY) ## Compare an upsert table with a dictionary after a million random changes, or FRAZIL_TEST_UPSERTS; FRAZIL_TEST_SEED says which.
	FRAZIL_TEST_UPSERTS=$${FRAZIL_TEST_UPSERTS:-1000000} pytest tests/stack/landing/test_upsert_oracle.py -s --timeout 0

keys: $(READY) ## Take tables of each type of keys in each mode, their layouts and names drawn, through three landings: 60 of them, or FRAZIL_TEST_KEYS; FRAZIL_TEST_SEED says which.
	FRAZIL_TEST_KEYS=$${FRAZIL_TEST_KEYS:-60} pytest tests/stack/landing/test_keys_drawn.py -s --timeout 0

cdc: $(READY) ## Compare a cdc table with PostgreSQL itself after random changes, by 20 seeds, or FRAZIL_TEST_CDC; FRAZIL_TEST_SEED says which.
	FRAZIL_TEST_CDC=$${FRAZIL_TEST_CDC:-20} pytest tests/stack/test_northwind.py -s --timeout 0

derivations: $(READY) ## Compare tables made of rows that change with one recomputation after each of 100 random steps, or FRAZIL_TEST_DERIVATIONS; FRAZIL_TEST_SEED says which.
	FRAZIL_TEST_DERIVATIONS=$${FRAZIL_TEST_DERIVATIONS:-100} pytest tests/stack/derive/test_changing_inputs.py -s --timeout 0

fuzz: $(READY) ## Break 100,000 inputs for each reader of foreign text, or FRAZIL_TEST_FUZZ, in about 65 minutes; FRAZIL_TEST_SEED says which.
	FRAZIL_TEST_FUZZ=$${FRAZIL_TEST_FUZZ:-100000} pytest tests/fuzz -s --timeout 0

schemas: $(READY) ## Take 10,000 drawn schemas of each format, or FRAZIL_TEST_SCHEMAS, through table, changes and readers; FRAZIL_TEST_SEED says which.
	FRAZIL_TEST_SCHEMAS=$${FRAZIL_TEST_SCHEMAS:-10000} pytest tests/unit/landing/test_drawn_schemas.py --numprocesses 2 --timeout 0

planted: $(READY) ## Plant 1,000 faults into tables, or FRAZIL_TEST_PLANTED, and see that the verifier finds and names each; FRAZIL_TEST_SEED says which.
	FRAZIL_TEST_PLANTED=$${FRAZIL_TEST_PLANTED:-1000} pytest tests/unit/verify/test_planted.py --numprocesses 2 --timeout 0

mutants: $(READY) ## Plant bugs into a copy of the engine, and compare what the verifier says of the tables, and which tests fail, with docs/guarantees.md.
	pytest tests/stack/test_mutants.py tests/unit/verify/test_mutants.py --timeout 0

growth: $(READY) ## Land 2,000 times, or FRAZIL_TEST_GROWTH, in one process, and compare what it holds open: descriptors, threads, memory, files.
	FRAZIL_TEST_GROWTH=$${FRAZIL_TEST_GROWTH:-2000} pytest tests/stack/landing/test_growth.py -s --timeout 0

readers: $(READY) $(READERS)/.ready ## Read tables of all kinds by seven engines, and by Trino if FRAZIL_TEST_TRINO_JAVA is the home of a Java 24 or newer; renew the list in docs/readers.md.
	test -z "$$FRAZIL_TEST_TRINO_JAVA" || test -d $(READERS)/trino-server-core-* || PYTHONPATH=tests python tests/kit/engines/trino.py $(READERS)
	FRAZIL_TEST_TRINO=$(CURDIR)/$(READERS) FRAZIL_TEST_READERS=$(CURDIR)/$(READERS)/bin/python pytest tests/stack/readers
	PYTHONPATH=tests python tests/kit/engines/page.py

pictures: $(READY) ## Take the docs' screenshots of Dagster's pages, with Chromium: docs/images/*.png.
	@command -v chromedriver > /dev/null || \
	  { echo "make pictures needs Chromium and its driver: apt-get install chromium chromium-driver installs both."; exit 1; }
	pytest tests/pictures

lint: $(READY) ## Check style, types, and what imports what.
	ruff check
	ruff format --check
	mypy
	lint-imports

docs: $(READY) ## Build the documentation as a site, into the folder site.
	NO_MKDOCS_2_WARNING=1 mkdocs build --quiet --strict

reference: $(READY) ## Renew the parts of the docs that are generated from the code.
	python docs/generate.py

bench: up ## Measure landings against a bare Spark job, compactions against Iceberg's own, derivations against all anew, upserts against MERGE; then commands, the sensor, and how late Snowflake's view is.
	missed=0; for part in bench upkeep derive upserts commands sensor drift to_snowflake statements; do PYTHONPATH=tests python tests/bench/$$part.py || missed=1; done; exit $$missed

peers: up ## Land the same records by Spark's Structured Streaming, Kafka Connect's sink and a loop with PyIceberg, beside Frazil.
	PYTHONPATH=tests python tests/bench/peers.py --page docs/peers.md

soak: up ## Live through HOURS, 6 unless you say, in which each part is restarted, and verify each table in the end; writes docs/design/soak.md.
	PYTHONPATH=tests python tests/bench/soak.py --hours $${HOURS:-6} --page docs/design/soak.md

week: up ## Live through a week in 2,016 landings, with upkeep on, and compare its costs with the storage: an hour.
	PYTHONPATH=tests python tests/bench/week.py

lock: $(READY) ## Write requirements.lock and jars.lock anew, to pyproject.toml and frazil_local.jars.
	uv pip compile pyproject.toml --extra cloud --extra dashboard --extra dev --extra docs --extra graph --extra lineage --extra local --extra tracing --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-emit-index-url --output-file requirements.lock
	uv pip compile tests/stack/readers/requirements.in --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-emit-index-url --output-file tests/stack/readers/requirements.lock
	uv pip compile tests/stack/docs/dbt/requirements.in --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-emit-index-url --output-file tests/stack/docs/dbt/requirements.lock
	uv pip compile .github/audit/requirements.in --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-emit-index-url --output-file .github/audit/requirements.lock
	python -m frazil_local.jars

sbom: $(AUDIT)/.ready ## List every package that the lock names, by CycloneDX: sbom.json. The jars are in jars.lock.
	$(AUDIT)/bin/cyclonedx-py requirements --output-reproducible --output-file sbom.json requirements.lock

audit: $(AUDIT)/.ready ## Ask the index for known vulnerabilities of all that the lock names.
	$(AUDIT)/bin/pip-audit --disable-pip --require-hashes --strict --requirement requirements.lock

wheel: $(READY) ## Build the wheel and the source distribution, into the folder dist.
	hatchling build

clean: ## Delete the environment and the tools' caches; a stack's data stays.
	rm -rf $(VENV) $(READERS) $(AUDIT) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# uv comes from the lock like everything else, by pip; then it installs the rest within seconds. What is ours is imported
# here once, and so compiled with all that it needs of others, as is what it imports late, and what tests do: a third of
# what is installed. Else all workers of a first run compile it at the same time, 25 s of CPU each. The dashboard is left
# out: Streamlit warns of itself outside its server.
OURS = from pkgutil import walk_packages; \
  [__import__(m.name) for m in walk_packages(["platform"]) if not ("dashboard" in m.name or "__main__" in m.name)]
OTHERS = import alembic.command, dagster_graphql.cli, dagster_snowflake, dagster_webserver.app, hypothesis, pytest, \
  streamlit.testing.v1
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	awk '/^[^ #]/ {ours = /^uv==/} ours && !/#/' requirements.lock > $(VENV)/uv.lock
	$(VENV)/bin/python -m pip install --quiet --require-hashes -r $(VENV)/uv.lock
	$(UV) pip sync --python $(VENV)/bin/python --require-hashes requirements.lock
	$(UV) pip install --python $(VENV)/bin/python --no-deps --no-build-isolation --editable .
	$(VENV)/bin/python -c '$(OURS)' & $(VENV)/bin/python -c '$(OTHERS)'; wait
	$(VENV)/bin/python -m compileall -q assets resources sensors tests/kit
	touch $@

# Engines that only the tests of readers want, and whose libraries must not stand in the way of Frazil's.
$(READERS)/.ready: $(READY) tests/stack/readers/requirements.lock
	$(UV) venv --quiet --clear --python $(VENV)/bin/python $(READERS)
	$(UV) pip sync --python $(READERS)/bin/python --require-hashes tests/stack/readers/requirements.lock
	touch $@

# What looks at the lock from outside, and whose libraries are none of Frazil's.
$(AUDIT)/.ready: $(READY) .github/audit/requirements.lock
	$(UV) venv --quiet --clear --python $(VENV)/bin/python $(AUDIT)
	$(UV) pip sync --python $(AUDIT)/bin/python --require-hashes .github/audit/requirements.lock
	touch $@
