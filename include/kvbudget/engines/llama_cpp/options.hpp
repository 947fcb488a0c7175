// llama.cpp's options.
#pragma once

#include <kvbudget/engine/option_row.hpp>
#include <kvbudget/engines/llama_cpp/settings.hpp>

namespace kvbudget::detail::llama_cpp {

/// Names of the C API (include/llama.h: llama_context_params, llama_model_params), with those of the command line
/// (common/arg.cpp) as aliases. `defaults` chooses what holds where an option was not given: "server" (llama-server,
/// the way that most people start it), "command_line" or "c_api". `device_memory` lists the free bytes of the GPUs, by
/// which layers are split when tensor_split does not say; `devices` is their number.
inline constexpr std::uint64_t any_32_bits = ~std::uint32_t{0};
inline constexpr option_row option_rows[] = {
    {.name = "version", .kind = option_kind::text, .values = "a release", .asks = common_part::version},
    {.name = "defaults", .kind = option_kind::word, .values = "server|command_line|c_api", .otherwise = "server"},
    {.name = "n_ctx",
     .kind = option_kind::count,
     .otherwise = "0: the model's",
     .asks = common_part::length,
     .highest = any_32_bits,
     .aliases = "ctx-size"},
    {.name = "n_batch",
     .kind = option_kind::count,
     .otherwise = "2048",
     .highest = any_32_bits,
     .aliases = "batch-size"},
    {.name = "n_ubatch",
     .kind = option_kind::count,
     .otherwise = "512",
     .highest = any_32_bits,
     .aliases = "ubatch-size"},
    {.name = "n_seq_max",
     .kind = option_kind::count,
     .otherwise = "4 in one buffer",
     .asks = common_part::sequences,
     .highest = any_32_bits,
     .aliases = "parallel|n_parallel"},
    {.name = "type_k",
     .kind = option_kind::text,
     .values = "a cache type",
     .otherwise = "f16",
     .asks = common_part::k_type,
     .aliases = "cache-type-k"},
    {.name = "type_v",
     .kind = option_kind::text,
     .values = "a cache type",
     .otherwise = "f16",
     .asks = common_part::v_type,
     .aliases = "cache-type-v"},
    {.name = "flash_attn",
     .kind = option_kind::other,
     .values = "auto, on or off",
     .otherwise = "auto",
     .aliases = "flash-attn"},
    {.name = "kv_unified", .kind = option_kind::boolean, .aliases = "kv-unified"},
    {.name = "swa_full", .kind = option_kind::boolean, .otherwise = "false", .aliases = "swa-full"},
    {.name = "offload_kqv", .kind = option_kind::boolean, .otherwise = "true"},
    {.name = "n_rs_seq", .kind = option_kind::count, .otherwise = "0", .highest = any_32_bits},
    {.name = "ctx_type", .kind = option_kind::word, .values = "default|mtp", .otherwise = "default"},
    {.name = "load_mtp", .kind = option_kind::boolean, .otherwise = "false"},
    {.name = "n_gpu_layers", .kind = option_kind::integer, .otherwise = "-1: all", .aliases = "gpu-layers"},
    {.name = "split_mode",
     .kind = option_kind::word,
     .values = "none|layer|row|tensor",
     .otherwise = "layer",
     .aliases = "split-mode"},
    {.name = "tensor_split",
     .kind = option_kind::other,
     .values = "a list of at most 16 numbers",
     .asks = common_part::stage_layers,
     .aliases = "tensor-split"},
    {.name = "main_gpu", .kind = option_kind::integer, .otherwise = "0", .aliases = "main-gpu"},
    {.name = "devices",
     .kind = option_kind::count,
     .otherwise = "0",
     .asks = common_part::pipeline_parallel,
     .highest = max_devices},
    {.name = "device_memory", .kind = option_kind::other, .values = "a list of at most 16 numbers"},
};

}  // namespace kvbudget::detail::llama_cpp
