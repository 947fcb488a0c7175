#!/usr/bin/env python3
"""The README's exactness table, from what kvbudget-verify says about measured cases.

usage: exactness_table.py KVBUDGET_VERIFY PATH... [--readme README.md]

Each PATH is a file or folder of measured cases; one whose name ends in "-random" holds random configs, which get rows of
their own. Without --readme the table is printed; with it, the lines between the
two markers in that file are replaced.
"""

import argparse
import json
import pathlib
import re
import subprocess

BEGIN, END = "<!-- exactness: begin -->", "<!-- exactness: end -->"


def cases_of(path):
    """Engine, version and model of each case, by its id."""
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    for file in files:
        content = json.loads(file.read_text())
        for case in content if isinstance(content, list) else [content]:
            if isinstance(case, dict) and "runs" in case:
                yield case["id"], case


def version_of(case):
    """"0.36.3" out of a sentence, for engines whose version is told in words."""
    numbers = re.findall(r"\d+\.\d+\.\d+", case["engine_version"])
    return numbers[-1] if numbers else case["engine_version"]


def rows(verify, paths):
    table = {}
    for path in paths:
        cases = dict(cases_of(path))
        answer = subprocess.run([verify, str(path), "--format", "json"], capture_output=True, text=True)
        for run in json.loads(answer.stdout)["runs"]:
            case = cases[run["id"]]
            kind = "random" if path.resolve().name.endswith("-random") else "published and made"
            key = (case["engine"], version_of(case), kind)
            row = table.setdefault(key, {"models": set(), "configs": set(), "runs": 0, "exact": 0, "refused": 0})
            row["models"].add(json.dumps(case["config"].get("model_type")))
            row["configs"].add(json.dumps(case["config"], sort_keys=True))
            row["runs"] += 1
            row["exact"] += run["status"] == "matched"
            row["refused"] += run["status"] in ("unsupported", "allowed")
    return table


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("verify")
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    parser.add_argument("--readme", type=pathlib.Path)
    options = parser.parse_args()
    lines = ["| engine | version | configs are | model types | configs | runs | exact | refused by name |",
             "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    for (engine, version, kind), row in sorted(rows(options.verify, options.paths).items()):
        lines.append(f"| {engine} | {version} | {kind} | {len(row['models'])} | {len(row['configs'])} | {row['runs']} "
                     f"| {row['exact']} | {row['refused']} |")
    text = "\n".join(lines)
    if options.readme is None:
        print(text)
        return
    readme = options.readme.read_text()
    before, rest = readme.split(BEGIN)
    after = rest.split(END)[1]
    options.readme.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()
