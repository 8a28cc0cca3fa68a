#!/usr/bin/env bash
# Builds the files of a release in the folder OUT: wheel, source archive, gpudoctor.pyz, an SBOM and SHA256SUMS. The same checkout and
# SOURCE_DATE_EPOCH give the same bytes.
#   pip install build '.[release]' && packaging/release/build.sh OUT
set -euo pipefail
mkdir -p "$1"
out=$(realpath "$1")
cd "$(dirname "$0")/../.."
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-315532800}
python=${PYTHON:-python3}
"$python" -m build --outdir "$out" .
read -ra machines <<<"${MACHINES:-x86_64 aarch64}"
for machine in "${machines[@]}"; do
  name=gpudoctor-$machine.pyz
  [ "$machine" = x86_64 ] && name=gpudoctor.pyz
  "$python" packaging/pyz/build.py --machine "$machine" -o "$out/$name"
done
# what the pyz holds, as the environment that it makes: the locked dependencies, with licenses and hashes of where they came from
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
PEX_ROOT=$place/pex PEX_TOOLS=1 "$python" "$out/gpudoctor.pyz" venv --collisions-ok "$place/venv"
"$python" -m cyclonedx_py environment "$place/venv/bin/python" --output-reproducible --spec-version 1.6 --output-format JSON \
  --pyproject pyproject.toml --mc-type application --output-file "$out/gpudoctor.cdx.json"
cd "$out"
rm -f SHA256SUMS .gitignore
sha256sum -- * >"$place/sums"
cp "$place/sums" SHA256SUMS
