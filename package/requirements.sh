#!/bin/sh
# requirements.sh FILE…: pin, with hashes, what a FILE of requirements asks for
#
# What the oldest Python needs, that of the image, serves all others.
set -eu
cd "$(dirname "$0")/.."
"${PYTHON:-python3.11}" -m venv .cache/pip-tools
.cache/pip-tools/bin/pip install --quiet --disable-pip-version-check pip-tools==7.6.2
compile=$PWD/.cache/pip-tools/bin/pip-compile
for in; do
	(cd "$(dirname "$in")" && CUSTOM_COMPILE_COMMAND='make requirements' "$compile" --quiet --generate-hashes --strip-extras \
		--allow-unsafe --no-emit-index-url --no-emit-trusted-host --no-emit-find-links "$(basename "$in")")
done
