#!/usr/bin/env python3
"""Plants bugs in copies of the ledger's headers, one at a time, and says which of them the ledger's tests catch.

    planted_bugs.py [LIST.tsv ...] [--only NAME] [--build FOLDER] [--compiler g++] [--jobs 2]

A list has the columns name, header (below include/kvbudget/), what stands there, what the bug makes of it ("(nothing)":
it is left out), and optionally why nothing can catch it. Runs of white space count as one. Without a list it is
tests/data/planted_bugs.tsv. A bug is caught by a test that fails, crashes or does not end, or by a compiler error.
Exits with 1 if a bug that can be caught is not, or a row does not apply.
"""

import argparse
import concurrent.futures
import csv
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The quickest first: the first that fails decides.
TESTS = ["property/ledger_schedules", "property/ledger", "unit/ledger_interleavings", "threads/ledger_storm",
         "unit/ledger"]
FLAGS = ["-std=c++20", "-O0", "-pthread", "-w", f"-I{ROOT}/tests"]
SECONDS = 240


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if len(row) < 4 or row[0] == "name" or row[0].startswith("#"):
                continue
            yield row[0], row[1], row[2], "" if row[3] == "(nothing)" else row[3], row[4:]


def planted(text, stands, bug):
    """None unless it stands there exactly once."""
    pattern = r"\s+".join(re.escape(word) for word in stands.split())
    changed, times = re.subn(pattern, lambda _: bug, text)
    return changed if times == 1 else None


# What all tests include is compiled once.
COMMON = "algorithm array atomic chrono condition_variable cstdio cstdlib functional memory mutex string vector".split()


def compiled(compiler, include, test, target, main):
    source = ROOT / "tests" / f"{test}.cpp"
    own_main = "int main(" in source.read_text(encoding="utf-8")
    fast = [] if own_main else ["-include", str(main.with_name("common.hpp"))]
    command = [compiler, *FLAGS, *fast, f"-I{include}", str(source), *([] if own_main else [str(main)]), "-o",
               str(target)]
    return subprocess.run(command, capture_output=True, text=True)


def caught_by(compiler, tests, include, folder, main):
    for test in tests:
        target = folder / test.replace("/", "_")
        made = compiled(compiler, include, test, target, main)
        if made.returncode != 0:
            return "compiler: " + next((x for x in made.stderr.splitlines() if "error" in x), "")[-120:]
        try:
            run = subprocess.run([target], capture_output=True, text=True, errors="replace", timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return f"{test}: does not end"
        if run.returncode != 0:
            said = [x.strip() for x in run.stdout.splitlines() if re.search("seed |all threads", x)]
            said += [x.strip() for x in run.stdout.splitlines() if re.search("FAILED|^[a-z ]+$", x)]
            return f"{test}: " + (said[0] if said else f"status {run.returncode}")
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", nargs="*", default=[ROOT / "tests/data/planted_bugs.tsv"])
    parser.add_argument("--only", help="a regular expression for names")
    parser.add_argument("--build", help="where to build; otherwise a temporary folder")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="of these only: " + " ".join(TESTS))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(dir=options.build) as temporary:
        temporary = pathlib.Path(temporary)
        main_object = temporary / "main.o"
        subprocess.run([options.compiler, *FLAGS, "-c", str(ROOT / "tests/support/catch_main.cpp"), "-o",
                        str(main_object)], check=True)
        common = temporary / "common.hpp"
        common.write_text("".join(f"#include <{name}>\n" for name in COMMON) + '#include "support/catch.hpp"\n')
        if "clang" not in options.compiler:
            subprocess.run([options.compiler, *FLAGS, "-x", "c++-header", str(common), "-o", f"{common}.gch"],
                           check=True)

        def tried(row):
            name, header, stands, bug, why = row
            folder = pathlib.Path(tempfile.mkdtemp(dir=temporary))
            try:
                include = folder / "include"
                shutil.copytree(ROOT / "include", include)
                at = include / "kvbudget" / header
                text = planted(at.read_text(encoding="utf-8"), stands, bug)
                if text is None:
                    return row, "does not apply", False
                at.write_text(text, encoding="utf-8")
                by = caught_by(options.compiler, options.tests, include, folder, main_object)
                if by is None and why and why[0].startswith("equivalent"):
                    return row, why[0], True
                return row, by or "NOT CAUGHT", by is not None
            finally:
                shutil.rmtree(folder, ignore_errors=True)

        rows = [r for path in options.lists for r in rows_of(path) if not options.only or re.search(options.only, r[0])]
        good = 0
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for done in concurrent.futures.as_completed([pool.submit(tried, row) for row in rows]):
                row, said, fine = done.result()
                good += fine
                print(f"{row[0]}\t{said}", flush=True)
        print(f"{good} of {len(rows)} caught or equivalent")
    return 0 if good == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
