#!/usr/bin/env python3
"""Measures what transformers really allocates: builds a model, runs it, and sums the tensors of its cache.

    measure_transformers.py llama gemma2            class defaults of these model types, one JSON case a line
    measure_transformers.py --config config.json    the same for a configuration file (or a case)
    measure_transformers.py --check case.json ...   repeats the runs of measured cases and compares
    measure_transformers.py --out DIR llama         DIR/llama.full.json and DIR/llama.sparse.json

The format is that of the truth cases: id, engine, engine_version, config, config_form, runs of settings and expect.
No byte is computed by a formula here. Models are built on the meta device, where tensors have sizes and no data, so
that the largest run too; what needs data runs on the CPU if it fits. A composite whose forward() wants more than tokens
is measured by its language model. Encoders do not run: decoders get a finished encoder output of the length asked for.
"""

import argparse
import contextlib
import copy
import inspect
import json
import os
import pathlib
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402
import torch.fx.experimental._config  # noqa: E402
import transformers  # noqa: E402
from transformers import cache_utils, initialization  # noqa: E402
from transformers.modeling_outputs import BaseModelOutput, BaseModelOutputWithPooling  # noqa: E402
from transformers.models.auto import modeling_auto  # noqa: E402
from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: E402

WRITTEN_FOR = "5.24"
LARGEST_CPU_MODEL = 10_000_000_000  # bytes

# Class defaults that no model can be built from, completed by as little as makes one run.
ROPE = {"rope_type": "default", "rope_theta": 10000.0}
HALF_ROPE = {**ROPE, "partial_rotary_factor": 0.5, "mrope_section": [8, 12, 12]}
COMPLETIONS = {
    "cohere_compass_text": {"rope_parameters": {"full_attention": {**ROPE, "mrope_section": [24, 20, 20]}}},
    "deepseek_ocr2_text": {"mlp_layer_types": ["dense"] * 32},
    "deepseek_v2": {"num_experts_per_tok": 6},
    "diffusion_gemma_text": {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 64},
    "glm4v_moe_text": {"head_dim": 128, "rope_parameters": HALF_ROPE},
    "glm4v_text": {"rope_parameters": HALF_ROPE},
    "hunyuan_vl_text": {"head_dim": 128, "rope_parameters": {**ROPE, "mrope_section": [16, 16, 16, 16]}},
    "lfm2_moe": {"layer_types": (["conv"] * 3 + ["full_attention"]) * 8},
    "ministral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 8},
    "qwen3_omni_moe_text": {"head_dim": 128},
    "qwen4_exp_text": {
        "indexer_n_heads": 4,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 256,
        "indexer_budget": 64,
        "indexer_compress_ratio": 4,
    },
    "reformer": {"is_decoder": True},
    "step3p5": {"sliding_window": 512},
}
for composite, text in {"diffusion_gemma": "diffusion_gemma_text", "qwen4_exp": "qwen4_exp_text"}.items():
    COMPLETIONS[composite] = {"text_config": {"model_type": text, **COMPLETIONS[text]}}

# Where the language model's configuration is, in the order in which transformers' own classes look.
TEXT_FIELDS = "decoder generator text_config decoder_config thinker_config vlm_config".split()
OUTPUT_FIELDS = "cache past_key_values cache_params state mems past_buckets_states".split()
PARTS = {"coarse": "coarse_acoustics_config", "semantic": "semantic_config", "thinker": "thinker_config"}
MAPPINGS = "CAUSAL_LM IMAGE_TEXT_TO_TEXT MULTIMODAL_LM TEXT_TO_WAVEFORM CAUSAL_IMAGE_MODELING".split()
ENCODER_DECODER_MAPPINGS = "SEQ_TO_SEQ_CAUSAL_LM SPEECH_SEQ_2_SEQ".split()


# -- configurations and models ----------------------------------------------------------------------------------------


def plain(value):
    """Infinity is written as an object in files that have to be strict JSON."""
    if isinstance(value, dict):
        return float(value["__float__"]) if "__float__" in value else {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, list) else value


def make_config(fields):
    fields = plain(copy.deepcopy(fields))
    model_type = fields.get("model_type")
    if model_type in CONFIG_MAPPING:
        config_class = CONFIG_MAPPING[model_type]
    else:  # a type that transformers does not know, but whose classes it has
        config_class = getattr(transformers, (fields.get("architectures") or ["?"])[0]).config_class
        fields.pop("model_type", None)
    return config_class.from_dict(fields)


