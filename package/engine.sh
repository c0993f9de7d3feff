#!/bin/sh
# engine.sh: print which of docker, podman and buildah builds images here, or ENGINE
if [ -n "${ENGINE:-}" ]; then echo "$ENGINE"; exit; fi
for e in docker podman buildah; do
	if command -v $e >/dev/null && $e info >/dev/null 2>&1; then echo $e; exit; fi
done
echo 'Building images needs docker, podman or buildah.' >&2
exit 1
