#!/bin/bash
# Runs a tool over a large file as an array job of Slurm: the bytes of one run, if the tool writes a row for each line
# without its number (no -n, no --json: each part counts from 1). FILE is cut into PARTS parts at ends of lines. Each
# task computes one part; a last job joins them to OUTPUT, if all are there and OUTPUT has a row for each line.
# After a failure the same command computes only the parts that are missing. Remove OUTPUT.parts if FILE or the tool has
# changed. All hosts have TOOL and see the files. $SBATCH_* variables, such as SBATCH_PARTITION, choose where it runs.
#   slurm.sh 100 reviews.txt labels.tsv classify -m MODEL -o
# test elsewhere: tests/engines/check.sh
# usage: slurm.sh PARTS FILE OUTPUT TOOL [TOOL OPTIONS]
set -euo pipefail
[ $# -ge 4 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
parts=$1 file=$2 output=$3
[[ $file == /* ]] || file=./$file # not an option
[[ $output == /* ]] || output=./$output
folder=$output.parts
if [ -z "${SLURM_JOB_ID-}" ]; then # on the login host
  job=$(sbatch --parsable --requeue --array="1-$parts" "$0" "$@")
  sbatch --dependency="afterok:${job%%;*}" --kill-on-invalid-dep=yes "$0" "$@"
elif [ -n "${SLURM_ARRAY_TASK_ID-}" ]; then
  rows=$folder/$SLURM_ARRAY_TASK_ID
  mkdir -p "$folder"
  [ ! -f "$rows" ] || exit 0
  begun=$(mktemp "$rows.XXXXXX")
  split -n "l/$SLURM_ARRAY_TASK_ID/$parts" "$file" | "${@:4}" -j "${SLURM_CPUS_PER_TASK:-1}" >"$begun"
  mv "$begun" "$rows" # a part is whole, or it is not there
else
  (cd "$folder" && seq "$parts" | xargs cat) >"$output.tmp"
  lines=$(grep -c '' "$file" || true) rows=$(grep -c '' "$output.tmp" || true)
  [ "$rows" = "$lines" ] || { echo "slurm.sh: found $rows rows of $lines lines" >&2; exit 65; }
  mv "$output.tmp" "$output"
  rm -r "$folder"
fi