def text_config(config):
    for field in TEXT_FIELDS:
        sub = getattr(config, field, None)
        if isinstance(sub, transformers.PreTrainedConfig):
            return text_config(sub)
    return config


def module_of(config):
    name = type(config).__module__.replace("configuration_", "modeling_")
    with contextlib.suppress(ImportError):
        return __import__(name, fromlist=["x"])


def model_classes(config):
    """The classes that take this configuration, the best first."""
    mappings = [MAPPINGS, ENCODER_DECODER_MAPPINGS]
    names = list(config.architectures or [])
    for mapping in sum(reversed(mappings) if config.is_encoder_decoder else mappings, []):
        names.append(getattr(modeling_auto, f"MODEL_FOR_{mapping}_MAPPING_NAMES").get(config.model_type))
    names.append(modeling_auto.MODEL_MAPPING_NAMES.get(config.model_type))
    classes = [getattr(transformers, name, None) for name in names if isinstance(name, str)]
    for own in vars(module_of(config) or object).values():
        if inspect.isclass(own) and issubclass(own, transformers.PreTrainedModel) and own.config_class is type(config):
            decodes = own.__name__.endswith(("TextModel", "Transformer", "Decoder"))
            if decodes or issubclass(own, transformers.GenerationMixin):
                classes.append(own)
    return list(dict.fromkeys(c for c in classes if c is not None))


def kept_tensors(model):
    """Tensors that modules hold as plain attributes."""
    return {
        f"{path}.{key}": value
        for path, module in model.named_modules()
        for key, value in vars(module).items()
        if isinstance(value, torch.Tensor)
    }


def build(model_class, config, dtype, device):
    config = copy.deepcopy(config)
    with torch.device(device), initialization.no_init_weights():
        model = model_class._from_config(config, dtype=dtype).eval()
    if device == "meta":
        for module in model.modules():
            # Which expert gets which token depends on data; what experts return never enters the cache.
            if type(module).__name__.endswith("Experts"):
                module.forward = lambda hidden_states, *_, **__: torch.zeros_like(hidden_states)
    else:
        for parameter in model.parameters():
            parameter.data.zero_()
    model.tensors_when_built = set(kept_tensors(model))
    return model


def answer_for_meta_tensors():
    """Some checks look at data, which a meta tensor does not have: they get an answer that lets the forward go on."""
    torch.fx.experimental._config.meta_nonzero_assume_all_nonzero = True

    def answering(method, constant):
        def answer(self, *arguments):
            if not self.is_meta:
                return method(self, *arguments)
            return True if self.dtype == torch.bool else constant

        return answer

    for name, constant in {"item": 1, "__bool__": True, "__int__": 1, "__index__": 1, "__float__": 1.0}.items():
        setattr(torch.Tensor, name, answering(getattr(torch.Tensor, name), constant))


# -- running ----------------------------------------------------------------------------------------------------------


def cache_config(config):
    """Caches look for the text configuration themselves, except in the places that only the model knows."""
    return text_config(config) if config.get_text_config(decoder=True) is config else config


def make_cache(config, settings):
    """The cache to hand to forward(), or None where forward() makes its own."""
    kind = settings["cache"]
    if kind == "static":
        made = cache_utils.StaticCache(config=config, max_cache_len=settings["max_cache_len"])
        if settings.get("encoder_seq_len") is None:
            return made
        cross = settings.get("cross_max_cache_len") or settings["encoder_seq_len"]
        return cache_utils.EncoderDecoderCache(made, cache_utils.StaticCache(config=config, max_cache_len=cross))
    if kind == "quantized":
        names = "nbits axis_key axis_value q_group_size residual_length".split()
        options = {name: settings[name] for name in names if settings.get(name) is not None}
        return cache_utils.QuantizedCache(backend=settings["backend"], config=config, **options)
    if kind != "given" and settings.get("cache_built_by") != "generate-dynamic":
        return None
    made, cross = cache_utils.DynamicCache(config=config), cache_utils.DynamicCache(config=config)
    return made if settings.get("encoder_seq_len") is None else cache_utils.EncoderDecoderCache(made, cross)


