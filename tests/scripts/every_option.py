"""Every option of the program changes the answer, or is refused, or a note says that it is irrelevant.

every_option.py PROGRAM CONFIG: asks one plan with and without each option that `--help` lists, and each engine that
`engines` lists. A note is part of the answer, so that an option that leaves the whole answer as it was is a silent one.
"""

import json
import re
import subprocess
import sys

BASE = ["--prompt", "3072", "--generate", "1024", "--sequences", "4", "--device", "80GiB", "--weights", "16GB",
        "--kv-dtype", "bf16"]

# A value that is not the one in force, and what must be left out of BASE beside it. An option that is not listed here
# fails the test: whoever adds one says how it is tried.
OPTIONS = {
    "--engine": None,  # tried by all of them
    "--set": None,  # an engine's own options: tests of the engines
    "--help": None,
    "--version": None,
    "--format": None,  # the form, not the answer
    "--kv-dtype": ("q8_0", ["--kv-dtype"]),
    "--k-dtype": ("q8_0", ["--kv-dtype"]),
    "--v-dtype": ("q8_0", ["--kv-dtype"]),
    "--prompt": ("3000", ["--prompt"]),
    "--generate": ("1000", ["--generate"]),
    "--sequences": ("3", ["--sequences"]),
    "--lengths": ("3000,200", ["--prompt", "--generate", "--sequences"]),
    "--long-prompt": ("8000", []),
    "--most-sequences": ("50", []),
    "--tensor-parallel": ("2", []),
    "--pipeline-parallel": ("2", ["--weights"]),
    "--stage-layers": ("20,12", ["--weights"]),
    "--context-parallel": ("2", []),
    "--data-parallel": ("2", []),
    "--attention-data-parallel": (None, []),
    "--host-layers": ("2", ["--weights"]),
    "--host-memory": ("64GiB", []),
    "--device": ("24GiB", ["--device"]),
    "--weights": ("15GB", ["--weights"]),
    "--parameters": ("8B", ["--weights"]),
    "--weight-bits": ("8.5", []),
    "--overhead": ("3GiB", []),
    "--utilization": ("0.9", []),
    "--co-resident": ("draft=2GB", []),
    "--observed": ("cache=3GiB", []),
    "--shared-prefix": ("1000", []),
    "--transfer-bandwidth": ("25GB", []),
    "--memory-bandwidth": ("3350GB", []),
}


def ask(program, config, engine, arguments):
    command = [program, config, "--engine", engine, "--format", "json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode in (2, 3, 4) and not done.stdout:
        return done.returncode, None
    return done.returncode, json.loads(done.stdout)


def without(arguments, names):
    pairs = list(zip(arguments[::2], arguments[1::2]))
    return [part for pair in pairs if pair[0] not in names for part in pair]


def main():
    program, config = sys.argv[1:]
    engines = subprocess.run([program, "engines"], capture_output=True, text=True, check=True).stdout.split()
    printed = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    listed = set(re.findall(r"(?:^|[\s,])(--[a-z][a-z-]+)", printed))
    wrong = [f"{name}: not tried here" for name in sorted(listed - OPTIONS.keys())]
    wrong += [f"{name}: no such option" for name in sorted(OPTIONS.keys() - listed)]
    for engine in engines:
        for name, trial in OPTIONS.items():
            if trial is None:
                continue
            value, left_out = trial
            base = without(BASE, left_out)
            before = ask(program, config, engine, base)
            after = ask(program, config, engine, [*base, name] + ([] if value is None else [value]))
            if after[0] != 2 and before == after:
                wrong.append(f"{name} changes nothing with --engine {engine}, and nothing is said")
    print("\n".join(wrong) if wrong else f"{len(OPTIONS)} options, {len(engines)} engines")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
