#!/usr/bin/env python3
"""Writes include/kvbudget/config/class_defaults.hpp from the configuration classes of an installed transformers.

A config.json may leave out whatever equals the default of its class, so the reader has to know these defaults.
They are taken raw, from the dataclass fields: what __post_init__ makes of them depends on the other fields of the
file, which only the reader sees. With them: what becomes of each field of a file (field_fates.py).

    generate_class_defaults.py            writes the header
    generate_class_defaults.py --check    compares instead, and fails if the header is not what would be written
"""

import argparse
import dataclasses
import functools
import json
import pathlib
import sys

import field_fates
import transformers
from cache_fields import COMPUTED_FIELDS, FIELDS
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

HEADER = pathlib.Path(__file__).resolve().parents[2] / "include/kvbudget/config/class_defaults.hpp"
LINE_WIDTH = 120

# A model type matters if a model of one of these kinds keeps a cache while it generates.
GENERATIVE = (
    "CAUSAL_LM SEQ_TO_SEQ_CAUSAL_LM IMAGE_TEXT_TO_TEXT SPEECH_SEQ_2_SEQ MULTIMODAL_LM TEXT_TO_WAVEFORM"
    " CAUSAL_IMAGE_MODELING"
).split()

# Where the language model's configuration is if `get_text_config(decoder=True)` does not find it.
TEXT_PLACES = {
    "canary": "decoder_config",
    "dia": "decoder_config",
    "pi0": "vlm_config",
    "qwen2_5_omni": "thinker_config",
    "qwen3_omni_moe": "thinker_config",
}
# Sub-configurations with a cache of their own beside the language model's.
PARTS = "semantic_config coarse_acoustics_config fine_acoustics_config depth_decoder_config talker_config".split()


def field_defaults(config_class):
    """The raw defaults of the dataclass fields that matter, None included."""
    defaults = {}
    for field in dataclasses.fields(config_class):
        value = field.default
        if field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        if field.name not in FIELDS or value is dataclasses.MISSING:
            continue
        part = vars(config_class).get("sub_configs", {}).get(field.name)
        if value is None and isinstance(part, type):  # an attention block with a class of its own
            value = {k: v for k, v in field_defaults(part).items() if v is not None and k != "is_encoder_decoder"}
        defaults[field.name] = value
    return defaults


def constants(config_class, names):
    """Lists and flags that __post_init__ sets whatever the number of layers: as good as a default."""
    try:
        config = config_class()
        longer = config_class(num_hidden_layers=getattr(config, "num_hidden_layers", 0) + 1)
    except Exception:  # noqa: BLE001 - some classes cannot be made from defaults alone, whatever the reason
        return {}
    values = {name: getattr(config, name, None) for name in names}
    fixed = {name: value for name, value in values.items() if value == getattr(longer, name, None)}
    return {name: value for name, value in fixed.items() if value is True or (isinstance(value, list) and value)}


def class_defaults(config_class):
    raw = field_defaults(config_class)
    raw.update(constants(config_class, [name for name, value in raw.items() if value is None or value is False]))
    # A missing flag is read as false, so false need not be said either.
    return {name: value for name, value in raw.items() if value is not None and value is not False and value != {}}


def sub_class(spec):
    return CONFIG_MAPPING[spec.model_type] if spec.config_class.__name__ == "AutoConfig" else spec.config_class


def text_place(model_type, config_class):
    """Path, class and constructor arguments of the language model's sub-configuration; an empty path is the class."""
    keys = [k for k in ("decoder", "generator", "text_config") if k in config_class.sub_configs_defaults]
    if model_type in TEXT_PLACES:
        keys = [TEXT_PLACES[model_type]]
    if not keys:
        return [], config_class, {}
    spec = config_class.sub_configs_defaults[keys[0]]
    path, text_class, arguments = text_place(spec.model_type, sub_class(spec))
    own = spec.init_kwargs
    for key in path:
        own = own.get(key, {})
    return [keys[0], *path], text_class, {**arguments, **own}


# The letters that stand for fates in the table.
FATES = {"declared": "d", "computed": "c", "overwritten": "o", "refused": "x", "read": "r", "for_text": "f"}
NULLS = {"absent": "", "refused": ", n", "zero_too": ", z"}


def fixed_text_class(config_class, path):
    """Whether the class of the sub-configuration is settled, whatever model type it says."""
    for key in path:
        spec = config_class.sub_configs_defaults[key]
        config_class = sub_class(spec)
    return spec.config_class.__name__ != "AutoConfig"


class Intercepted(Exception):
    pass


