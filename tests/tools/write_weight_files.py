#!/usr/bin/env python3
"""Writes small weight files with the packages that publish them (pip install safetensors gguf numpy), and what those
packages read back from them as expected.json: {FILE: {"files", "total_bytes", "tensors": {NAME: {dtype, shape, bytes}}}}.

    write_weight_files.py DIR
"""

import argparse
import json
import pathlib

import gguf
import numpy as np
import safetensors
from gguf import GGMLQuantizationType as Type

DTYPES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
          "float16": 2, "float32": 4, "float64": 8, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e4m3fnuz": 1,
          "float8_e5m2": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1, "complex64": 8, "float4_e2m1fn_x2": 1}


def write_safetensors(path, tensors, metadata=None):
    """`tensors`: name to (dtype, shape of the elements as they are handed over)."""
    data = {n: np.zeros(int(np.prod(s)) * DTYPES[d], dtype=np.uint8) for n, (d, s) in tensors.items()}
    if hasattr(safetensors, "TensorSpec"):
        specs = {n: safetensors.TensorSpec(dtype=d, shape=list(s), data_ptr=data[n].ctypes.data, data_len=data[n].nbytes)
                 for n, (d, s) in tensors.items()}
    else:  # before 0.8
        specs = {n: {"dtype": d, "shape": list(s), "data": data[n].tobytes()} for n, (d, s) in tensors.items()}
    safetensors.serialize_file(specs, str(path), metadata)
    read = {}
    with safetensors.safe_open(str(path), framework="numpy") as file:
        for name in file.keys():
            part = file.get_slice(name)
            read[name] = {"dtype": part.get_dtype(), "shape": part.get_shape(), "bytes": data[name].nbytes}
    return read


def write_gguf(path, architecture, tensors, **options):
    """`tensors`: name to (type, rows). One block a row."""
    writer = gguf.GGUFWriter(str(path), architecture, **options)
    writer.add_block_count(2)
    writer.add_context_length(4096)
    writer.add_embedding_length(64)
    writer.add_head_count([4, 4])
    writer.add_head_count_kv([2, 1])
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([f"token {i}" for i in range(3000)])
    writer.add_token_scores([0.5] * 3000)
    writer.add_token_types([1] * 3000)
    writer.add_chat_template("{# a template #}" * 1000)
    writer.add_float64("general.f64", 0.1)
    writer.add_int64("general.i64", -(2**40))
    writer.add_uint64("general.u64", 2**40)
    writer.add_int8("general.i8", -1)
    writer.add_array("general.flags", [True, False])
    for name, (kind, rows) in tensors.items():
        size = gguf.GGML_QUANT_SIZES[kind][1]
        writer.add_tensor(name, np.zeros((rows, size), dtype=np.uint8), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_gguf(paths):
    read = {}
    for path in paths:
        for t in gguf.GGUFReader(str(path)).tensors:
            kind = t.tensor_type.name.lower().replace("_k", "_K")
            read[t.name] = {"dtype": kind, "shape": [int(n) for n in t.shape], "bytes": int(t.n_bytes)}
    return read


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    expected = {}

    def expect(name, tensors, files=1):
        expected[name] = {"files": files, "total_bytes": sum(t["bytes"] for t in tensors.values()), "tensors": tensors}

    every = {f"layers.{i}.{d}": (d, (3, 2 * i)) for i, d in enumerate(DTYPES)}
    every["scalar"] = ("float32", ())
    expect("every.safetensors", write_safetensors(folder / "every.safetensors", every, {"format": "pt", "note": "\u00fc \"x\""}))
    expect("empty.safetensors", write_safetensors(folder / "empty.safetensors", {}))
    shards = {f"model-0000{i + 1}-of-00002.safetensors": {f"model.layers.{i}.w": ("bfloat16", (8, 3 + i))} for i in range(2)}
    (folder / "sharded").mkdir(exist_ok=True)
    together, index = {}, {}
    for name, tensors in shards.items():
        together |= write_safetensors(folder / "sharded" / name, tensors)
        index |= {t: name for t in tensors}
    write_safetensors(folder / "sharded" / "consolidated.safetensors", {"layers.0.w": ("bfloat16", (8, 7))})
    (folder / "sharded" / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": 112}, "weight_map": index}), encoding="utf-8")
    expect("sharded", together, 2)
    expect("sharded/model.safetensors.index.json", together, 2)

    # Q8_1 is not for files; gguf 0.19 gives it 40 bytes a block, ggml's own struct has 36.
    kinds = {f"blk.{i}.{kind.name}": (kind, 1 + i % 3) for i, kind in enumerate(gguf.GGML_QUANT_SIZES) if kind != Type.Q8_1}
    write_gguf(folder / "every.gguf", "llama", kinds)
    expect("every.gguf", read_gguf([folder / "every.gguf"]))
    write_gguf(folder / "split.gguf", "llama", {f"blk.{i}.ffn_up.weight": (Type.Q4_K, i + 1) for i in range(5)}, split_max_tensors=2)
    parts = sorted(folder.glob("split-*-of-*.gguf"))
    assert len(parts) == 3
    expect(parts[0].name, read_gguf(parts), 3)
    write_gguf(folder / "big_endian.gguf", "llama", {"t": (Type.F32, 1)}, endianess=gguf.GGUFEndian.BIG)
    (folder / "expected.json").write_text(json.dumps(expected), encoding="utf-8")


if __name__ == "__main__":
    main()
