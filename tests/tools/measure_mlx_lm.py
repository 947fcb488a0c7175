#!/usr/bin/env python3
"""Measures what mlx-lm's caches hold after generate_step, without weights in memory.

    pip install 'mlx[cpu]' mlx-lm==0.32.2
    measure_mlx_lm.py CASES.json > MEASURED.json

CASES is a list of {"id", "config", "runs": [{"name", "settings"}]}; the answer has "expect" in every run. The model is the
package's own class; nothing of it is evaluated, so that published sizes can be measured. A run that the package refuses
has "error" instead of figures.
"""
import json
import sys

import mlx.core as mx
import mlx_lm
from mlx_lm.generate import generate_step
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import _get_classes

DTYPES = {"bfloat16": mx.bfloat16, "float16": mx.float16, "float32": mx.float32}
mx.eval = mx.async_eval = lambda *arrays: None  # shapes are known without it


def first_token(logprobs):
    return mx.array([0])


def arrays_of(cache):
    """All arrays of a cache object."""
    if hasattr(cache, "caches"):
        return [a for c in cache.caches for a in arrays_of(c)]
    if hasattr(cache, "cache"):
        return [a for a in cache.cache if a is not None]
    lists = [x for x in (cache.keys, cache.values) if x is not None]
    return [a for x in lists for a in (x if isinstance(x, (list, tuple)) else [x])]


def description(cache):
    shapes = [[list(a.shape), str(a.dtype).split(".")[-1]] for a in arrays_of(cache)]
    return {"cache_class": type(cache).__name__, "bytes": sum(a.nbytes for a in arrays_of(cache)), "shapes": shapes}


def measure(config, settings):
    model_class, args_class = _get_classes(config)
    model = model_class(args_class.from_dict(json.loads(json.dumps(config))))
    model.set_dtype(DTYPES[settings.get("dtype", "bfloat16")])
    names = ("prefill_step_size", "kv_bits", "kv_group_size", "quantized_kv_start")
    options = {name: settings[name] for name in names if settings.get(name) is not None}
    caches = make_prompt_cache(model, max_kv_size=settings.get("max_kv_size"))
    prompt = mx.zeros([settings["prompt_tokens"]], dtype=mx.int32)
    steps = generate_step(prompt, model, max_tokens=settings["max_tokens"], prompt_cache=caches,
                          sampler=first_token, **options)
    yielded = sum(1 for _ in steps)
    groups = []
    for i, cache in enumerate(caches):
        one = description(cache)
        known = next((g for g in groups if {**g, "layers": 0} == {**one, "layers": 0}), None)
        if known is None:
            groups.append({"layers": [i], **one})
        else:
            known["layers"].append(i)
    return {"total_bytes": sum(g["bytes"] * len(g["layers"]) for g in groups), "tokens_yielded": yielded,
            "num_cache_entries": len(caches), "layer_groups": groups}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    for case in cases:
        case |= {"engine": "mlx-lm", "engine_version": mlx_lm.__version__}
        for run in case["runs"]:
            try:
                run["expect"] = measure(case["config"], run["settings"])
            except Exception as error:  # whatever the package raises is its refusal
                run["expect"] = {"error": f"{type(error).__name__}: {error}"}
    json.dump(cases, sys.stdout)


if __name__ == "__main__":
    main()
