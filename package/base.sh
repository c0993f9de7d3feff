#!/bin/sh
# base.sh ARCH FILE: make what is in debian:bookworm-slim, of Debian's packages
set -eu

exclude='--dpkgopt=path-exclude=/usr/share'
exec mmdebstrap --quiet --skip=output/dev --variant=minbase --architectures="$1" \
	--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --include=usr-is-merged \
	"$exclude/doc/*" --dpkgopt='path-include=/usr/share/doc/*/copyright' \
	"$exclude/groff/*" "$exclude/info/*" "$exclude/lintian/*" "$exclude/linda/*" "$exclude/locale/*" "$exclude/man/*" \
	--aptopt='Apt::Install-Recommends "false"' \
	bookworm "$2"
