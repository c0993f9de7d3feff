#!/bin/sh
# base.sh RELEASE ARCH FILE: make what is in debian:RELEASE-slim, of Debian's packages
set -eu

exclude='--dpkgopt=path-exclude=/usr/share'
exec mmdebstrap --quiet --skip=output/dev --variant=minbase --architectures="$2" \
	--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --include=usr-is-merged \
	"$exclude/doc/*" --dpkgopt='path-include=/usr/share/doc/*/copyright' \
	"$exclude/groff/*" "$exclude/info/*" "$exclude/lintian/*" "$exclude/linda/*" "$exclude/locale/*" "$exclude/man/*" \
	--aptopt='Apt::Install-Recommends "false"' \
	"$1" "$3"
