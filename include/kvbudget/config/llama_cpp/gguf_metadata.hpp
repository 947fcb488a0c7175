// GGUF metadata as a JSON object ("llama.block_count": 32 …) to the keys that matter for memory.
#pragma once

#include <string>
#include <string_view>

#include <kvbudget/config/document.hpp>
#include <kvbudget/engines/llama_cpp/hparams.hpp>

namespace kvbudget::llama_cpp {

namespace detail {

class gguf_keys {
 public:
  gguf_keys(const config::node& root, std::string prefix) : root_(root), prefix_(std::move(prefix) + ".") {}

  [[nodiscard]] std::optional<std::uint32_t> count(std::string_view key,
                                                   std::uint64_t highest = config::max_field_value) const {
    const auto value = root_.count(prefix_ + std::string(key), 0, highest);
    return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
  }
  [[nodiscard]] std::uint32_t count_or(std::string_view key, std::uint32_t otherwise) const {
    return count(key).value_or(otherwise);
  }
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const {
    return root_.boolean(prefix_ + std::string(key));
  }
  /// One number, or a list of numbers or booleans.
  [[nodiscard]] per_layer list(std::string_view key) const {
    const std::string name = prefix_ + std::string(key);
    const config::json* const value = root_.find(name);
    if (value == nullptr) return {};
    const config::node at = root_.child(name, *value);
    if (!value->is_array()) return entry(at);
    if (value->size() > max_layers) at.fail("too many entries", "at most 512 layers");
    per_layer result = per_layer::empty_list();
    for (std::size_t i = 0; i < value->size(); ++i) result.push_back(entry(at.child(i)));
    return result;
  }

 private:
  [[nodiscard]] static std::uint32_t entry(const config::node& n) {
    if (n.value().is_boolean()) return n.value().get<bool>() ? 1U : 0U;
    return static_cast<std::uint32_t>(n.count());
  }

  config::node root_;
  std::string prefix_;
};

}  // namespace detail

/// True for an object of GGUF keys: no config.json has a member "….block_count".
[[nodiscard]] inline std::optional<std::string> gguf_architecture(const config::node& root) {
  if (const auto name = root.string("general.architecture")) return name;
  constexpr std::string_view suffix = ".block_count";
  if (!root.value().is_object()) return std::nullopt;
  std::optional<std::string> shortest;  // t5.decoder.block_count is not the one
  for (const auto& [key, value] : root.value().items()) {
    if (key.size() <= suffix.size() || key.compare(key.size() - suffix.size(), suffix.size(), suffix) != 0) continue;
    std::string name = key.substr(0, key.size() - suffix.size());
    if (!shortest || name.size() < shortest->size()) shortest = std::move(name);
  }
  return shortest;
}

/// Throws config_error: an unknown architecture, a value of the wrong kind, more than 65,536 layers.
[[nodiscard]] inline metadata read_gguf_metadata(const config::document& d) {
  const config::node root(d);
  if (!d.root.is_object()) root.fail("not GGUF metadata", "a JSON object");
  const auto name = gguf_architecture(root);
  if (!name) root.fail_missing("general.architecture", "the name of an architecture");
  metadata m;
  m.architecture = find_architecture(*name);
  if (m.architecture == nullptr) {
    throw config_error({d.file, "/general.architecture", '"' + *name + '"'}, "unknown to llama.cpp",
                       "an architecture that llama.cpp has");
  }
  const detail::gguf_keys k(root, *name);
  const auto blocks = k.count("block_count", 65'536);
  if (!blocks) root.fail_missing(*name + ".block_count", "a number of layers");
  m.block_count = *blocks;
  m.nextn_predict_layers = k.count_or("nextn_predict_layers", 0);
  m.context_length = k.count_or("context_length", 0);
  m.embedding_length = k.count_or("embedding_length", 0);
  m.head_count = k.list("attention.head_count");
  m.head_count_kv = k.list("attention.head_count_kv");
  m.feed_forward_length = k.list("feed_forward_length");
  m.causal = k.boolean("attention.causal");
  m.key_length = k.count("attention.key_length");
  m.value_length = k.count("attention.value_length");
  m.key_length_swa = k.count("attention.key_length_swa");
  m.value_length_swa = k.count("attention.value_length_swa");
  m.key_length_mla = k.count_or("attention.key_length_mla", 0);
  m.value_length_mla = k.count_or("attention.value_length_mla", 0);
  m.kv_lora_rank = k.count_or("attention.kv_lora_rank", 0);
  m.sliding_window = k.count("attention.sliding_window");
  m.sliding_window_pattern = k.list("attention.sliding_window_pattern");
  m.shared_kv_layers = k.count_or("attention.shared_kv_layers", 0);
  m.leading_dense_block_count = k.count_or("leading_dense_block_count", 0);
  m.recurrent_layers = k.list("attention.recurrent_layers");
  m.full_attention_interval = k.count("full_attention_interval");
  m.ssm_conv_kernel = k.count_or("ssm.conv_kernel", 0);
  m.ssm_inner_size = k.count_or("ssm.inner_size", 0);
  m.ssm_state_size = k.count_or("ssm.state_size", 0);
  m.ssm_group_count = k.count_or("ssm.group_count", 0);
  m.kda_head_dim = k.count_or("kda.head_dim", 0);
  m.shortconv_l_cache = k.count_or("shortconv.l_cache", 0);
  m.wkv_head_size = k.count_or("wkv.head_size", 0);
  m.token_shift_count = k.count_or("token_shift_count", 2);
  m.indexer_key_length = k.count_or("attention.indexer.key_length", 0);
  m.indexer_top_k = k.count_or("attention.indexer.top_k", 0);
  m.indexer_kpool = k.count_or("attention.indexer.kpool", 0);
  m.indexer_types = k.list("attention.indexer.types");
  m.compress_ratios = k.list("attention.compress_ratios");
  m.hyper_connection_count = k.count_or("hyper_connection.count", 0);
  m.num_loops = k.count_or("num_loops", 1);
  if (const per_layer ple = k.list("ple.layers"); ple.size() > 0) m.ple_layer = ple[0];
  m.ple_ngram_size = k.count_or("ple.ngram_size", 0);
  m.ple_conv_kernel = k.count_or("ple.conv_kernel", 0);
  return m;
}

}  // namespace kvbudget::llama_cpp
