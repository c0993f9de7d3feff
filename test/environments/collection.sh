#!/bin/sh
# collection.sh FILE: make FILE, an archive of kubernetes.core for ansible-galaxy
#
# The collection comes from PyPI's package of many, where its hash can be pinned.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$PWD/.cache/venv/bin
mkdir -p "$(dirname "$1")"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

"$bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version=3.13 \
	--require-hashes --requirement "$here/collections.txt" --dest .

"$bin/python" - <<'SCRIPT'
import glob, json, pathlib, zipfile

part = "ansible_collections/kubernetes/core/"
with zipfile.ZipFile(glob.glob("ansible-*.whl")[0]) as wheel:
    wheel.extractall(members=[name for name in wheel.namelist() if name.startswith(part)])

# It lacks files of the release, so that a release is made of the others.
manifest = pathlib.Path(part, "MANIFEST.json")
about = json.loads(manifest.read_text())["collection_info"]
pathlib.Path(part, "galaxy.yml").write_text(json.dumps({k: v for k, v in about.items() if v}))
manifest.unlink()
SCRIPT
"$bin/ansible-galaxy" collection build --output-path . ansible_collections/kubernetes/core
mv kubernetes-core-*.tar.gz "$out"
