#!/usr/bin/env bash
# A step of action.yml and of the template for GitLab: audits the dependency files that a change touches, or all of them where there is no
# base to compare with. Reads PATTERNS, BACKEND, FAIL_ON and FORMAT (github); GITHUB_BASE_REF or BASE names the branch that the change is for.
set -euo pipefail
gpudoctor=${GPUDOCTOR:-$RUNNER_TEMP/gpudoctor/bin/gpudoctor}
base=${BASE:-${GITHUB_BASE_REF:-}}
# shellcheck disable=SC2153 # of the environment
read -ra patterns <<<"$PATTERNS"
paths=()
for pattern in "${patterns[@]}"; do
  paths+=(":(glob)$pattern" ":(glob)**/$pattern")
done
if [ -n "$base" ] && git fetch --quiet --no-tags --depth=1 origin "$base"; then
  mapfile -d '' files < <(git diff -z --name-only --diff-filter=d FETCH_HEAD HEAD -- "${paths[@]}")
else
  mapfile -d '' files < <(git ls-files -z -- "${paths[@]}")
fi
if [ ${#files[@]} = 0 ]; then
  echo "gpudoctor: no dependency file is touched"
  exit 0
fi
backend=()
[ -n "${BACKEND:-}" ] && backend=(--backend "$BACKEND")
exec "$gpudoctor" audit "${backend[@]}" --fail-on "${FAIL_ON:-error}" --format "${FORMAT:-github}" -- "${files[@]}"
