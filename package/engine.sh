#!/bin/sh
# engine.sh: print which of docker, podman and buildah builds images here, or ENGINE
if [ -n "${ENGINE:-}" ]; then echo "$ENGINE"; exit; fi
for e in docker podman; do
	if command -v $e >/dev/null && $e info >/dev/null 2>&1; then echo $e; exit; fi
done
# It builds an image of the base, since it has none.
if command -v buildah >/dev/null && command -v mmdebstrap >/dev/null; then echo buildah; exit; fi
echo 'Building images needs docker, podman, or buildah with mmdebstrap.' >&2
exit 1
