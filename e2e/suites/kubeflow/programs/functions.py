# SPDX-License-Identifier: Apache-2.0
"""What a data scientist hands to `CustomTrainer(func=…)`. The SDK sends the source of one function to the training pod."""


def train_with_sdk(steps, pause):
    """Fits a line, and reports with the function of the published SDK."""
    import time

    from kubeflow.trainer import update_trainjob_status

    slope = 0.0
    for step in range(1, steps + 1):
        time.sleep(pause)
        slope -= 0.2 * (slope - 3)
        metrics = {"loss": (slope - 3) ** 2, "slope": slope}
        sent = update_trainjob_status(99 * step // steps, int(pause * (steps - step)), metrics)
        print("step", step, "sent", sent)
    refused = 0
    while not update_trainjob_status(100, 0, metrics):
        refused += 1
        time.sleep(0.5)
    print("a call with 100 came to nothing", refused, "times")


def train_with_milepost(steps, pause):
    """The same with ours: the import is another one, and nobody has to call again."""
    import time

    from milepost.kubeflow import update_trainjob_status

    slope = 0.0
    for step in range(1, steps + 1):
        time.sleep(pause)
        slope -= 0.2 * (slope - 3)
        metrics = {"loss": (slope - 3) ** 2, "slope": slope}
        sent = update_trainjob_status(99.0 * step / steps, pause * (steps - step), metrics)
        print("step", step, "sent", sent)
    print("last", update_trainjob_status(100, 0, metrics))
