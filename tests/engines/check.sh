#!/bin/bash
# check.sh BIN_DIR: parallel.sh and slurm.sh of examples/ write the bytes of one run while tools are killed, and fail if
# a tool dies each time.
. "$(dirname "$0")/../stream/common.sh"
export DEATHS=$work/deaths JOBS=$work/jobs BERT_MODEL=$models/tiny-classifier
examples=$PWD/examples PATH=$PWD/tests/engines:$PATH
cd "$work" || exit 1
mkdir deaths jobs
awk -v lines=20000 -f "$OLDPWD/tests/engines/lines.awk" >in
classify -q in >want

if command -v parallel >/dev/null; then
  export PARALLEL='--block 100k'
  touch deaths/{1,2}
  "$examples/parallel.sh" in dies classify -q >out 2>err
  expect "parallel: status" $? 0
  expect "parallel: deaths to come" "$(ls deaths)" ""
  equal "parallel" out want
  touch deaths/{1..50}
  "$examples/parallel.sh" in dies classify -q >out 2>err
  expect "parallel, each try dies: status is 0" "$(($? == 0))" 0
  rm -f deaths/*
else
  echo "not run, parallel is not installed: examples/parallel.sh"
fi

echo 0 >jobs/last
touch deaths/{1,2}
run() { "$examples/slurm.sh" 12 in out.tsv dies classify -q >/dev/null; }
run
expect "slurm: deaths to come" "$(ls deaths)" ""
expect "slurm, two died: parts" "$(ls out.tsv.parts | grep -c '^[0-9]*$')" 10
expect "slurm, two died: output" "$(ls out.tsv 2>&1)" "ls: cannot access 'out.tsv': No such file or directory"
echo >>out.tsv.parts/2
run
expect "slurm, again: keeps the parts, counts rows" "$(tail -n 1 jobs/log)" "slurm.sh: found 20001 rows of 20000 lines"
rm out.tsv.parts/2
run
equal "slurm, again" out.tsv want
expect "slurm: parts are removed" "$(ls -d out.tsv*)" out.tsv
finish
