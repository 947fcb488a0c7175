#!/usr/bin/env python3
"""Packs measured llama.cpp cases into tests/data/llama_cpp.json: a JSON list, one case a line.

    pack_llama_cpp_cases.py DIR ...

Kept of a config: the fields that the reader of config/llama_cpp names. Kept of a run: settings that differ from the
defaults of the C API, and the compared figures; layer by layer figures for one run of each case. Runs that only
split by tensor are left out. Cases with the same config and the same settings are kept once.
"""

import argparse
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
READER = ROOT / "include" / "kvbudget" / "config" / "llama_cpp"
FIELDS = set(re.findall(r'"([A-Za-z_0-9]+)"', "".join(p.read_text(encoding="utf-8") for p in READER.glob("*.hpp"))))
NESTED = "text_config llm_config lm_config language_config".split()
WHOLE = "attn_config linear_attn_config sparse_attention_config per_layer_config attention_other_setting".split()
GGUF = set(re.findall(r'"([a-z_0-9.]+)"', (READER / "gguf_metadata.hpp").read_text(encoding="utf-8")))

DEFAULTS = dict(n_ctx=512, n_batch=2048, n_ubatch=512, n_seq_max=1, type_k="f16", type_v="f16", flash_attn="auto",
                kv_unified=False, swa_full=True, offload_kqv=True, n_rs_seq=0, ctx_type="default", load_mtp=False,
                n_gpu_layers=-1, split_mode="layer", main_gpu=0, devices=0)
FIGURES = """total_bytes k_bytes v_bytes r_bytes s_bytes p_bytes n_ctx n_ctx_seq n_batch n_ubatch n_seq_max n_rs_seq
             recurrent_cells recurrent_layers bytes_per_device layers_per_device error""".split()
CACHE = "name cells layers n_stream k_bytes v_bytes".split()
LAYER = "layer k_bytes v_bytes other_bytes".split()


def packed_config(config):
    kept = {}
    for key, value in config.items():
        if key in NESTED and isinstance(value, dict):
            kept[key] = packed_config(value)
        elif key == "block_configs" and isinstance(value, list):
            kept[key] = [{k: {n: v for n, v in block[k].items() if n in FIELDS} if isinstance(block[k], dict) else block[k]
                          for k in ("attention", "block_type", "moe_intermediate_size") if k in block} for block in value]
        elif key in WHOLE or (key in FIELDS and not (isinstance(value, list) and not value)):
            kept[key] = value
    return kept


def packed_run(run, with_layers):
    expect = {k: run["expect"][k] for k in FIGURES if run["expect"].get(k) is not None}
    if "error" in expect:
        expect = {"error": expect["error"]}
    elif run["expect"].get("caches") is not None:
        expect["caches"] = [{k: c[k] for k in CACHE} for c in run["expect"]["caches"]]
        if with_layers and run["expect"].get("layers"):
            expect["layers"] = [{k: row[k] for k in LAYER} for row in run["expect"]["layers"]]
    settings = {k: v for k, v in run["settings"].items() if v is not None and v != DEFAULTS.get(k)}
    return {"name": run["name"], "settings": settings, "expect": expect}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=pathlib.Path, metavar="DIR")
    packed = {}
    for path in sorted(p for given in parser.parse_args().paths for p in (given.glob("*.json") if given.is_dir() else [given])):
        case = json.loads(path.read_text(encoding="utf-8"))
        if "runs" not in case:
            continue
        config = packed_config(case["config"])
        kept = {k: case[k] for k in ("id", "engine", "engine_version", "config_form")}
        kept["config"] = config
        gguf = {k: v for k, v in case.get("gguf", {}).items() if k.split(".", 1)[-1] in GGUF}
        if len(gguf) > 4:
            kept["gguf"] = gguf
        into = packed.setdefault(json.dumps(config, sort_keys=True), {**kept, "runs": []})
        into.setdefault("gguf", gguf if len(gguf) > 4 else None)
        known = {json.dumps(r["settings"], sort_keys=True) for r in into["runs"]}
        for run in case["runs"]:
            if run["settings"].get("split_mode") == "tensor":
                continue
            new = packed_run(run, not any("layers" in r["expect"] for r in into["runs"]))
            key = json.dumps(new["settings"], sort_keys=True)
            if key not in known:
                known.add(key)
                into["runs"].append(new)
    lines = []
    for case in sorted(packed.values(), key=lambda c: c["id"]):
        if case.get("gguf") is None:
            case.pop("gguf", None)
        lines.append(json.dumps(case, separators=(",", ":")))
    (ROOT / "tests" / "data" / "llama_cpp.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