def encoder_width(config):
    text = text_config(config)
    encoder = getattr(config, "encoder_config", None) or getattr(config, "encoder", None)
    encoder = encoder or getattr(config, "text_encoder", None) or getattr(config, "vision_config", None)
    if encoder is None or hasattr(text, "encoder_layers"):  # a flat configuration describes both halves
        encoder = text
    return text_config(encoder).hidden_size


def encoder_inputs(model, settings):
    """A finished encoder output: what the encoder computes does not matter, only how many positions it hands over."""
    outputs = "encoder_outputs" in inspect.signature(model.forward).parameters
    text = text_config(model.config)
    width = encoder_width(model.config) if outputs else getattr(text, "cross_hidden_size", text.hidden_size)
    shape = settings["batch"], settings["encoder_seq_len"], width
    states = torch.zeros(shape, dtype=model.dtype, device=model.device)
    if not outputs:
        return {"encoder_hidden_states": states}
    output = BaseModelOutput(last_hidden_state=states)
    if model.config.model_type == "pp_formulanet":  # its decoder looks at the projected states, which it calls pooled
        output = BaseModelOutputWithPooling(last_hidden_state=states, pooler_output=states)
    for name in ("router_logits", "attention_mask"):  # some encoders hand these over as well, and decoders ask
        setattr(output, name, None)
    return {"encoder_outputs": output}


def image_inputs(model, settings):
    """Images for the models that have cross-attention to them."""
    config, takes = model.config, inspect.signature(model.forward).parameters
    batch, device = settings["batch"], model.device
    if "image_encoder_embeddings" in takes:  # does not run without images, although they are not cached
        width = config.vision_config.embed_dim
        states = torch.zeros(batch, 1, 257, width, dtype=model.dtype, device=device)
        return {"image_encoder_embeddings": states, "image_attention_mask": torch.ones(batch, 1, 1, device=device)}
    images = settings.get("images_per_sequence")
    if not images:
        return {}
    size, tiles = config.vision_config.image_size, config.vision_config.max_num_tiles
    return {
        "pixel_values": torch.zeros(batch, images, tiles, 3, size, size, dtype=model.dtype, device=device),
        "aspect_ratio_ids": torch.ones(batch, images, dtype=torch.long, device=device),
        "aspect_ratio_mask": torch.ones(batch, images, tiles, dtype=torch.long, device=device),
    }


def token_shapes(model, batch, length):
    """Most models take [batch, length]; audio decoders take all codebooks of a position at once."""
    config = text_config(model.config)
    if hasattr(config, "num_codebooks") and hasattr(config, "audio_channels"):
        return batch * config.num_codebooks, length
    if hasattr(config, "codebook_vocab_size"):  # the text token and the audio tokens of a position
        return batch, length, config.num_codebooks + 1
    if hasattr(config, "num_channels") and hasattr(config, "cross_num_attention_heads"):
        return batch, length, config.num_channels
    return batch, length


def crosses(cache):
    """Whether the positions of the encoder are kept apart from those of the decoder."""
    layers = cache.cross_attention_cache.layers if isinstance(cache, cache_utils.EncoderDecoderCache) else []
    return any(tensor.numel() for layer in layers for _, tensor in tensors_in(vars(layer)))


class NoCache(Exception):
    pass


def run(model, settings):
    """Prefill and decode steps; returns the cache and the states that modules keep in themselves."""
    config, device = model.config, model.device
    takes = inspect.signature(model.forward).parameters
    batch, cache = settings["batch"], make_cache(cache_config(config), settings)
    arguments = {"use_mems": True} if settings.get("use_mems") else {"use_cache": True}
    arguments |= {"return_dict": True, **image_inputs(model, settings)}
    if config.model_type == "voxtral_realtime_text":  # the delay, which the composite embeds
        arguments["t_cond"] = torch.zeros(1, 1, config.hidden_size, dtype=model.dtype, device=device)
    if settings.get("encoder_seq_len") is not None:
        arguments |= encoder_inputs(model, settings)
    ids = "decoder_input_ids" if "decoder_input_ids" in takes else "input_ids"
    name = next((n for n in OUTPUT_FIELDS if n in takes), "cache")
    length = settings["seq_len"]
    for _ in range(settings["decode_steps"] + 1):
        tokens = torch.ones(token_shapes(model, batch, length), dtype=torch.long, device=device)
        given = {} if cache is None else {name: cache}
        with torch.no_grad():
            output = model(**{ids: tokens}, **given, **arguments)
        cache = next((output[n] for n in OUTPUT_FIELDS if output.get(n) is not None), cache)
        length = 1
        arguments.pop("pixel_values", None)  # a second time would be further images
        if not crosses(cache):
            arguments.pop("encoder_hidden_states", None)  # these positions are in the cache like any other
    if cache is None:
        if "cache" not in takes:
            raise NoCache("forward() knows no cache")
        return run(model, {**settings, "cache": "given"})  # forward() uses a cache, but makes none
    kept = {n: t for n, t in kept_tensors(model).items() if "state" in n and n not in model.tensors_when_built}
    return cache, kept


