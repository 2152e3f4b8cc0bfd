# SPDX-License-Identifier: Apache-2.0
"""Prints how far a TrainJob is, as the guide shows it.

Usage: progress.py TRAINJOB. Works with the rights and the namespace of the kubeconfig, and needs the packages kubeflow and
milepost.
"""

import sys

# [start:progress]
from milepost.kubeflow import TrainerClient

client = TrainerClient()
status = client.get_job(sys.argv[1])
print(f"Progress: {status.trainer_status.progress_percentage}%")
print(f"ETA: {status.trainer_status.estimated_remaining_seconds}s")
print(f"Metrics: {status.trainer_status.metrics}")
# [end:progress]
