// mlx-lm's options.
#pragma once

#include <kvbudget/engine/option_row.hpp>

namespace kvbudget::detail::mlx_lm {

/// Arguments of generate_step (mlx_lm/generate.py); `dtype` is the model's type, and `batch` the rows of the prompt.
inline constexpr option_row option_rows[] = {
    {.name = "version",
     .kind = option_kind::text,
     .values = "a release",
     .otherwise = "the newest known",
     .asks = common_part::version},
    {.name = "dtype",
     .kind = option_kind::text,
     .values = "an element type",
     .otherwise = "the config's",
     .asks = common_part::types},
    {.name = "prompt_tokens", .kind = option_kind::count, .otherwise = "0", .asks = common_part::length},
    {.name = "max_tokens", .kind = option_kind::count, .otherwise = "0", .asks = common_part::length},
    {.name = "batch", .kind = option_kind::count, .otherwise = "1", .asks = common_part::sequences},
    {.name = "prefill_step_size", .kind = option_kind::count, .otherwise = "2048", .lowest = 1},
    {.name = "max_kv_size",
     .kind = option_kind::count,
     .values = "a window of all layers, where the model has no make_cache of its own",
     .lowest = 5},
    {.name = "kv_bits", .kind = option_kind::count, .values = "2, 3, 4, 5, 6 or 8", .lowest = 2, .highest = 8},
    {.name = "kv_group_size",
     .kind = option_kind::count,
     .values = "32, 64 or 128",
     .otherwise = "64",
     .lowest = 32,
     .highest = 128},
    {.name = "quantized_kv_start", .kind = option_kind::count, .otherwise = "5000"},
};

}  // namespace kvbudget::detail::mlx_lm