# -- counting ---------------------------------------------------------------------------------------------------------


def tensors_in(value, name=""):
    if hasattr(value, "__tensor_flatten__"):  # quanto's tensors are made of others
        for part in value.__tensor_flatten__()[0]:
            yield from tensors_in(getattr(value, part), f"{name}.{part}")
    elif isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from tensors_in(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from tensors_in(item, f"{name}.{index}" if name else str(index))


def extent(tensor):
    return tensor.untyped_storage()._cdata, tensor.storage_offset(), tuple(tensor.shape), tensor.stride()


COLUMNS = {"keys": "k_bytes", "_quantized_keys": "k_bytes", "values": "v_bytes", "_quantized_values": "v_bytes"}


class Count:
    def __init__(self):
        self.rows, self.total, self.storages, self.counted, self.seen = [], 0, {}, {}, set()

    def row(self, layer, kind, named):
        named = [(n, t) for n, t in named if not (t.dtype == torch.int64 and t.numel() <= 1)]  # counters
        row = {"layer": layer, "kind": kind, "k_bytes": 0, "v_bytes": 0, "other_bytes": 0}
        # Where a buffer and views of it are kept side by side, the views say what it is for: they come first.
        for name, tensor in sorted(named, key=lambda item: (item[0] not in ("keys", "values"), item[1].nbytes)):
            storage = tensor.untyped_storage()
            self.storages[storage._cdata] = storage.nbytes()
            counted = self.counted.get(storage._cdata, 0)
            overlaps = counted and counted + tensor.nbytes > storage.nbytes()
            if overlaps or name == "indexer_position_ids" or extent(tensor) in self.seen:
                continue
            self.counted[storage._cdata] = counted + tensor.nbytes
            self.seen.add(extent(tensor))
            row[COLUMNS.get(name.split(".")[0], "other_bytes")] += tensor.nbytes
            self.total += tensor.nbytes
        self.rows.append(row)

    def cache(self, cache, prefix=""):
        if isinstance(cache, cache_utils.EncoderDecoderCache):
            self.cache(cache.self_attention_cache, "self:")
            self.cache(cache.cross_attention_cache, "cross:")
        elif hasattr(cache, "layers") or not isinstance(cache, (list, tuple)):
            for index, layer in enumerate(getattr(cache, "layers", [])):
                self.row(index, prefix + type(layer).__name__, list(tensors_in(vars(layer))))
            rest = {k: v for k, v in vars(cache).items() if k != "layers"}
            if list(tensors_in(rest)):
                self.row(-1, prefix + type(cache).__name__, list(tensors_in(rest)))
        else:
            for index, (_, tensor) in enumerate(tensors_in(cache)):
                self.row(index, "own_cache", [("t", tensor)])


def expectation(cache, kept):
    count = Count()
    count.cache(cache)
    module_bytes = sum(t.nbytes for t in kept.values())
    expect = {"total_bytes": count.total + module_bytes}
    if kept:
        expect["module_state_bytes"] = module_bytes
    else:
        expect["storage_bytes"] = sum(count.storages.values())
        expect["layers"] = count.rows
    return expect


# -- cases ------------------------------------------------------------------------------------------------------------


class Bench:
    """Models of one configuration, built once for each dtype, from the first class and device that work."""

    def __init__(self, config):
        self.config, self.models, self.ran = config, {}, False
        text = text_config(config)
        self.every_choice = [
            (model_class, candidate, device)
            for device in ("meta", "cpu")
            for candidate in ([config] if text is config else [config, text])
            for model_class in model_classes(candidate)
        ]
        self.choices = list(self.every_choice)

    def measure(self, settings):
        settings = {k: v for k, v in settings.items() if v is not None}
        errors = []
        while not self.ran:
            try:
                expect = expectation(*run(self.model(settings["dtype"]), settings))
                self.ran = True
                return expect
            except Exception as error:  # noqa: BLE001 - any failure means: try the next class or device
                model_class, _, device = self.choices.pop(0)
                errors.append(f"{model_class.__name__} on {device}: {type(error).__name__}: {error}"[:300])
                self.models.clear()
                if isinstance(error, NoCache):  # nor has it one on another device
                    self.choices = [c for c in self.choices if c[0] is not model_class]
                if not self.choices:
                    self.choices = list(self.every_choice)
                    raise RuntimeError("; ".join(errors)) from error
        return expectation(*run(self.model(settings["dtype"]), settings))

    def model(self, dtype):
        if dtype not in self.models:
            model_class, config, device = self.choices[0]
            if device == "cpu":
                size = sum(p.nbytes for p in build(model_class, config, getattr(torch, dtype), "meta").parameters())
                if size > LARGEST_CPU_MODEL:
                    raise RuntimeError(f"{size} bytes of parameters are too many for the CPU")
            self.models[dtype] = build(model_class, config, getattr(torch, dtype), device)
        return self.models[dtype]

    def how(self):
        model_class, config, device = self.choices[0]
        return (
            "measured: summed nbytes of every tensor in the cache returned by a real forward of"
            f" {model_class.__name__} on the {device} device"
        )


def settings_name(s):
    parts = [s["cache"], {"bfloat16": "bf16", "float32": "fp32"}[s["dtype"]], f"b{s['batch']}"]
    parts.append(f"m{s['max_cache_len']}" if s["cache"] == "static" else f"s{s['seq_len']}")
    if s.get("images_per_sequence"):
        parts.append(f"images{s['images_per_sequence']}")
    if s["decode_steps"]:
        parts.append(f"decode{s['decode_steps']}")
    return "-".join(parts + [s["cache_built_by"]] if s.get("cache_built_by") else parts)


def usual_settings(encoder_decoder):
    def one(batch, seq_len, encoder, cache="dynamic", dtype="bfloat16", decode_steps=0, **more):
        settings = {"cache": cache, "dtype": dtype, "batch": batch, "seq_len": seq_len, "decode_steps": decode_steps}
        if encoder_decoder:
            more["encoder_seq_len"] = encoder
            if cache == "static":
                more["cross_max_cache_len"] = encoder
        return {**settings, **more}

    yield one(2, 37, 42)
    yield one(1, 8, 13)
    yield one(1, 8, 13, dtype="float32")
    yield one(2, 37, 42, decode_steps=3)
    yield one(1, 8, 13, cache="static", max_cache_len=100)
    yield one(2, 8, 13, cache="static", max_cache_len=6000)


def windows_of(cache):
    caches = [cache.self_attention_cache] if isinstance(cache, cache_utils.EncoderDecoderCache) else [cache]
    layers = [layer for c in caches for layer in getattr(c, "layers", [])]
    return sorted({w for w in (getattr(layer, "sliding_window", None) for layer in layers) if isinstance(w, int)})


def is_encoder_decoder(config):
    return bool(config.is_encoder_decoder) or bool(getattr(config, "add_cross_attention", False))


def window_settings(one, cache):
    """Runs that fill the windows of a cache and go on after that."""
    for window in windows_of(cache):
        for steps in (0, 1, 3):
            yield {**one, "batch": 1, "seq_len": window + 77, "decode_steps": steps}
        if isinstance(cache, cache_utils.EncoderDecoderCache):  # whose cross layers slide too if generate() made it
            longer = {**one, "encoder_seq_len": window + 50}
            yield {**longer, "cache_built_by": "forward-default"}
            yield {**longer, "cache_built_by": "generate-dynamic"}
            static = {"cache": "static", "max_cache_len": 100, "cross_max_cache_len": window + 50}
            yield {**longer, **static, "cache_built_by": "generate-static"}


def measure_case(fields):
    """Runs of one configuration: (bench, [{name, settings, expect}])."""
    bench, runs = Bench(make_config(fields)), []
    todo = list(usual_settings(is_encoder_decoder(bench.config)))
    for one in todo:
        try:
            runs.append({"name": settings_name(one), "settings": one, "expect": bench.measure(one)})
        except Exception as error:  # noqa: BLE001 - reported
            name = f"{fields['model_type']} {settings_name(one)}"
            print(f"{name}: {type(error).__name__}: {error}"[:600], file=sys.stderr)
            if not bench.ran:
                break
        if one is todo[0]:
            cache, _ = run(bench.model(one["dtype"]), one)
            todo += window_settings(one, cache)
    return bench, runs


def cases(name, fields):
    """The case in both forms: every field written out, and only the given ones."""
    bench, runs = measure_case(fields)
    if not runs:
        return []
    common = {"engine": "transformers", "engine_version": transformers.__version__, "how": bench.how(), "model": name}
    sparse = {"architectures": [bench.every_choice[0][0].__name__], "dtype": "bfloat16", **fields}
    full = json.loads(make_config(sparse).to_json_string(use_diff=False))
    totals = [{**r, "expect": {k: v for k, v in r["expect"].items() if k != "layers"}} for r in runs]
    return [
        {"id": f"transformers/{name}-full", **common, "config": full, "config_form": "full", "runs": runs},
        {"id": f"transformers/{name}-sparse", **common, "config": sparse, "config_form": "diff", "runs": totals},
    ]


def bench_of(case):
    """The case's model, or the part of it that its settings name."""
    config = make_config(case["config"])
    parts = [PARTS[run["settings"]["part"]] for run in case["runs"] if run["settings"].get("part")]
    return Bench(getattr(config, parts[0]) if parts else config)


def agrees(here, there):
    """Whether every figure that both have is the same."""
    figures = [k for k in ("total_bytes", "storage_bytes") if k in here and k in there]
    keys = ("layer", "k_bytes", "v_bytes", "other_bytes")
    rows = [[[row.get(k, 0) for k in keys] for row in e.get("layers", [])] for e in (here, there)]
    return all(here[k] == there[k] for k in figures) and (rows[0] == rows[1] or not all(rows))


def check(paths):
    """Repeats the runs of measured cases; prints what differs and returns how many did."""
    tally = dict.fromkeys(("identical", "different", "not runnable"), 0)
    contents = [json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in paths]
    for case in [c for content in contents for c in (content if isinstance(content, list) else [content])]:
        bench = None
        for one in case["runs"]:
            name = f"{case['id']} {one['name']}"
            try:
                bench = bench or bench_of(case)
                expect = bench.measure(one["settings"])
            except Exception as error:  # noqa: BLE001 - reported
                tally["not runnable"] += 1
                print(f"{name}: {type(error).__name__}: {error}"[:600], flush=True)
                continue
            same = agrees(expect, one["expect"])
            tally["identical" if same else "different"] += 1
            if not same:
                print(f"{name}: {expect['total_bytes']} here, {one['expect']['total_bytes']} there", flush=True)
    print(", ".join(f"{n} {what}" for what, n in tally.items()), flush=True)
    return tally["different"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model_types", nargs="*", metavar="MODEL_TYPE")
    parser.add_argument("--config", type=pathlib.Path, help="a config.json, or a case that holds one")
    parser.add_argument("--check", nargs="+", metavar="CASE", help="repeat these cases")
    parser.add_argument("--out", type=pathlib.Path, help="a directory for one file a case instead of stdout")
    parser.add_argument("--version", action="version", version=f"transformers {transformers.__version__}")
    arguments = parser.parse_args()
    if not transformers.__version__.startswith(WRITTEN_FOR + "."):
        sys.exit(f"written for transformers {WRITTEN_FOR}; {transformers.__version__} names things differently")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    answer_for_meta_tensors()

    if arguments.check:
        sys.exit(bool(check(arguments.check)))
    todo = [(t, {"model_type": t, **COMPLETIONS.get(t, {})}) for t in arguments.model_types]
    if arguments.config:
        content = json.loads(arguments.config.read_text(encoding="utf-8"))
        todo.append((arguments.config.stem, content.get("config", content)))
    for name, fields in todo:
        for case in cases(name, fields):
            if arguments.out:
                form = {"full": "full", "diff": "sparse"}[case["config_form"]]
                (arguments.out / f"{name}.{form}.json").write_text(json.dumps(case) + "\n", encoding="utf-8")
            else:
                print(json.dumps(case), flush=True)


if __name__ == "__main__":
    main()
