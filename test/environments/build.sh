#!/bin/sh
# build.sh DIRECTORY: have ansible-builder make DIRECTORY/context of execution-environment.yml
#
# The collection comes from PyPI's package of many, where its hash can be pinned.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$1 bin=$PWD/.cache/venv/bin
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"

"${PYTHON:-python3}" -m venv builder
builder/bin/pip install --quiet --disable-pip-version-check ansible-builder==3.2.0
builder/bin/pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version=3.13 \
	--require-hashes --requirement "$here/collections.txt" --dest .

"${PYTHON:-python3}" - <<'SCRIPT'
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
mv kubernetes-core-*.tar.gz kubernetes-core.tar.gz
cp "$here/execution-environment.yml" "$here/constraints.txt" .
builder/bin/ansible-builder create --output-filename Dockerfile

# What a mirror or a proxy needs must not be in the image: see image.sh.
sed -i 's|^RUN |RUN --mount=type=secret,id=ca.crt,target=/run/secrets/ca.crt --mount=type=secret,id=pip.conf,target=/etc/pip.conf |' context/Dockerfile
{ cat "${PIP_CONF:-/dev/null}"; if [ -n "${CA_CERT:-${PIP_CERT:-}}" ]; then printf '[global]\ncert = /run/secrets/ca.crt\n'; fi; } > pip.conf
