#!/bin/sh
# machine.sh GROUP…: see that the machine has the programs that a group of tests needs
# machine.sh list: print the packages of Debian that have them all
#
# Beside Go, git, make and Python nothing is needed to build, nor for the demo. As root with apt-get, missing
# packages are installed. Otherwise the line to run is printed, and the target of make fails at its start.
set -eu
cd "$(dirname "$0")/.."

# Packages, the groups that need them, and a command that fails where they are missing.
needs() {
	cat <<-'END'
		python3 python3-venv        | all           | package/python.sh
		git                         | all           | git --version
		gcc libc6-dev               | unit race     | echo '#include <stdlib.h>' | cc -E -
		gpg gpg-agent               | unit node images | gpg --version && gpg-agent --version
		openssh-client              | unit e2e node | command -v ssh-keygen
		openssh-server              | unit e2e node | command -v sshd
		tmux                        | e2e           | tmux -V
		buildah mmdebstrap debian-archive-keyring | node images | package/engine.sh
		runc                        | node          | command -v runc
		iproute2                    | node hosts    | command -v ip
		sudo python3-apt            | hosts         | command -v visudo && /usr/bin/python3 -c 'import apt'
		postgresql python3-psycopg2 | hosts         | command -v pg_createcluster && /usr/bin/python3 -c 'import psycopg2'
	END
}

if [ "$1" = list ]; then
	needs | cut -d'|' -f1 | xargs
	exit
fi

case " $* " in
*" node "*) if [ "$(id -u)" != 0 ]; then echo 'Only root may run a node.' >&2; exit 1; fi ;;
esac

PATH=$PATH:/usr/sbin:/sbin
find_missing() {
	missing=
	while IFS='|' read -r packages groups command; do
		for group in $groups; do
			case " all $* " in
			*" $group "*) sh -c "$command" >/dev/null 2>&1 || missing="$missing $(echo $packages)"; break ;;
			esac
		done
	done <<-END
		$(needs)
	END
}
find_missing "$@"
if [ -n "$missing" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "Installing packages that this machine lacks:$missing"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends $missing >/dev/null
	find_missing "$@"
fi
if [ -z "$missing" ]; then exit; fi

package/python.sh >/dev/null || true # It says which Pythons will do.
cat >&2 <<END
This machine lacks programs that are needed. On Debian and Ubuntu, this installs them:

  sudo apt-get install --yes$missing

END
exit 1
