#!/bin/sh
# build.sh DIRECTORY COLLECTION: have ansible-builder make DIRECTORY/context of execution-environment.yml,
# with an archive of kubernetes.core
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$1
rm -rf "$dir"
mkdir -p "$dir"
cp "$2" "$dir/kubernetes-core.tar.gz"
cd "$dir"

"${PYTHON:-python3}" -m venv builder
builder/bin/pip install --quiet --disable-pip-version-check ansible-builder==3.2.0
cp "$here/execution-environment.yml" "$here/constraints.txt" .
builder/bin/ansible-builder create --output-filename Dockerfile

# What a mirror or a proxy needs must not be in the image: see image.sh.
sed -i 's|^RUN |RUN --mount=type=secret,id=ca.crt,target=/run/secrets/ca.crt --mount=type=secret,id=pip.conf,target=/etc/pip.conf |' context/Dockerfile
{ cat "${PIP_CONF:-/dev/null}"; if [ -n "${CA_CERT:-${PIP_CERT:-}}" ]; then printf '[global]\ncert = /run/secrets/ca.crt\n'; fi; } > pip.conf
