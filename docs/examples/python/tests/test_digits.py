# SPDX-License-Identifier: Apache-2.0
"""Tests of the Python training example. Run them with: python3 -m unittest discover docs/examples/python/tests"""

import contextlib
import io
import json
import os
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

PYTHON = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PYTHON / "digits"))

import numpy as np  # noqa: E402
import requests  # noqa: E402
import train  # noqa: E402

GUIDE = PYTHON / "raw_http" / "guide.py"
DATA = PYTHON.parent / "go" / "digits" / "data" / "digits.csv.gz"


def quiet_run(*arguments):
    """Runs the program and returns its exit code and what it printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = train.main(list(arguments))
    return code, out.getvalue()


class TrainingTest(unittest.TestCase):
    def test_reads_most_digits_after_a_few_epochs(self):
        code, out = quiet_run("--epochs", "10", "--hidden", "64", "--data", str(DATA), "--log-every", "10")
        self.assertEqual(code, 0)
        right = int(out.rsplit(": ", 1)[1].split(" of 359")[0])
        self.assertGreater(right, 300, out)
        self.assertEqual(out.count("progress is not reported"), 1)

    def test_gradient_is_the_slope_of_the_loss(self):
        rng = np.random.default_rng(7)
        images, digits = rng.normal(size=(4, 5)), np.array([0, 2, 1, 2])
        network = train.Network(rng, 5, 6, 3)
        slopes = {}
        network.step = lambda i, weights, biases, rate: slopes.update({i: (weights, biases)})
        network.learn(images, digits, 1.0)

        def loss():
            return network.measure(images, digits)[0] * len(digits)

        for i, (weight_slopes, bias_slopes) in slopes.items():
            for values, got in ((network.weights[i], weight_slopes), (network.biases[i], bias_slopes)):
                for place in np.ndindex(values.shape):
                    old, nudge = values[place], 1e-6
                    values[place] = old + nudge
                    right = loss()
                    values[place] = old - nudge
                    left = loss()
                    values[place] = old
                    self.assertAlmostEqual(got[place], (right - left) / (2 * nudge), places=5)

    def test_remaining_is_unknown_until_two_steps_are_done(self):
        self.assertIsNone(train.remaining(1.0, 1, 10))
        self.assertEqual(train.remaining(10.0, 5, 10), 10)
        self.assertEqual(train.remaining(1.0, 3, 4), 1)
        self.assertEqual(train.remaining(1.0, 12, 10), 0)

    def test_finds_the_data_without_importing_scikit_learn(self):
        path = train.find_data()
        self.assertTrue(path.is_file())
        self.assertNotIn("sklearn", sys.modules)
        images, digits = train.load_digits(path)
        self.assertEqual(images.shape, (1797, 64))
        self.assertEqual((images.min(), images.max(), digits.min(), digits.max()), (0, 1, 0, 9))


class GuideTest(unittest.TestCase):
    """Reports are sent by the real code of the guide; only the network is replaced, by a recording requests.post."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        token = Path(self.folder.name) / "token"
        token.write_text("secret\n")
        environment = {
            "KUBEFLOW_TRAINER_SERVER_URL": "https://127.0.0.1:1/status",
            "KUBEFLOW_TRAINER_SERVER_CA_CERT": "/ca.crt",
            "KUBEFLOW_TRAINER_SERVER_TOKEN": str(token),
        }
        patch = mock.patch.dict(os.environ, environment)
        patch.start()
        self.addCleanup(patch.stop)

    def post(self, send, *reports):
        sent = []

        def record(url, **options):
            sent.append(types.SimpleNamespace(url=url, **options))
            return types.SimpleNamespace(raise_for_status=lambda: None)

        with mock.patch.object(requests, "post", record):
            for report in reports:
                send(*report)
        return sent

    def test_values_take_the_place_of_the_placeholders_and_nothing_else_changes(self):
        reporter = train.GuideReporter(GUIDE, 5)
        (sent,) = self.post(reporter.report, (37, 21, "0.0412", "0.9722"))
        status = sent.json["trainerStatus"]
        self.assertTrue(status.pop("lastUpdatedTime").endswith("+00:00"))
        self.assertEqual(
            status,
            {
                "progressPercentage": 37,
                "estimatedRemainingSeconds": 21,
                "metrics": [{"name": "loss", "value": "0.0412"}, {"name": "accuracy", "value": "0.9722"}],
            },
        )
        self.assertEqual(sent.headers, {"Authorization": "Bearer secret"})
        self.assertEqual((sent.url, sent.verify, sent.timeout), ("https://127.0.0.1:1/status", "/ca.crt", 5))
        json.dumps(sent.json)

    def test_at_most_one_report_each_interval_but_the_last_always(self):
        reporter = train.GuideReporter(GUIDE, 3600)
        report = (1, None, "1", "0")
        sent = self.post(reporter.report, report, report, (*report, True))
        self.assertEqual(len(sent), 2)
        self.assertIsNone(sent[0].json["trainerStatus"]["estimatedRemainingSeconds"])

    def test_a_changed_guide_is_noticed_at_the_start(self):
        changed = Path(self.folder.name) / "guide.py"
        changed.write_text(GUIDE.read_text(encoding="utf-8").replace("45,", "46,"), encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "progressPercentage"):
            train.GuideReporter(changed, 5)

    def test_training_goes_on_without_an_endpoint_and_without_a_token(self):
        os.environ["KUBEFLOW_TRAINER_SERVER_CA_CERT"] = str(Path(self.folder.name) / "absent")
        options = ("--epochs", "1", "--hidden", "8", "--data", str(DATA), "--report-interval", "0.2")
        code, out = quiet_run(*options)
        self.assertEqual(code, 0)
        self.assertIn("Failed to update TrainJob progress", out)
        os.remove(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"])
        code, out = quiet_run(*options)
        self.assertEqual(code, 0)
        self.assertIn("Failed to update TrainJob progress", out)


if __name__ == "__main__":
    unittest.main()
