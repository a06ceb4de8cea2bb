#!/usr/bin/env bash
# Resolves the dependencies of pyproject.toml for every platform at once and writes
# requirements/*.txt, each file with its hashes. The files name no address: whoever installs uses the
# package index they are configured for. uv is needed here and nowhere else.
#
#   hack/lock.sh                        PYTHON is the interpreter to use, python3 unless told
set -euo pipefail

uv_version=0.13.9
python=${PYTHON:-python3}
venv=.cache/uv

if [ "$("$venv/bin/uv" --version 2>/dev/null | cut -d' ' -f2)" != "$uv_version" ]; then
  "$python" -m venv --clear "$venv"
  "$venv/bin/pip" install --quiet "uv==$uv_version"
fi

compile() { # compile <output> [option...]
  local output=$1
  shift
  "$venv/bin/uv" pip compile --quiet --upgrade --universal --generate-hashes \
    --no-header --no-emit-index-url --no-emit-find-links "$@" --output-file "$output" pyproject.toml
}

compile requirements/runtime.txt
# The second sees the first, so that both name the same versions.
compile requirements/dev.txt --group dev --constraint requirements/runtime.txt
