#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Trains a program in awk to read handwritten digits and reports its progress with milepost-report.
#
#     train.sh digits.csv.gz [EPOCHS]
set -euo pipefail
program=$(dirname "$0")/train.awk

# [start:train]
zcat "$1" | awk -F, -v epochs="${2:-40}" -f "$program" | milepost-report --follow -
# [end:train]
