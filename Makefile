# `make demo` and `make test` need git, make and some Python >= 3.12; each sets up .venv by itself.
SHELL := /bin/bash
BIN := .venv/bin
BENCHMARK := PYTHONPATH=. $(BIN)/python benchmarks
# each of the programs that tests start would compile the package again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test slow bench lint types notebooks format data docs clean setup-run setup-test setup-docs setup-dev table comparison coverage combination calibration aslam adjustment
.DEFAULT_GOAL := help

help:
	@echo "make demo       write small runs and judgments to try the commands on (demo/)"
	@echo "make test       the tests, without the slow ones;   make slow: the slow ones"
	@echo "make bench      speed and memory;                   make notebooks: do they give what they show?"
	@echo "make lint types ruff and pyright;                   make format: rewrite with ruff"
	@echo "make docs       the site, in docs/_build/html (offline; warnings are errors)"
	@echo "make data       make the shipped collection again;  make clean: remove what was made"
	@echo "Tables of docs/accuracy.md, on the real data that BAYESEVAL_REAL_DATA names:"
	@echo "make table      errors and coverage;                make comparison: every estimator x every design"
	@echo "make coverage   coverage of intervals on all collections (resumable, hours)"
	@echo "make combination   learn the constants of the combination, and report its errors (resumable, hours)"
	@echo "make calibration   simulation-based calibration of the models (hours)"
	@echo "make aslam      Aslam et al. 2006;                  make adjustment: Webber and Park 2009"

setup-run:
	@scripts/setup-venv.sh run
setup-test:
	@scripts/setup-venv.sh test
setup-docs:
	@scripts/setup-venv.sh docs
setup-dev:
	@scripts/setup-venv.sh dev

demo: setup-run
	$(BIN)/bayeseval demo
test: setup-test
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not slow"
slow: setup-test
	$(BIN)/python -m pytest -q -m slow
bench: setup-test
	$(BIN)/python -m pytest -q -rP benchmarks
	$(BENCHMARK)/speed_table.py
table: setup-test
	$(BENCHMARK)/round5_table.py
comparison: setup-test
	$(BENCHMARK)/comparison_table.py
coverage: setup-test
	$(BENCHMARK)/interval_coverage.py run --samples 30 --budget 50 --budget 100
	$(BENCHMARK)/interval_coverage.py run --samples 10 --budget 50 --budget 100 --estimator model
	$(BENCHMARK)/interval_coverage.py report
combination: setup-test
	$(BENCHMARK)/combined_intervals.py run --samples 5
	$(BENCHMARK)/combined_intervals.py learn
	$(BENCHMARK)/combined_intervals.py report
calibration: setup-test
	$(BENCHMARK)/calibration.py run
	$(BENCHMARK)/calibration.py report
aslam: setup-test
	$(BENCHMARK)/aslam_2006.py
adjustment: setup-test
	$(BENCHMARK)/webber_park_2009.py
notebooks: setup-test
	$(BIN)/python -m pytest -q -n 2 --durations=0 notebooks/test_notebooks.py
data: setup-test
	$(BIN)/python data/make_trec8_like.py
docs: setup-docs
	$(BIN)/sphinx-build -q -E -W --keep-going -j 2 docs docs/_build/html
	@echo "docs/_build/html/index.html"
lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
types: setup-dev
	$(BIN)/pyright --pythonpath $(BIN)/python
format: setup-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
clean:
	rm -rf .venv demo build dist docs/_build docs/generated .pytest_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
