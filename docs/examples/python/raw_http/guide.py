# SPDX-License-Identifier: Apache-2.0
#
# The raw HTTP example of the Kubeflow Trainer user guide "TrainJob Progress and Training Metrics", word for word between the
# two marks. It is here to show that code written for Kubeflow Trainer works with Milepost as it is: run inside a TrainJob, or
# below `milepost run`, it sends one report. Do not edit it; ../digits/train.py trains for real and sends its reports with it.

# [start:guide]
import os
from datetime import datetime, timezone
import requests
import time

server_url = os.environ.get("KUBEFLOW_TRAINER_SERVER_URL")
ca_cert_path = os.environ.get("KUBEFLOW_TRAINER_SERVER_CA_CERT")
token_path = os.environ.get("KUBEFLOW_TRAINER_SERVER_TOKEN")

# Only attempt reporting when running inside a Kubeflow TrainJob
if server_url and ca_cert_path and token_path:
    # Read the token. In production, re-read this file periodically as the JWT token rotates
    with open(token_path, "r") as f:
        token = f.read().strip()

    headers = {"Authorization": f"Bearer {token}"}
    payload = {
        "trainerStatus": {
            "progressPercentage": 45,  # replace with actual value (0–100)
            "estimatedRemainingSeconds": 120,  # replace with actual seconds remaining
            "metrics": [
                {"name": "loss", "value": "0.15"},
                {"name": "accuracy", "value": "0.92"},
            ],
            "lastUpdatedTime": datetime.now(timezone.utc).isoformat(),
        }
    }

    try:
        response = requests.post(
            server_url,
            headers=headers,
            json=payload,
            verify=ca_cert_path,
            timeout=5,
        )
        response.raise_for_status()
    except Exception as e:
        # Log but never raise reporting must not interrupt training
        print(f"Failed to update TrainJob progress: {e}")
# [end:guide]
