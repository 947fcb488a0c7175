"""What becomes of a field of a config.json in the class that reads it: found by trying, and by reading its source.

declared     a field of the class: the file's word holds
computed     no field, but the class sets an attribute of that name first: the file's word still comes last, and wins
overwritten  a field, but the class sets it whatever the file says
refused      a property of the class: transformers does not load a file that has it
read         neither, but the model (or the cache) asks the configuration for it
for_text     of a composite: its root may state it for the language model
and all others are ignored: the attribute is set, and nobody looks.

A null is as if the field were absent, unless the class takes none; some classes take 0 for null as well.
"""

import ast
import dataclasses
import functools
import importlib
import inspect
import re
import textwrap

import transformers
from transformers import cache_utils
from transformers.models.auto import modeling_auto

MAPPINGS = "CAUSAL_LM SEQ_TO_SEQ_CAUSAL_LM IMAGE_TEXT_TO_TEXT SPEECH_SEQ_2_SEQ MULTIMODAL_LM".split()
# Rotary embeddings and other towers read fields of the same names, and shape neither K nor V.
OTHER_CLASSES = ("RotaryEmbedding", "Vision", "Audio", "Image", "Encoder")
ODD = 37
# What is null after all divides or multiplies something, which fails.
COMPUTED_WITH = ("head_dim", "num_key_value_heads")


def class_of_model(model_type):
    for kind in MAPPINGS:
        name = getattr(modeling_auto, f"MODEL_FOR_{kind}_MAPPING_NAMES").get(model_type)
        if isinstance(name, str) and hasattr(transformers, name):
            return getattr(transformers, name)
    return None


def modeling_module(model_type, config_class):
    own = config_class.__module__.replace("configuration_", "modeling_")
    try:
        return importlib.import_module(own)
    except ModuleNotFoundError:  # a configuration that another type's model takes
        return inspect.getmodule(class_of_model(model_type))


def asked_of(node, names):
    """The attributes that some code asks a configuration of one of these names for."""
    for n in ast.walk(node):
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load) and ast.unparse(n.value) in names:
            yield n.attr
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in ("getattr", "hasattr"):
            if ast.unparse(n.args[0]) in names and isinstance(n.args[1], ast.Constant):
                yield n.args[1].value


@functools.cache
def instance_of_defaults(config_class):
    return instance(config_class)


@functools.cache
def read_by_model(module):
    """Names that the modules of a modeling file read, without those of other towers."""
    names = set()
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not any(part in node.name for part in OTHER_CLASSES):
            names.update(asked_of(node, ("config", "self.config")))
    return names


@functools.cache
def replaced_when_false(module):
    """Names for which the model has another value where the configuration's is null or 0: `config.x or ...`."""
    names = set()
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef) and not any(part in node.name for part in OTHER_CLASSES):
            for n in ast.walk(node):
                if isinstance(n, ast.BoolOp) and isinstance(n.op, ast.Or):
                    names.update(asked_of(n.values[0], ("config", "self.config")))
    return names


@functools.cache
def read_by_caches():
    tree = ast.parse(inspect.getsource(cache_utils.get_layer_types_and_kwargs))
    return set(asked_of(tree, ("config", "layer_config")))


def layers_may_differ(model_type, config_class):
    """Whether the model asks `per_layer_config` for each layer's own fields."""
    try:
        return "config.per_layer_config[layer_idx]" in inspect.getsource(modeling_module(model_type, config_class))
    except TypeError:  # a composite without a model of its own
        return False


