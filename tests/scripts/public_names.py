"""The names that users call, against tests/data/public_names.txt: public_names.py SOURCE [--update].

Public is what stands in namespace kvbudget itself, and what the engines' faces (kvbudget::vllm and so on) offer. All
else is in kvbudget::detail. Widening the list is a decision: change the file with the code.
"""

import pathlib
import re
import sys

DECLARED = re.compile(
    r"^(?:\[\[nodiscard\]\] |\[\[noreturn\]\] )*(?:inline |constexpr |consteval |static |extern )*"
    r"(?:(struct|class|enum class|enum|using|concept|namespace) (\w+)|[\w:<>,&*\[\] .()]*?[ &*](\w+) ?(?:\(|=|\{|\[))")
SKIPPED = {"operator", "requires", "if", "return", "static_assert", "kvbudget", "template", "define"}


def names_of(path):
    stack, names, depth = [], set(), 0
    for line in path.read_text(encoding="utf-8").splitlines():
        opened = re.match(r"^(?:inline )?namespace ([\w:]+) \{$", line)
        if opened:
            stack.append(opened[1])
            continue
        if re.match(r"^\}  // namespace", line):
            stack.pop()
            continue
        where = "::".join(stack)
        if not where.startswith("kvbudget") or "detail" in where or line[:1] in ("", " ", "}", "/", "#", ")"):
            continue
        face = where[len("kvbudget::"):]
        using = re.match(r"^using (?:\w+::)+(\w+);$", line)
        if using:
            names.add(f"{face}::{using[1]}" if face else using[1])
            continue
        found = DECLARED.match(line)
        name = found and (found[2] or found[3])
        if name and name not in SKIPPED and face != "literals":
            names.add(f"{face}::{name}" if face else name)
    return names


def main():
    source = pathlib.Path(sys.argv[1])
    listed = source / "tests" / "data" / "public_names.txt"
    names = set()
    for path in (source / "include" / "kvbudget").rglob("*.hpp"):
        names |= names_of(path)
    text = "".join(name + "\n" for name in sorted(names))
    if "--update" in sys.argv:
        listed.write_text(text, encoding="utf-8")
        return 0
    before = set(listed.read_text(encoding="utf-8").split())
    for name in sorted(names - before):
        print(f"{name} is public now, and not in {listed.name}")
    for name in sorted(before - names):
        print(f"{name} is in {listed.name}, and not public")
    if names == before:
        print(f"{len(names)} public names")
    return 0 if names == before else 1


if __name__ == "__main__":
    sys.exit(main())
