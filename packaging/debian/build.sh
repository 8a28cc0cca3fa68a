#!/bin/sh
# Builds gpudoctor_VERSION_ARCHITECTURE.deb in the folder OUT from gpudoctor.pyz, for the Python of this system.
#   packaging/debian/build.sh dist/gpudoctor.pyz OUT
# Needs debhelper; no root and no network.
set -eu
pyz=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/gpudoctor"
cp -R "$here" "$tree/gpudoctor/debian"
cp "$pyz" "$tree/gpudoctor/gpudoctor.pyz"
cd "$tree/gpudoctor"
dpkg-buildpackage --build=binary --no-sign --no-check-builddeps
cp ../gpudoctor_*.deb "$out/"