def heads_divide(model_type, config_class):
    """Whether hidden_size has to be a multiple of the heads: the class refuses others, or its attention does."""
    made = instance_of_defaults(config_class)
    known = vars(made) if made is not None else {}
    names = [config_class.attribute_map.get(n, n) for n in ("hidden_size", "num_attention_heads")]
    hidden, usual_heads = (known.get(n) for n in names)
    if not isinstance(hidden, int) or not isinstance(usual_heads, int):
        return False

    def takes(heads):
        fields = {"num_attention_heads": heads}
        if "num_key_value_heads" in {f.name for f in dataclasses.fields(config_class)}:
            fields["num_key_value_heads"] = heads
        return instance(config_class, **fields) is not None

    dividing = next(n for n in (2, 4, 8, 1) if hidden % n == 0 and n != usual_heads)
    if takes(dividing) and not takes(next(n for n in (7, 11, 13, 17) if hidden % n)):
        return True
    body = ast.parse(inspect.getsource(modeling_module(model_type, config_class))).body
    own = [c for c in body if isinstance(c, ast.ClassDef) and not any(part in c.name for part in OTHER_CLASSES)]
    for node in (n for c in own for n in ast.walk(c)):
        if isinstance(node, ast.If) and any(isinstance(n, ast.Raise) for n in node.body):
            test = ast.unparse(node.test)
            width = any(word in test for word in ("hidden", "embed", "d_model"))
            if width and "head" in test and (" % " in test or " * " in test):
                return True
    return False


def caches_as_decoder(model_type, config_class):
    """Whether the bare model keeps a cache only if `is_decoder` says that it is one."""
    try:
        source = inspect.getsource(modeling_module(model_type, config_class))
    except TypeError:
        return False
    return bool(re.search(r"self\.config\.is_decoder:\n(?:.*\n){0,3}?\s+use_cache = (?:use_cache|False)", source))


def assignments(config_class):
    """(name, value) of what __post_init__ sets whatever the fields are: statements of its outermost level."""
    for owner in config_class.__mro__:
        if owner is transformers.PreTrainedConfig:
            return
        if "__post_init__" not in vars(owner):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(owner.__post_init__))).body[0].body
        for statement in body:
            for target in getattr(statement, "targets", []):
                if ast.unparse(target).startswith("self."):
                    yield target.attr, ast.unparse(statement.value)


def instance(config_class, **fields):
    """An instance, or None where the class takes no such values: some cannot be made from their defaults either."""
    try:
        return config_class(**fields)
    except Exception:  # noqa: BLE001 - any failure is an answer
        return None


def fate_of(name, model_type, config_class):
    if name in config_class.attribute_map:  # another name of a field: it matters if either is asked for
        stored = inspect.getattr_static(config_class, config_class.attribute_map[name], None)
        if isinstance(stored, property) and stored.fset is None:
            return "refused"
        asked = read_by_model(modeling_module(model_type, config_class))
        return "read" if asked & {name, config_class.attribute_map[name]} else None
    fields = {f.name for f in dataclasses.fields(config_class)}
    attribute = inspect.getattr_static(config_class, name, None)
    if name in fields:
        sets = [value for target, value in assignments(config_class) if target == name]
        ignores_file = bool(sets) and all(f"self.{name}" not in value and "kwargs" not in value for value in sets)
        tried = instance(config_class, **{name: ODD}) if ignores_file else None
        return "overwritten" if tried is not None and getattr(tried, name) != ODD else "declared"
    made = instance_of_defaults(config_class)
    if isinstance(attribute, property) and attribute.fset is None:
        # Some classes take the name out of the file's words before it is set.
        given = getattr(made, name, None)
        return "refused" if made is not None and instance(config_class, **{name: given}) is None else "read"
    read = name in read_by_model(modeling_module(model_type, config_class))
    if not read:
        return "read" if name in read_by_caches() else None
    return "computed" if made is not None and name in vars(made) else "read"


def null_word(name, fate, model_type, config_class):
    """What null means for a field: absent, refused, or zero_too where 0 means the same."""
    made = instance_of_defaults(config_class)
    if fate not in ("declared", "overwritten", "computed", "read") or made is None:
        return "absent"
    with_null = instance(config_class, **{name: None})
    if with_null is None:
        return "refused"
    if name in COMPUTED_WITH and name in replaced_when_false(modeling_module(model_type, config_class)):
        return "zero_too"
    if name in COMPUTED_WITH:
        with_zero = instance(config_class, **{name: 0})
        if with_zero is not None and getattr(with_zero, name) and fate != "overwritten":
            return "zero_too"
        return "absent" if getattr(with_null, name) is not None else "refused"
    return "absent"


def fates(model_type, config_class, names):
    """{name: (fate, null word)} of the names that are not ignored."""
    found = {name: fate_of(name, model_type, config_class) for name in names}
    return {n: (fate, null_word(n, fate, model_type, config_class)) for n, fate in found.items() if fate}
