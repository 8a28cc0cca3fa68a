#!/usr/bin/env bash
# A step of action.yml: annotations, the summary of the job, and a report as an artefact. The exit status is that of the check.
# Reads POLICY, TARGET_PYTHON and FAIL_ON; GITHUB_OUTPUT, GITHUB_STEP_SUMMARY and RUNNER_TEMP are of GitHub Actions.
set -uo pipefail
gpudoctor=$RUNNER_TEMP/gpudoctor/bin/gpudoctor
report=$RUNNER_TEMP/gpudoctor-report.json
python=()
[ -n "${TARGET_PYTHON:-}" ] && python=(--python "$TARGET_PYTHON")
"$gpudoctor" report "${python[@]}" -o "$report" -q >/dev/null && echo "report=$report" >>"$GITHUB_OUTPUT"
policy=()
[ -n "${POLICY:-}" ] && policy=(--expect "$POLICY")
"$gpudoctor" check "${python[@]}" "${policy[@]}" --fail-on "${FAIL_ON:-error}" --format github --step-summary
