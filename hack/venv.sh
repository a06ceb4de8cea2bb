#!/usr/bin/env bash
# Makes the virtual environment with nothing but Python: hash-locked requirements, then unmoor itself,
# editable. unmoor is built by the locked build backend (--no-build-isolation), so nothing is fetched
# that requirements/dev.txt does not name.
#
#   hack/venv.sh <directory>      PYTHON is the interpreter to use, python3 unless told
set -euo pipefail

python=${PYTHON:-python3}
venv=$1

stop() {
  printf '%s\n' "$@" >&2
  exit 1
}

command -v "$python" >/dev/null || stop \
  "unmoor needs Python 3.11 or newer, and there is no '$python' on PATH." \
  "Install one, or point to one: make PYTHON=/path/to/python3.11"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || stop \
  "unmoor needs Python 3.11 or newer, and '$python' is $("$python" --version 2>&1)." \
  "Point to a newer one: make PYTHON=/path/to/python3.11"
"$python" -c 'import ensurepip, venv' 2>/dev/null || stop \
  "'$python' cannot make virtual environments: its venv module is missing." \
  "On Debian and Ubuntu: apt-get install python3-venv"

export PIP_DISABLE_PIP_VERSION_CHECK=1
echo "installing requirements/dev.txt into $venv (half a minute, once) ..." >&2

# Interrupted half-way it has no pip; copied from elsewhere, its pip belongs to the other place.
grep -qsF "$(pwd -P)/$venv/bin/python" "$venv/bin/pip" || "$python" -m venv --clear "$venv"
"$venv/bin/python" -m pip install --quiet --require-hashes -r requirements/dev.txt
"$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation -e .
