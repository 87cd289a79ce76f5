"""Predicts the shipped programs, times them as Python and CUDA programs, and compares.

    python3 run.py HALLWAY PROFILE OUTPUT

Predictions are written, and their digest printed, before any program runs. What PyTorch adds to a
call is measured first, by framework.py, and stated as work of the host before each call that
PyTorch makes.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
SCENARIOS = HERE.parents[2] / "scenarios" / "programs"


def json_lines(command):
    run = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
    if run.returncode != 0:
        print(f"{command} failed: {run.stderr[-2000:]}", file=sys.stderr)
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]


def kind_of(call, program):
    """What framework.py calls a call of a scenario's program, given by their texts."""
    kernel = re.match(r'\{ launch = "([a-z-]+)"', call)
    if kernel:
        return f"launch {kernel[1]}"
    target = re.search(r'to = "([^"\[{]*)', call)[1]
    on_gpu = re.findall(r'name = "([^"]*)", kind = "device"', program)
    way = "in" if any(re.fullmatch(re.escape(target) + r"\d*", name) for name in on_gpu) else "out"
    memory = "pinned" if "{ pin =" in program else "pageable"
    waits = "" if "stream =" in call else ", waited for"
    return f"copy {way}, {memory}{waits}"


def with_framework(scenario, added):
    """The text of a scenario in which the host works for as long as PyTorch does for each call."""
    programs = re.split(r"(?=^\[\[program\]\])", scenario.read_text(), flags=re.M)

    def stated(program):
        def worked(call):
            ranges = len(re.findall(r'\w\[[^"]*\]"', call[0]))
            ns = added.get(kind_of(call[0], program), 0) + ranges * added["range"]
            return f'{{ work = "{ns} ns" }}, {call[0]}'

        head, body = program.split("calls = [", 1)
        return head + "calls = [" + re.sub(r"\{ (?:copy|launch) = [^{}]*(?:\{[^{}]*\}[^{}]*)*\}", worked, body)

    return programs[0] + "".join(stated(program) for program in programs[1:])


def counterparts():
    """For each scenario, the command of the program that it stands for."""
    for scenario in sorted(SCENARIOS.glob("*.toml")):
        name = scenario.stem.replace("-", "_")
        script, source = HERE / f"{name}.py", HERE / f"{name}.cu"
        if script.exists():
            yield scenario, [sys.executable, str(script)], True
        if source.exists():
            binary = f"/tmp/{name}"
            flags = ["-O3", "-std=c++17", "-Xcompiler", "-fopenmp"]
            subprocess.run(["nvcc", *flags, "-o", binary, str(source)], check=True)
            yield scenario, [binary], False


def predict(hallway, profile, scenario):
    command = [hallway, "evaluate", str(scenario), "--profile", profile, "--format", "json"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        print(f"{scenario}: {run.stderr[-2000:]}", file=sys.stderr)
        return {}
    plans = json.loads(run.stdout)["scenarios"][0]["plans"]
    return {plan["plan"]: plan for plan in plans}


def main(hallway, profile, output):
    output = pathlib.Path(output)
    output.mkdir(parents=True, exist_ok=True)
    toml = pathlib.Path(profile)
    toml = toml / "profile.toml" if toml.is_dir() else toml
    [framework] = json_lines([sys.executable, "framework.py", str(toml)])
    (output / "framework.json").write_text(json.dumps(framework, indent=1) + "\n")
    print("framework", framework, flush=True)
    runs = list(counterparts())
    predictions = {}
    for scenario, _, is_python in runs:
        if is_python:
            stated = output / scenario.name
            stated.write_text(with_framework(scenario, framework))
        else:
            stated = scenario
        found = predict(hallway, profile, stated)
        kept = ("predicted_ns", "low_ns", "high_ns")
        found = {name: {key: plan[key] for key in kept} for name, plan in found.items()}
        predictions.setdefault(scenario.stem, {}).update(found)
    text = json.dumps(predictions, indent=1, sort_keys=True) + "\n"
    (output / "predictions.json").write_text(text)
    print("digest of predictions", hashlib.sha256(text.encode()).hexdigest(), flush=True)
    rows = []
    for scenario, command, _ in runs:
        for line in json_lines(command):
            predicted = predictions[scenario.stem].get(line["program"])
            measured = line["median_ns"]
            error = predicted and predicted["predicted_ns"] / measured - 1
            rows.append({"scenario": scenario.stem, **line, "predicted": predicted, "error": error})
            said = "unknown" if error is None else f"{error:+.1%}"
            print(f"{scenario.stem:24} {line['program']:34} {measured / 1e6:9.3f} ms {said}", flush=True)
    (output / "measured.json").write_text(json.dumps(rows, indent=1) + "\n")
    errors = sorted(abs(row["error"]) for row in rows if row["error"] is not None)
    if errors:
        ninth = errors[min(len(errors) - 1, int(0.9 * len(errors)))]
        middle = errors[len(errors) // 2]
        print(f"{len(errors)} programs: median {middle:.1%}, nine of ten {ninth:.1%}, worst {errors[-1]:.1%}")


if __name__ == "__main__":
    main(*sys.argv[1:4])
