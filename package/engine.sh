#!/bin/sh
# engine.sh: print which of docker, podman and buildah builds images here, or ENGINE
if [ -n "${ENGINE:-}" ]; then echo "$ENGINE"; exit; fi
for e in docker podman; do
	if command -v $e >/dev/null && $e info >/dev/null 2>&1; then echo $e; exit; fi
done
# It has the base made of Debian's packages.
if command -v buildah >/dev/null && command -v mmdebstrap >/dev/null && [ -e /usr/share/keyrings/debian-archive-keyring.gpg ]; then
	echo buildah
	exit
fi
echo 'Building images needs docker, podman, or buildah with mmdebstrap.' >&2
exit 1
