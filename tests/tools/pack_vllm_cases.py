#!/usr/bin/env python3
"""Packs truth cases of vLLM into tests/data/vllm.json: the fields that the reader looks at and the compared figures.

    pack_vllm_cases.py CASE.json... > vllm.json
    pack_vllm_cases.py --runs ID/RUN,... CASE.json... > vllm-random.json

A file is a case or a list of them; with --runs only those runs are kept. The result is a JSON list of cases in the cases' own format, one case a line.
"""
import json
import sys

CONFIG_FIELDS = set("""
architectures model_type dtype torch_dtype text_config llm_config language_config num_hidden_layers n_layer n_layers
num_layers decoder_layers num_attention_heads n_head decoder_attention_heads encoder_attention_heads encoder_layers
n_heads n_head_kv num_kv_heads num_key_value_heads multi_query_group_num num_attention_groups head_dim hidden_size
n_embd d_model attn_logit_softcapping index_topk qk_nope_head_dim qk_rope_head_dim kv_lora_rank sliding_window
use_sliding_window layer_types sliding_window_pattern attention_sinks multi_query new_decoder_architecture attn_config
num_kv_shared_layers global_head_dim attention_k_eq_v num_global_key_value_heads attention_other_setting
swa_num_key_value_heads swa_head_dim swa_v_head_dim v_head_dim sliding_window_size add_swa_attention_sink_bias
add_full_attention_sink_bias hybrid_layer_pattern no_rope_layers no_rope_layer_interval attention_chunk_size
block_configs mamba_d_ssm mamba_expand mamba_n_groups mamba_n_heads mamba_d_head mamba_d_state mamba_d_conv
attention_head_dim layers_block_type mamba_ngroups n_mamba_heads mamba_headdim attn_layer_period attn_layer_offset
intermediate_size state_size conv_kernel expand n_groups num_heads hybrid_override_pattern mtp_layers_block_type
mtp_hybrid_override_pattern mamba_ssm_cache_dtype mamba_num_heads mamba_head_dim ssm_state_size
full_attention_interval linear_key_head_dim linear_value_head_dim linear_num_key_heads linear_num_value_heads
linear_conv_kernel_dim mamba_ssm_dtype full_attn_idxs conv_dim conv_L_cache linear_attn_config index_head_dim
index_topk_pattern index_topk_freq index_skip_topk_offset compress_ratios sparse_attention_config
num_nextn_predict_layers mtp_num_hidden_layers max_position_embeddings n_positions max_seq_len seq_length
model_max_length max_target_positions max_sequence_length max_seq_length seq_len rope_parameters rope_scaling
original_max_position_embeddings use_bidirectional_attention quantization_config compression_config
max_window_layers global_attn_every_n_layers mtp_layer_types alibi
""".split())
QUANTIZATION_FIELDS = {"quant_method", "kv_cache_scheme", "kv_cache_quant_algo", "quant_algo", "producer",
                       "quantization", "modelopt_quant_config", "name", "dynamic", "num_bits", "type", "strategy",
                       "symmetric"}
ROPE_FIELDS = {"rope_type", "type", "factor"}
FIGURES = ("bytes_per_block", "num_blocks", "tokens", "max_concurrency", "printed", "request_bytes",
           "blocks_per_request", "allocated_bytes", "estimated_max_model_len", "auto_fit_max_model_len")


def pick(value, fields):
    return {k: pick(v, fields) if isinstance(v, dict) else v for k, v in value.items() if k in fields}


def pack_config(config):
    packed = {}
    for key, value in config.items():
        if key not in CONFIG_FIELDS or value is None:
            continue
        if key in ("text_config", "llm_config", "language_config"):
            value = pack_config(value)
        elif key == "quantization_config":
            value = pick(value, QUANTIZATION_FIELDS)
        elif key in ("rope_parameters", "rope_scaling") and isinstance(value, dict):
            value = {k: pick(v, ROPE_FIELDS) if isinstance(v, dict) else v for k, v in value.items()
                     if k in ROPE_FIELDS or isinstance(v, dict)}
        elif key == "block_configs":
            value = [{"attention": pick(block["attention"], {"no_op", "replace_with_linear", "n_heads_in_group"})}
                     for block in value]
        packed[key] = value
    return packed


def pack_groups(groups):
    if groups and isinstance(groups[0], list):
        return [pack_groups(stage) for stage in groups]
    return [{"num_layers": g["num_layers"], "blocks_per_request": g["blocks_per_request"],
             "spec": {"block_size": g["spec"]["block_size"], "page_size_bytes": g["spec"]["page_size_bytes"]}}
            for g in groups]


def pack_run(run):
    expect = {k: run["expect"][k] for k in FIGURES if run["expect"].get(k) is not None}
    if "groups" in run["expect"]:
        expect["groups"] = pack_groups(run["expect"]["groups"])
    if run["expect"].get("error"):
        expect["error"] = "refused"
    settings = {k: v for k, v in run["settings"].items() if v is not None}
    return {"name": run["name"], "settings": settings, "expect": expect}


def pack(case):
    packed = {k: case[k] for k in ("id", "engine", "engine_version")}
    packed["config"] = pack_config(case["config"])
    if case.get("hf_quant_config"):
        packed["hf_quant_config"] = pick(case["hf_quant_config"], QUANTIZATION_FIELDS)
    packed["runs"] = [pack_run(run) for run in case["runs"]]
    return packed


def main(arguments):
    kept = None
    if arguments and arguments[0] == "--runs":
        kept = set(arguments[1].split(","))
        arguments = arguments[2:]
    lines = []
    for path in sorted(arguments):
        with open(path, encoding="utf-8") as file:
            cases = json.load(file)
        for case in cases if isinstance(cases, list) else [cases]:
            if kept is not None:
                case["runs"] = [run for run in case["runs"] if case["id"] + "/" + run["name"] in kept]
            if case["runs"]:
                lines.append(json.dumps(pack(case), separators=(",", ":")))
    sys.stdout.write("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main(sys.argv[1:])
