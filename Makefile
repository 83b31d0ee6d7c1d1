# `make demo` and `make test` need git, make and some Python >= 3.12; each sets up .venv by itself.
SHELL := /bin/bash
BIN := .venv/bin
# each of the programs that tests start would compile the package again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test slow bench lint types notebooks format data docs clean setup-run setup-test setup-docs setup-dev table adjustment comparison aslam calibration combination coverage coverage-quick
.DEFAULT_GOAL := help

help:
	@echo "make demo       sample, estimate and compare on shipped data (writes demo-output/)"
	@echo "make test       the tests, without the slow ones;   make slow: the slow ones"
	@echo "make bench      speed and memory;                   make notebooks: do they give what they show?"
	@echo "make table      errors and coverage on the real data that BAYESEVAL_REAL_DATA names"
	@echo "make comparison every estimator x every design on the same data (the dyn paper's tables)"
	@echo "make aslam      importance sampling beside depth pools on the same data (Aslam et al. 2006)"
	@echo "make calibration   simulation-based calibration of the models (hours; seeds are fixed)"
	@echo "make combination  errors and coverage of design and model combined, on all collections (resumable; an hour); learns the constants anew"
	@echo "make coverage   coverage of intervals on all collections (resumable); make coverage-quick: a part"
	@echo "make adjustment scores adjusted for not being pooled, by pool width (Webber, Park 2009)"
	@echo "make lint types ruff and pyright;                   make format: rewrite with ruff"
	@echo "make docs       the site, in docs/_build/html (offline; warnings are errors)"
	@echo "make data       make the shipped collection again;  make clean: remove what was made"

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
table: setup-test
	PYTHONPATH=. $(BIN)/python benchmarks/round5_table.py
aslam: setup-test
	PYTHONPATH=. $(BIN)/python benchmarks/aslam_2006.py
comparison: setup-test
	PYTHONPATH=. $(BIN)/python benchmarks/comparison_table.py
calibration: setup-test
	PYTHONPATH=. $(BIN)/python benchmarks/calibration.py run
	PYTHONPATH=. $(BIN)/python benchmarks/calibration.py prior
	PYTHONPATH=. $(BIN)/python benchmarks/calibration.py report
coverage: setup-test
	PYTHONPATH=. $(BIN)/python benchmarks/interval_coverage.py run --samples 30 --budget 100
	PYTHONPATH=. $(BIN)/python benchmarks/interval_coverage.py run --samples 10 --budget 50 --budget 200
	PYTHONPATH=. $(BIN)/python benchmarks/interval_coverage.py run --samples 10 --estimator relevance_model --estimator combined
	PYTHONPATH=. $(BIN)/python benchmarks/interval_coverage.py run --samples 10 --collection trec-covid-5-teams --estimator dyn --estimator relevance_model --estimator combined
	PYTHONPATH=. $(BIN)/python benchmarks/interval_coverage.py report
combination: setup-test
	PYTHONPATH=. $(BIN)/python benchmarks/combined_intervals.py run --samples 9
	PYTHONPATH=. $(BIN)/python benchmarks/combined_intervals.py run --first 29 --samples 2
	PYTHONPATH=. $(BIN)/python benchmarks/combined_intervals.py run --budget 50 --samples 2
	PYTHONPATH=. $(BIN)/python benchmarks/combined_intervals.py run --budget 200 --samples 2
	PYTHONPATH=. $(BIN)/python benchmarks/combined_intervals.py run --samples 9 --denominator model --chunks combination-output-model
	PYTHONPATH=. $(BIN)/python benchmarks/combined_intervals.py learn
	PYTHONPATH=. $(BIN)/python benchmarks/combined_intervals.py learn --kind ratio --chunks combination-output-model
	PYTHONPATH=. $(BIN)/python benchmarks/combined_intervals.py report
	PYTHONPATH=. $(BIN)/python benchmarks/combined_intervals.py reliability
	PYTHONPATH=. $(BIN)/python benchmarks/flag_alarms.py --worlds 10
coverage-quick: setup-test
	PYTHONPATH=. $(BIN)/python benchmarks/interval_coverage.py run --samples 10 --collection few-relevant --collection few-runs --collection clef-tar-2017
	PYTHONPATH=. $(BIN)/python benchmarks/interval_coverage.py report
adjustment: setup-test
	PYTHONPATH=. $(BIN)/python benchmarks/webber_park_2009.py
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
	rm -rf .venv demo-output build dist docs/_build docs/generated .pytest_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
