#!/bin/sh
# image.sh NAME ARCH VERSION [DOCKERFILE [DIRECTORY]]: build an image, and write it to
# .cache/images/NAME-ARCH.tar
#
# It takes the first of docker, podman and buildah that works here, or what ENGINE
# names. Arguments of the Dockerfile go in BUILD_ARGS, a line each:
#
#   BUILD_ARGS='SYSTEM_PACKAGES=kubernetes-client' package/image.sh provider-ansible amd64 v1.0.0
#
# CA_CERT is a file of certificates that the build is to trust, PIP_CONF a
# configuration of pip; neither gets into the image. By default the build trusts
# what pip trusts outside. DEBIAN is the release of the base that is made where none
# can be pulled.
set -eu
cd "$(dirname "$0")/.."

name=$1 arch=$2 version=$3
dockerfile=${4:-package-${name%-ansible}/Dockerfile} directory=${5:-.}
debian=${DEBIAN:-trixie}
image=$name:$arch
tar=.cache/images/$name-$arch.tar
ca=${CA_CERT:-${PIP_CERT:-}}

# All files have one time, the first that archives of Python can hold: with a time of
# the commit, layers from a cache would not be what they are without one.
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-315532800}"

engine=$(package/engine.sh)

set -- --file "$dockerfile" --platform "linux/$arch" \
	--build-arg "VERSION=$version" --build-arg "REVISION=$(git rev-parse HEAD)" --build-arg "TARGETARCH=$arch"

while read -r arg; do
	if [ -n "$arg" ]; then set -- "$@" --build-arg "$arg"; fi
done <<ARGS
${BUILD_ARGS:-}
ARGS

if [ -n "$ca" ]; then set -- "$@" --secret "id=ca.crt,src=$ca"; fi
if [ -n "${PIP_CONF:-}" ]; then set -- "$@" --secret "id=pip.conf,src=$PIP_CONF"; fi
if [ -n "${NO_CACHE:-}" ]; then set -- "$@" --no-cache; fi

# Storage of buildah's own, without a daemon, below .cache.
storage() { buildah --root .cache/buildah/root --runroot .cache/buildah/run "$@"; }

# A machine that has no base image makes one of Debian's packages, once.
base() {
	base=localhost/debian-slim:$debian-$arch
	base_tar=.cache/images/base-$debian-$arch.tar
	if [ -n "${NO_CACHE:-}" ]; then storage rmi --force "$base" >/dev/null 2>&1 || true; fi
	if ! storage inspect --type image "$base" >/dev/null 2>&1; then
		package/base.sh "$debian" "$arch" "$base_tar"
		container=$(storage from --arch "$arch" scratch)
		storage add --quiet "$container" "$base_tar" /
		storage config --arch "$arch" --cmd /bin/bash --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
		storage commit --quiet --rm --timestamp "$SOURCE_DATE_EPOCH" "$container" "$base"
		rm -f "$base_tar"
	fi
}

mkdir -p .cache/images
rm -f "$tar"

case $engine in
docker)
	docker buildx build "$@" --provenance=false --output "type=docker,name=$image,dest=$tar,rewrite-timestamp=true" "$directory"
	;;
podman)
	podman build "$@" --identity-label=false --layers --timestamp "$SOURCE_DATE_EPOCH" --tag "localhost/$image" "$directory"
	podman save --quiet --format docker-archive --output "$tar" "localhost/$image"
	;;
buildah)
	if command -v mmdebstrap >/dev/null; then
		base
		set -- "$@" --build-arg "BASE=$base" --build-arg "EE_BASE_IMAGE=$base" --pull-never
	fi
	export BUILDAH_ISOLATION="${BUILDAH_ISOLATION:-chroot}"
	storage build "$@" --identity-label=false --layers --timestamp "$SOURCE_DATE_EPOCH" --tag "localhost/$image" "$directory"
	storage push --quiet "localhost/$image" "docker-archive:$tar:$image"
	;;
esac
