#!/usr/bin/env python3
"""Packs measured cases into tests/data: one JSON list per engine and version, one case a line.

    pack_cases.py DIR ... [--suffix -measured]

What no reader looks at goes: prose, bookkeeping, shapes, settings that are null, and all configuration fields that
cannot change a cache. Figures of single layers stay for one run of each model type. Cases that say the same become one.
"""

import argparse
import json
import pathlib

from cache_fields import COMPUTED_FIELDS, FIELDS

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"

# The last one stands in dumps of a live object, never in a saved file: it tells the two forms apart.
IDENTITY = "model_type architectures dtype torch_dtype chunk_size_feed_forward".split()
# Names from which a class derives one of FIELDS when it reads an older or a hand-written file.
LEGACY = "n_embed n_head_kv num_attention_groups attention_other_setting".split()
# Sub-configurations that can say something about a cache.
NESTED = """
text_config language_config llm_config decoder generator decoder_config thinker_config vlm_config encoder talker_config depth_decoder_config
semantic_config coarse_acoustics_config fine_acoustics_config
attn_config linear_attn_config sparse_attention_config loop_config per_layer_config
""".split()
# Inside those that are not configurations of a model, every field counts.
WHOLE = "attn_config linear_attn_config sparse_attention_config loop_config per_layer_config".split()
SETTINGS_WITHOUT_EFFECT = "output_field created_by".split()
FIGURES = "total_bytes storage_bytes module_state_bytes".split()


def packed_config(config):
    kept = {}
    for key, value in config.items():
        if key in WHOLE:
            kept[key] = value
        elif key == "vision_config" and isinstance(value, dict) and "max_num_tiles" in value:
            kept[key] = {k: value[k] for k in ("model_type", "image_size", "patch_size", "max_num_tiles") if k in value}
        elif key in NESTED:
            kept[key] = packed_config(value) if isinstance(value, dict) else value
        elif key in FIELDS or key in COMPUTED_FIELDS or key in IDENTITY or key in LEGACY:
            kept[key] = value
    return kept


def packed_run(run):
    settings = {k: v for k, v in run["settings"].items() if v is not None and k not in SETTINGS_WITHOUT_EFFECT}
    expect = {k: run["expect"][k] for k in FIGURES if k in run["expect"]}
    return {"name": run["name"], "settings": settings, "expect": expect}


def packed_rows(layers):
    return [{key: row[key] for key in ("layer", "k_bytes", "v_bytes", "other_bytes")} for row in layers]


def read(paths):
    for path in sorted(p for given in paths for p in (given.glob("*.json") if given.is_dir() else [given])):
        content = json.loads(path.read_text(encoding="utf-8"))
        yield from content if isinstance(content, list) else [content]


def most_telling_rows(cases):
    """For each model type the run whose layers differ most, and are fewest among those: {(id, run name): layers}."""
    best = {}
    for case in cases:
        for run in case["runs"]:
            if layers := run["expect"].get("layers"):
                rows = packed_rows(layers)
                rank = len({json.dumps({**row, "layer": 0}) for row in rows}), -len(rows)
                model_type = case["config"].get("model_type")
                if model_type not in best or rank > best[model_type][0]:
                    best[model_type] = rank, (case["id"], run["name"]), rows
    return {key: rows for _, key, rows in best.values()}


def pack(cases):
    """One case for each different configuration, with the runs of all cases that have it."""
    telling, packed = most_telling_rows(cases), {}
    for case in cases:
        config = packed_config(case["config"])
        key = json.dumps(config, sort_keys=True)
        kept = {k: case[k] for k in ("id", "engine", "engine_version", "config_form")}
        into = packed.setdefault(key, {**kept, "config": config, "runs": []})
        known = {json.dumps([r["settings"], r["expect"]["total_bytes"]], sort_keys=True): r for r in into["runs"]}
        for run in case["runs"]:
            new = packed_run(run)
            same = known.get(json.dumps([new["settings"], new["expect"]["total_bytes"]], sort_keys=True))
            if same is None:
                into["runs"].append(new)
                same = new
            if rows := telling.get((case["id"], run["name"])):
                same["expect"]["layers"] = rows
    return sorted(packed.values(), key=lambda case: case["id"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--suffix", default="", help="added to the names of the files written")
    arguments = parser.parse_args()
    groups = {}
    for case in read(arguments.paths):
        groups.setdefault(f"{case['engine']}-{case['engine_version']}", []).append(case)
    DATA.mkdir(exist_ok=True)
    for name, cases in groups.items():
        packed = pack(cases)
        lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in packed)
        path = DATA / f"{name}{arguments.suffix}.json"
        path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        runs = sum(len(case["runs"]) for case in packed)
        print(f"{path.name}: {len(cases)} cases packed into {len(packed)}, {runs} runs, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
