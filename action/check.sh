#!/usr/bin/env bash
# What the action runs: INPUT_PATHS, INPUT_OPTIONS and INPUT_SARIF in, annotations out, with a SARIF file and a summary
# of the job where they are wanted. What stands in an input is a word or several, and never run.
set -euo pipefail

words=(--output-format github)
[ -z "${INPUT_SARIF:-}" ] || words+=(--output-format "sarif:$INPUT_SARIF")
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || words+=(--output-format "markdown:$GITHUB_STEP_SUMMARY")

IFS=$' \t\n' read -r -d '' -a options <<< "${INPUT_OPTIONS:-}" || true
paths=()
while read -r path; do
    [ -z "$path" ] || paths+=("$path")
done <<< "${INPUT_PATHS:-}"

exec trainlint check "${words[@]}" ${options[@]+"${options[@]}"} -- ${paths[@]+"${paths[@]}"}
