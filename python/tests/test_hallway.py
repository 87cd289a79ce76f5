"""Tests of the installed package: `python -m unittest discover python/tests`, from the root."""

import os
import pathlib
import sys
import types
import unittest

import hallway

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = ROOT / "tests/traces/repeated.json.gz"
PROFILE = ROOT / "calibration/h200/profile.toml"
NAMED = {"schema_version": 1, "name": "x", "question": "?"}


class Evaluated(unittest.TestCase):
    def test_a_file_gives_plans_in_order(self):
        found = hallway.evaluate(ROOT / "scenarios/stream-saxpy.toml", profile=PROFILE, draws=20)
        plans = found.scenarios[0].plans
        self.assertEqual([plan.rank for plan in plans], list(range(1, len(plans) + 1)))
        self.assertLessEqual(plans[0].low_ns, plans[0].predicted_ns)
        self.assertIn(found.scenarios[0].verdict.answer, str(found.raw))
        self.assertIn("saxpy", str(found))

    def test_a_dict_is_a_scenario(self):
        buffers = [
            {"name": name, "type": "f32", "elements": 1 << 20, "home": "host"} for name in "xy"
        ]
        task = {"name": "t", "kernel": "scale", "reads": ["x"], "writes": ["y"]}
        scenario = {
            "schema_version": 1,
            "name": "of-python",
            "question": 'Does a "dict" do?',
            "buffer": buffers,
            "task": [task],
        }
        found = hallway.evaluate(scenario, profile=PROFILE, draws=20)
        self.assertEqual(found.scenarios[0].scenario, "of-python")

    def test_what_is_wrong_is_said(self):
        with self.assertRaises(hallway.HallwayError) as caught:
            hallway.evaluate({**NAMED, "kernels": 3}, profile=PROFILE)
        self.assertEqual(caught.exception.code, 2)
        self.assertIn("kernels", str(caught.exception))


class Advised(unittest.TestCase):
    def test_a_trace_gives_changes(self):
        found = hallway.advise(TRACE, profile=PROFILE, draws=20)
        self.assertEqual(found.changes[0].remedy, "pin")
        self.assertGreater(found.changes[0].factor, 2)
        self.assertGreater(found.changes[0].takes.pinned_bytes, 0)
        self.assertTrue(found.best.steps)
        self.assertIn("pin", str(found))

    def test_a_trace_is_explained(self):
        found = hallway.explain(TRACE, profile=PROFILE)
        self.assertEqual(found.passes, 10)
        self.assertEqual(found.sites[0].reason, "pageable")


class Recorded(unittest.TestCase):
    def test_without_a_recorder_that_is_said(self):
        self.assertNotIn("torch", sys.modules)
        with self.assertRaisesRegex(RuntimeError, "import torch first"):
            with hallway.recording():
                pass

    def test_the_profiler_of_pytorch_records(self):
        class Profiler:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                return None

            def export_chrome_trace(self, path):
                import gzip

                pathlib.Path(path).write_bytes(gzip.decompress(TRACE.read_bytes()))

        torch = types.ModuleType("torch")
        torch.profiler = types.SimpleNamespace(profile=Profiler)
        sys.modules["torch"] = torch
        try:
            with hallway.recording() as found:
                self.assertIsNone(found.path)
            self.assertEqual(found.advise(profile=PROFILE).changes[0].remedy, "pin")
        finally:
            del sys.modules["torch"]

    def test_the_recorder_that_started_the_process_records(self):
        import shutil
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            prefix = os.path.join(folder, "recording")
            os.environ["HALLWAY_RECORD_FILE"] = prefix
            try:
                with hallway.recording() as found:
                    recorded = ROOT / "tests/recordings/pageable.hallway"
                    shutil.copy(recorded, f"{prefix}.{os.getpid()}.part")
                self.assertEqual(found.explain(profile=PROFILE).passes, 5)
            finally:
                del os.environ["HALLWAY_RECORD_FILE"]


if __name__ == "__main__":
    unittest.main()
