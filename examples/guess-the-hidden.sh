#!/bin/bash
# How often does the model guess a hidden token of a text? First guess, and among the first five.
# test arguments: corpus.txt
# usage: guess-the-hidden.sh FILE
set -euo pipefail
mlm-mask --seed 1 --labels "$1" | mlm-fill -f 1 --labels 2
