// The length that a config allows.
//
// Source: transformers_utils/model_arch_config_convertor.py and config/model.py of vLLM 0.32.0.
#pragma once

#include <limits>

#include <kvbudget/engines/vllm/model_builder.hpp>

namespace kvbudget::detail::vllm {

[[nodiscard]] inline std::optional<double> length_field(const model_builder& b, std::string_view name) {
  if (!b.f.in_file(name)) {
    const auto count = b.f.count(name);
    return count ? std::optional<double>(static_cast<double>(*count)) : std::nullopt;
  }
  const std::optional<node> value = b.f.field(name);
  if (!value || !value->value().is_number()) return std::nullopt;
  const double length = value->value().get<double>();
  if (value->value().is_number_integer() && length < 0) value->fail("negative", "a positive length");
  return length;
}
[[nodiscard]] inline std::uint64_t as_length(double value) {
  constexpr double highest = 9.0e15;
  return static_cast<std::uint64_t>(value >= 1 ? std::min(value, highest) : 1);
}

template <class Visit>
void for_each_rope(const model_builder& b, Visit visit) {
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const std::optional<node> rope = b.f.object(key);
    if (!rope) continue;
    if (rope->find("rope_type") != nullptr || rope->find("type") != nullptr) {
      visit(*rope);
      return;
    }
    for (const auto& [name, value] : rope->value().items()) {
      if (value.is_object()) visit(rope->child(name, value));
    }
    return;
  }
}
[[nodiscard]] inline std::string rope_type(const node& rope) {
  const json* const type = rope.find("rope_type") != nullptr ? rope.find("rope_type") : rope.find("type");
  return type != nullptr && type->is_string() ? type->get<std::string>() : "default";
}
[[nodiscard]] inline double rope_factor(const model_builder& b) {
  double factor = 1;
  for_each_rope(b, [&factor](const node& rope) {
    const std::string type = rope_type(rope);
    for (const std::string_view scaled :
         {"su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling"}) {
      if (type == scaled) return;
    }
    if (const json* const value = rope.find("factor"); value != nullptr && value->is_number())
      factor = value->get<double>();
  });
  return factor;
}
[[nodiscard]] inline std::optional<double> longrope_length(const model_builder& b) {
  bool longrope = false;
  for_each_rope(b, [&longrope](const node& rope) { longrope = longrope || rope_type(rope) == "longrope"; });
  if (!longrope) return std::nullopt;
  return length_field(b, "original_max_position_embeddings");
}

inline constexpr std::string_view length_fields[] = {
    "max_position_embeddings", "n_positions",         "max_seq_len",    "seq_length", "model_max_length",
    "max_target_positions",    "max_sequence_length", "max_seq_length", "seq_len"};

/// derive_max_model_len_and_key and config/model.py:_get_and_verify_max_len.
inline void read_max_model_len(model_builder& b) {
  model& m = b.out.model;
  constexpr double none = std::numeric_limits<double>::infinity();
  double length = none;
  for (const std::string_view name : length_fields) length = std::min(length, length_field(b, name).value_or(none));
  if (const auto value = length_field(b, "model_max_length"); value && *value != 0) length = *value;
  m.max_model_len_is_known = length != none;
  if (!m.max_model_len_is_known) length = 2048;
  if (b.f.root_model_type().find("gemma3") == std::string::npos) length *= rope_factor(b);
  m.max_model_len = as_length(longrope_length(b).value_or(length));
  b.f.derived("max_model_len", m.max_model_len, "the shortest of the config's lengths");
}

}  // namespace kvbudget::detail::vllm