def text_arguments(config_class, path, text_class, given):
    """The arguments with which a composite makes its text configuration from a sub-configuration `given`."""
    for key in reversed(path):
        given = {key: given}
    original = text_class.__init__

    @functools.wraps(original)  # some composites look at the signature to learn the fields
    def intercept(self, *args, **kwargs):
        raise Intercepted(kwargs)

    text_class.__init__ = intercept
    try:
        config_class(**given)
    except Intercepted as stop:
        return stop.args[0]
    finally:
        text_class.__init__ = original
    raise AssertionError(f"{config_class.__name__} makes no {text_class.__name__}")


def merges(config_class, path, text_class, arguments):
    """Whether the composite's defaults also fill a sub-configuration that names only some fields."""
    given = text_arguments(config_class, path, text_class, {"model_type": text_class.model_type})
    return bool(arguments) and arguments.items() <= given.items()


def taken_from_root(config_class, path, text_class):
    """(names, other key, everything): what a composite without a sub-configuration gives to its language model."""
    own = {field.name for field in dataclasses.fields(config_class)}
    names = [name for name in [*FIELDS, *COMPUTED_FIELDS] if name not in own]

    def reaches(given, *asked):
        try:
            arguments = text_arguments(config_class, [], text_class, given)
        except Exception:  # noqa: BLE001 - a sub-configuration of another class: nothing reaches this one
            return []
        return [name for name in asked if arguments.get(name) == field_fates.ODD]

    odd = field_fates.ODD
    found = reaches({**dict.fromkeys(names, odd), "zzz": odd}, *names, "zzz")
    others = [key for key in ("language_config", "llm_config", "text_config") if key != path[0]]
    other = next((key for key in others if reaches({key: {"hidden_size": odd}}, "hidden_size")), None)
    return [] if "zzz" in found else found, other, "zzz" in found


def collect():
    """Every model type that matters: {model type: configuration class}."""
    types = {}

    def add(name, config_class):
        if not name or name in types:
            return
        types[name] = config_class
        specs = config_class.sub_configs_defaults
        text_path, text, _ = text_place(name, config_class)
        for key, spec in specs.items():
            if key in text_path or key in PARTS:
                add(spec.model_type, sub_class(spec))
            elif key == "vision_config" and any(f.name == "cross_attention_layers" for f in dataclasses.fields(text)):
                add(spec.model_type, sub_class(spec))  # its images decide how long those layers' cache is

    for kind in GENERATIVE:
        for name in getattr(modeling_auto, f"MODEL_FOR_{kind}_MAPPING_NAMES"):
            add(name, CONFIG_MAPPING[name])
    return types


class Table:
    """Entries of an array of which rows use ranges; equal ranges are stored once."""

    def __init__(self):
        self.entries = []

    def place(self, items):
        for begin in range(len(self.entries) - len(items) + 1):
            if self.entries[begin : begin + len(items)] == items:
                return begin
        self.entries += items
        return len(self.entries) - len(items)


def wrapped(items):
    lines, line = [], " "
    for item in items:
        if len(line) + len(item) + 2 > LINE_WIDTH:
            lines.append(line)
            line = " "
        line += f" {item},"
    return "\n".join([*lines, line])


def quoted(text):
    return "nullptr" if text is None else json.dumps(text)


