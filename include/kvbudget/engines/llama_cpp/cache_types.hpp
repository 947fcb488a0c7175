// The element types that llama.cpp's cache can have, by their names.
#pragma once

#include <string>
#include <string_view>

#include <kvbudget/core/storage_type.hpp>

namespace kvbudget::detail::llama_cpp {

/// The nine cache types of --cache-type-k (common/arg.cpp: kv_cache_types), by ggml's names.
struct cache_type_name {
  std::string_view name;
  storage_type type;
};
inline constexpr cache_type_name cache_types[] = {{"f32", f32},       {"f16", f16},   {"bf16", bf16},
                                                  {"q8_0", q8_0},     {"q4_0", q4_0}, {"q4_1", q4_1},
                                                  {"iq4_nl", iq4_nl}, {"q5_0", q5_0}, {"q5_1", q5_1}};

/// ggml_type_name. "?" for a type that is no cache type.
[[nodiscard]] inline std::string type_name(storage_type t) {
  for (const cache_type_name& c : cache_types) {
    if (c.type == t) return std::string(c.name);
  }
  return "?";
}

}  // namespace kvbudget::detail::llama_cpp
