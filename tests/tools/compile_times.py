#!/usr/bin/env python3
"""What it costs to compile a file that reads a config and prints a plan, against fmt/format.h alone.

usage: compile_times.py [COMPILER]

Processor time of the fastest of five compilations each, in turn, at -O2: a machine's time, so only the ratio says
something. With kvbudget::compiled, and header-only.
"""

import pathlib
import resource
import subprocess
import sys
import tempfile

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
PLAN = """#include <kvbudget/input/locate.hpp>
#include <kvbudget/plan/make_plan.hpp>
#include <kvbudget/report/report.hpp>
#include <cstdio>
int main() {
  kvbudget::plan_question question;
  question.engine = "vllm";
  question.work = kvbudget::workload{3000, 1000, 4, {}};
  std::puts(to_table(make_plan(kvbudget::locate_config("config.json"), question)).c_str());
}
"""
FORMAT = """#include <fmt/format.h>
int main() { fmt::print("{}", 1); }
"""


def seconds(compiler, source, flags):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([compiler, "-std=c++20", "-O2", *flags, f"-I{INCLUDE}", "-c", str(source), "-o", "/dev/null"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    compiler = sys.argv[1] if len(sys.argv) > 1 else "c++"
    with tempfile.TemporaryDirectory() as folder:
        plan, form = pathlib.Path(folder) / "plan.cpp", pathlib.Path(folder) / "format.cpp"
        plan.write_text(PLAN)
        form.write_text(FORMAT)
        trials = {"fmt/format.h alone": (form, [], 5), "kvbudget::compiled": (plan, ["-DKVBUDGET_COMPILED"], 5),
                  "header-only": (plan, ["-DFMT_HEADER_ONLY"], 1)}
        best = {name: min(seconds(compiler, source, flags) for _ in range(times))
                for name, (source, flags, times) in trials.items()}
    for name, time in best.items():
        print(f"{name:<20} {time:6.2f} s  x {time / best['fmt/format.h alone']:.2f}")


if __name__ == "__main__":
    main()
