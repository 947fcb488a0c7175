"""No folder of include/kvbudget/ includes one that it must not: arrows.py SOURCE.

The table says what each folder may include; the order is the one in which a number comes about.
"""

import pathlib
import re
import sys

ORDER = ["core", "ledger", "input", "config", "engine", "engines", "plan", "report"]
ALLOWED = {
    "core": set(),
    "ledger": {"core"},
    "input": {"core"},
    "config": {"core", "input"},
    "engine": {"core", "input", "config"},
    "engines": {"core", "input", "config", "engine"},
    "plan": {"core", "input", "config", "engine", "engines"},
    "report": {"core", "input", "config", "engine", "engines", "plan"},
}
# Headers above all folders: a number and two macros.
ANYWHERE = {"version.hpp", "compiled.hpp"}
# Single headers with more reason than their folder.
EXCEPTIONS = {
    ("engines/vllm/block_pool.hpp", "ledger"): "what a ledger counts of vLLM's plan",
    ("engines/none", "engines/llama_cpp"): "a model type that only llama.cpp knows",

    ("plan/model_length.ipp", "engines/llama_cpp"): "the length that GGUF metadata state",
}

def main():
    root = pathlib.Path(sys.argv[1]) / "include" / "kvbudget"
    wrong, used = [], set()
    for path in sorted([*root.rglob("*.hpp"), *root.rglob("*.ipp")]):
        name = path.relative_to(root).as_posix()
        folder = name.split("/")[0]
        if folder not in ALLOWED:
            continue  # a header above the folders may include what it likes
        own = "/".join(name.split("/")[:2]) if folder == "engines" and name.count("/") > 1 else folder
        for target in re.findall(r"^#include <kvbudget/([^>]+)>", path.read_text(encoding="utf-8"), re.M):
            to = target.split("/")[0]
            engine = "/".join(target.split("/")[:2]) if to == "engines" and target.count("/") > 1 else to
            if target in ANYWHERE or engine == own or to == folder != "engines":
                continue
            exception = next((key for key in EXCEPTIONS if name.startswith(key[0]) and target.startswith(key[1])), None)
            if exception:
                used.add(exception)
            elif to == folder:
                if own != "engines":  # engines.hpp and engines.ipp list the engines
                    wrong.append(f"{name} includes {target} of another engine")
            elif to not in ALLOWED[folder]:
                wrong.append(f"{name} includes {target}: {folder} may include {', '.join(sorted(ALLOWED[folder])) or 'nothing'}")
    wrong += [f"{key[0]} may include {key[1]}, and does not" for key in EXCEPTIONS if key not in used]
    print("\n".join(wrong) if wrong else "every include goes down")
    return 1 if wrong else 0

if __name__ == "__main__":
    sys.exit(main())
