#!/bin/sh
# python.sh: print the newest Python here that the pinned ansible-core supports, and that has venv
for p in ${PYTHON:-python3.13 python3.12 python3.11 python3}; do
	if "$p" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
		command -v "$p"
		exit
	fi
done
echo 'Ansible needs a Python from 3.11 to 3.13 with its venv module. PYTHON names one that is not found in PATH.' >&2
exit 1
