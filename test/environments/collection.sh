#!/bin/sh
# collection.sh REQUIREMENTS FILE...: make archives of collections for ansible-galaxy
#
# The name of a FILE begins with that of its collection, as in kubernetes-core-3.2.0.tar.gz.
# The collections come from PyPI's package of many, where its hash can be pinned.
set -eu
requirements=$PWD/$1
shift
root=$PWD
bin=$PWD/.cache/venv/bin
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

"$bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version=3.13 \
	--require-hashes --requirement "$requirements" --dest .

for file; do
	namespace=$(basename "$file" .tar.gz | cut -d- -f1) name=$(basename "$file" .tar.gz | cut -d- -f2)
	"$bin/python" - "ansible_collections/$namespace/$name/" <<'SCRIPT'
import glob, json, pathlib, sys, zipfile

part = sys.argv[1]
with zipfile.ZipFile(glob.glob("ansible-*.whl")[0]) as wheel:
    wheel.extractall(members=[name for name in wheel.namelist() if name.startswith(part)])

# It lacks files of the release, so that a release is made of the others.
manifest = pathlib.Path(part, "MANIFEST.json")
about = json.loads(manifest.read_text())["collection_info"]
pathlib.Path(part, "galaxy.yml").write_text(json.dumps({k: v for k, v in about.items() if v}))
manifest.unlink()
SCRIPT
	"$bin/ansible-galaxy" collection build --output-path . "ansible_collections/$namespace/$name"
	mkdir -p "$root/$(dirname "$file")"
	mv "$namespace-$name"-*.tar.gz "$root/$file"
done
