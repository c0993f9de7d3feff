#!/bin/sh
# requirements.sh FILE…: pin, with hashes, what a FILE of requirements asks for
#
# One file serves each Python from the oldest one on: what differs has a marker.
set -eu
cd "$(dirname "$0")/.."
"${PYTHON:-python3}" -m venv .cache/uv
.cache/uv/bin/pip install --quiet --disable-pip-version-check uv==0.13.9
uv=$PWD/.cache/uv/bin/uv
for in; do
	(cd "$(dirname "$in")" && "$uv" pip compile --quiet --universal --python-version=3.11 --generate-hashes \
		--no-emit-index-url --custom-compile-command='make requirements' --output-file="$(basename "$in" .in).txt" "$(basename "$in")")
done
