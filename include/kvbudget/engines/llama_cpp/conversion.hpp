// What the steps of llama.cpp's converter work with: the config, the keys written so far, lists with an entry a layer.
//
// Source: llama.cpp 0.5.0-dev, conversion/base.py (TextModel.set_gguf_parameters). The steps themselves stand in
// conversion_sizes.hpp, conversion_windows.hpp, conversion_states.hpp and conversion_latents.hpp; which converter class
// takes which of them, in convert.hpp.
#pragma once

#include <span>

#include <kvbudget/engines/llama_cpp/converter_classes.hpp>
#include <kvbudget/config/layer_kinds.hpp>

namespace kvbudget::detail::llama_cpp {

/// One conversion: every step reads `in` and writes keys of `out`.
struct conversion {
  const hf_source& in;
  const converter_row& row;
  metadata out;

  void head_size(std::optional<std::uint32_t> size) {
    if (!size) return;
    out.key_length = *size;
    out.value_length = *size;
  }
  void ssm(std::uint32_t kernel, std::uint32_t inner, std::uint32_t state, std::uint32_t groups) {
    out.ssm_conv_kernel = kernel;
    out.ssm_inner_size = inner;
    out.ssm_state_size = state;
    out.ssm_group_count = groups;
  }
  /// Layers for multi-token prediction after the model's own.
  void add_nextn(std::uint32_t n) {
    out.nextn_predict_layers = n;
    out.block_count += n;
  }
  [[nodiscard]] std::uint32_t own_layers() const { return out.block_count - out.nextn_predict_layers; }

  /// The kinds of the model's own layers, as words.
  [[nodiscard]] std::optional<config::node> layer_types() const { return in.layer_types(own_layers()); }
  [[nodiscard]] config::node need_layer_types() const {
    const auto types = layer_types();
    if (!types) in.fail_missing("layer_types", "an array");
    return *types;
  }

  /// A product of two fields. Throws config_error when it does not fit in 32 bits.
  [[nodiscard]] std::uint32_t product(std::uint32_t a, std::uint32_t b, std::string_view field) const {
    const checked_count p = checked_count(a) * b;
    if (!p.fits(~std::uint32_t{0})) {
      throw config_error({in.root().file(), std::string("/") + std::string(field), std::to_string(a)}, "out of range",
                         "a product with " + std::to_string(b) + " below 2^32");
    }
    return static_cast<std::uint32_t>(p.value());
  }
};

/// A list with one entry per layer. More than 512 are an error: the engine has no room for them.
template <class Entry>
[[nodiscard]] per_layer list_of(const config::node& array, const Entry& entry) {
  if (array.value().size() > max_layers) array.fail("too many entries", "at most 512 layers");
  per_layer result = per_layer::empty_list();
  for (std::size_t i = 0; i < array.value().size(); ++i) result.push_back(entry(array.child(i)));
  return result;
}
[[nodiscard]] inline per_layer numbers(const config::node& array) {
  return list_of(array, [](const config::node& n) { return static_cast<std::uint32_t>(n.count()); });
}
[[nodiscard]] inline per_layer equal_to(const config::node& array, std::string_view word) {
  return list_of(array, [word](const config::node& n) { return n.value() == word ? 1U : 0U; });
}
template <class Entry>
[[nodiscard]] per_layer made(std::uint32_t n, const Entry& entry) {
  per_layer result = per_layer::empty_list();
  for (std::uint32_t il = 0; il < n && il < max_layers; ++il) result.push_back(entry(il));
  return result;
}
/// 1 for those of `n` layers that are in a list of indices that starts at `first`.
[[nodiscard]] inline per_layer listed(const config::node& indices, std::uint64_t first, std::uint32_t n) {
  const per_layer values = numbers(indices);
  return made(n, [&](std::uint32_t il) {
    for (std::uint32_t i = 0; i < values.size(); ++i) {
      if (values[i] == il + first) return 1U;
    }
    return 0U;
  });
}
[[nodiscard]] inline bool any_of(const per_layer& list) {
  for (std::uint32_t il = 0; il < list.size(); ++il) {
    if (list[il] != 0) return true;
  }
  return false;
}

/// Where one number comes from: the first of these fields that the config has, or what is written without one.
struct number_rule {
  enum class otherwise : std::uint8_t { nothing, error, number };
  std::string_view fields[6] = {};
  otherwise without = otherwise::nothing;
  std::uint32_t number = 0;
};
/// The converter stops without it.
template <class... Names>
[[nodiscard]] constexpr number_rule need(Names... names) {
  return {{names...}, number_rule::otherwise::error};
}
/// Without it the key is not written.
template <class... Names>
[[nodiscard]] constexpr number_rule may(Names... names) {
  return {{names...}};
}
/// Without it, this number is written.
template <class... Names>
[[nodiscard]] constexpr number_rule number_or(std::uint32_t number, Names... names) {
  return {{names...}, number_rule::otherwise::number, number};
}
/// The converter's own number, whatever the config says.
[[nodiscard]] constexpr number_rule fixed(std::uint32_t number) { return {{}, number_rule::otherwise::number, number}; }

[[nodiscard]] inline std::optional<std::uint32_t> number_of(const hf_source& in, const number_rule& rule) {
  std::size_t n = 0;
  while (n < std::size(rule.fields) && !rule.fields[n].empty()) ++n;
  const auto value = n > 0 ? in.count(std::span(rule.fields, n)) : std::nullopt;
  if (value || rule.without == number_rule::otherwise::nothing) return value;
  if (rule.without == number_rule::otherwise::error) in.fail_missing(rule.fields[0], "a whole number");
  return rule.number;
}

/// The four keys that every class writes.
struct size_rules {
  number_rule context_length;
  number_rule embedding_length;
  number_rule head_count;
  number_rule head_count_kv;
};

inline void write_sizes(conversion& c, const size_rules& rules) {
  if (const auto n = number_of(c.in, rules.context_length)) c.out.context_length = *n;
  if (const auto n = number_of(c.in, rules.embedding_length)) c.out.embedding_length = *n;
  if (const auto n = number_of(c.in, rules.head_count)) c.out.head_count = *n;
  if (const auto n = number_of(c.in, rules.head_count_kv)) c.out.head_count_kv = *n;
}

}  // namespace kvbudget::detail::llama_cpp
