#!/bin/bash
# Runs a tool over blocks of a large file with GNU parallel: the bytes of one run, if the tool writes a row for each
# line without its number (no -n, no --json: each block counts from 1). A block whose tool is killed is computed again,
# in three tries. A status other than 0 says that rows are missing:
#   parallel.sh reviews.txt classify -o >labels.tmp && mv labels.tmp labels.tsv
# Each block (1 MB) has one thread. One machine needs no script, since a tool uses all CPUs. For several machines,
# PARALLEL='--sshlogin :,host1,host2' sends them the blocks. With "memo CACHE -- TOOL" in place of TOOL, a run on one
# machine that was killed as a whole goes on.
# test needs: parallel
# test model: tiny-classifier
# test arguments: text.txt classify
# usage: parallel.sh FILE TOOL [TOOL OPTIONS]
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
# Not --pipepart: its second try of a block gets only what the first did not read, and the status is 0. Not --cat: it
# loses the status of the tool.
cat -- "$1" | parallel --pipe -q -k --retries 3 --halt now,fail=1 "${@:2}" -j 1