def render():
    types = collect()
    defaults = {name: class_defaults(config_class) for name, config_class in types.items()}
    aliases = {
        name: {a: f for a, f in config_class.attribute_map.items() if f in FIELDS}
        for name, config_class in types.items()
    }
    text_rows, from_root = {}, {}
    for name, config_class in types.items():
        path, text_class, arguments = text_place(name, config_class)
        if not path:
            continue
        text_type = next(n for n, c in types.items() if c is text_class and n == c.model_type)
        text_defaults = {**dict.fromkeys(arguments), **defaults[text_type]}
        differing = {k: v for k, v in arguments.items() if k in FIELDS and (v or None) != (text_defaults[k] or None)}
        merged = merges(config_class, path, text_class, arguments)
        text_rows[name] = ("/".join(path), text_type, differing, merged, fixed_text_class(config_class, path))
        from_root[name] = taken_from_root(config_class, path, text_class)
    fates = {
        name: dict.fromkeys(from_root[name][0], ("for_text", "absent"))
        if name in from_root
        else field_fates.fates(name, config_class, [*FIELDS, *COMPUTED_FIELDS])
        for name, config_class in types.items()
    }

    used = {field for row in defaults.values() for field in row}
    used |= {field for row in text_rows.values() for field in row[2]}
    used |= {field for row in aliases.values() for pair in row.items() for field in pair}
    used |= {field for row in fates.values() for field in row}
    # Other names of a field matter as it does, whatever they are.
    names = [name for name in dict.fromkeys([*FIELDS, *COMPUTED_FIELDS, *sorted(used)]) if name in used]
    texts = []

    def entry(name, value):
        if value is None:
            kind, number = "null_value", 0
        elif isinstance(value, bool):
            kind, number = "boolean", int(value)
        elif isinstance(value, int):
            kind, number = "integer", value
        else:
            text = json.dumps(value, separators=(",", ":"))
            if text not in texts:
                texts.append(text)
            kind, number = "json_text", texts.index(text)
        return f"{{{names.index(name)}, default_kind::{kind}, {number}}}"

    default_table, alias_table, fate_table, rows = Table(), Table(), Table(), []
    # Long ranges first: a short one is then often part of a range that is there already.
    items = {name: [entry(f, row[f]) for f in sorted(row, key=names.index)] for name, row in defaults.items()}
    extra = {
        name: [entry(f, row[2][f]) for f in sorted(row[2], key=names.index)] for name, row in text_rows.items()
    }
    for some in sorted([*items.values(), *extra.values()], key=lambda x: (-len(x), x)):
        default_table.place(some)
    fields = {
        name: [f"{{{names.index(f)}, {FATES[row[f][0]]}{NULLS[row[f][1]]}}}" for f in sorted(row, key=names.index)]
        for name, row in fates.items()
    }
    for some in sorted(fields.values(), key=lambda x: (-len(x), x)):
        fate_table.place(some)
    for name in sorted(types, key=str.encode):
        pairs = sorted((names.index(a), names.index(f)) for a, f in aliases[name].items())
        field, text_type, _, merged, fixed = text_rows.get(name, (None, None, {}, False, False))
        _, other, everything = from_root.get(name, ([], None, False))
        rows.append(
            f"{{{quoted(name)}, {default_table.place(items[name])}, {len(items[name])},"
            f" {alias_table.place([f'{{{a}, {f}}}' for a, f in pairs])}, {len(pairs)},"
            f" {quoted(field)}, {quoted(text_type)},"
            f" {default_table.place(extra.get(name, []))}, {len(extra.get(name, []))}, {str(merged).lower()},"
            f" {str(fixed).lower()}, {quoted(other)}, {str(everything).lower()},"
            f" {fate_table.place(fields[name])}, {len(fields[name])},"
            f" {str(field_fates.layers_may_differ(name, types[name])).lower()},"
            f" {str(field_fates.caches_as_decoder(name, types[name])).lower()},"
            f" {str(bool(field) or field_fates.heads_divide(name, types[name])).lower()}}}"
        )
    # The kinds are spelled once: a thousand repetitions of the enumerators would double the file.
    short = {"integer": "i", "boolean": "b", "null_value": "n", "json_text": "t"}
    entries = default_table.entries
    for kind, letter in short.items():
        entries = [e.replace(f"default_kind::{kind}", letter) for e in entries]
    return f"""\
// Made by tests/tools/generate_class_defaults.py from the configuration classes of transformers; not to be edited.
#pragma once

#include <kvbudget/config/class_default.hpp>

namespace kvbudget::detail::families {{

/// The version whose classes were read.
inline constexpr const char* class_defaults_transformers_version = {quoted(transformers.__version__)};

// clang-format off
inline constexpr const char* field_names[] = {{
{wrapped([quoted(n) for n in names])}
}};

inline constexpr const char* default_texts[] = {{
{wrapped([json.dumps(t) for t in texts])}
}};

namespace class_defaults_detail {{
inline constexpr default_kind i = default_kind::integer, b = default_kind::boolean, n = default_kind::null_value,
                              t = default_kind::json_text;

inline constexpr class_default values[] = {{
{wrapped(entries)}
}};
}}  // namespace class_defaults_detail

inline constexpr const auto& class_defaults = class_defaults_detail::values;

namespace class_fields_detail {{
inline constexpr field_fate d = field_fate::declared, c = field_fate::computed, o = field_fate::overwritten,
                            x = field_fate::refused, r = field_fate::read, f = field_fate::for_text;
inline constexpr null_word n = null_word::refused, z = null_word::zero_too;

inline constexpr class_field values[] = {{
{wrapped(fate_table.entries)}
}};
}}  // namespace class_fields_detail

inline constexpr const auto& class_fields = class_fields_detail::values;

inline constexpr attribute_alias attribute_aliases[] = {{
{wrapped(alias_table.entries)}
}};

inline constexpr model_type_row model_type_rows[] = {{
{wrapped(rows)}
}};
// clang-format on

}}  // namespace kvbudget::detail::families
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)  # trying what a class refuses is no news
    text = render()
    if not arguments.check:
        HEADER.write_text(text, encoding="utf-8")
    elif HEADER.read_text(encoding="utf-8") != text:
        sys.exit(f"{HEADER.name} is not what transformers {transformers.__version__} gives")


if __name__ == "__main__":
    main()
