"""A thread that ran the models ends without taking the process with it."""

import subprocess
import sys

import pytest

SESSION = """
import threading
from engine.mlx_backend import load
from engine.mlx_backend.thread import mlx_thread

def work():
    with mlx_thread():
        target = load.load_target("bundled")
        scorer = load.scorer(target)
        scorer.prefill((1, 2, 3))
        print(scorer.score((3, 4, 5)).shape)

for _ in range(2):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
"""


@pytest.mark.model
def test_two_threads_load_run_and_end_one_after_the_other():
    done = subprocess.run([sys.executable, "-c", SESSION], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("(3, 49152)\n(3, 49152)\n", "")
    assert done.returncode == 0
