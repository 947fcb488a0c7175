// GGUF metadata as a JSON object ("llama.block_count": 32 …) to the keys that matter for memory.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <kvbudget/input/document.hpp>
#include <kvbudget/input/loader_keys.hpp>
#include <kvbudget/engines/llama_cpp/hparams.hpp>

namespace kvbudget::detail::llama_cpp {

/// Keys of one architecture. What its loader does not read is not there.
class gguf_keys {
 public:
  gguf_keys(const config::node& root, const std::string& architecture)
      : root_(root), architecture_(architecture), prefix_(architecture + ".") {}

  [[nodiscard]] std::optional<std::uint32_t> count(std::string_view key,
                                                   std::uint64_t highest = config::max_field_value) const {
    if (!loader_reads(architecture_, key)) return std::nullopt;
    const auto value = root_.count(prefix_ + std::string(key), 0, highest);
    return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
  }
  [[nodiscard]] std::uint32_t count_or(std::string_view key, std::uint32_t otherwise) const {
    return count(key).value_or(otherwise);
  }
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const {
    return loader_reads(architecture_, key) ? root_.boolean(prefix_ + std::string(key)) : std::nullopt;
  }
  /// One number, or a list of numbers or booleans.
  [[nodiscard]] per_layer list(std::string_view key) const {
    const std::string name = prefix_ + std::string(key);
    const config::json* const value = loader_reads(architecture_, key) ? root_.find(name) : nullptr;
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
  std::string architecture_;
  std::string prefix_;
};

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

/// Names that llama.cpp has and no loader for.
[[noreturn]] inline void refuse_architecture(const config::document& d, const std::string& name) {
  std::string problem = "unknown to llama.cpp";
  std::string expected = "an architecture that llama.cpp has";
  if (name == "clip") {
    problem = "a multimodal projector (mmproj), which has no KV cache of its own";
    expected = "the GGUF file of the language model";
  } else if (name == "gptj") {
    problem = "llama.cpp has the name, and no loader for it";
  }
  throw config_error({d.file, "/general.architecture", '"' + name + '"'}, std::move(problem), std::move(expected));
}

/// What the loader asks of the file before it computes anything: keys that must be there, and their types.
class loader_checks {
 public:
  loader_checks(const config::document& d, const std::string& architecture)
      : document_(d), architecture_(architecture) {}

  [[nodiscard]] refusal run() {
    check(keys_of_all_loaders);
    check(keys_of_loader(architecture_));
    if (architecture_ == "dflash" && number("hyper_connection.count") > 0) check(keys_of_loader("dflash+backbone"));
    if (architecture_ == "qwen4exp" && has("ple.layers")) check(keys_of_loader("qwen4exp+ple"));
    if (architecture_ == "cohere2moe" && !has("attention.layer_norm_epsilon")) {
      require("attention.layer_norm_rms_epsilon");
    }
    if (architecture_ == "deepseek2" || architecture_ == "mistral4") {
      const std::uint64_t layers = number("block_count") - number("nextn_predict_layers");
      // The lite models; of 48 layers those with this vocabulary.
      const bool lite = layers == 26 || layers == 27 || (layers == 48 && number("vocab_size") == 128'256);
      if (!lite) require("attention.q_lora_rank");
    }
    if (!refused_) check_rotation();
    if (!refused_ && number("embedding_length") == 0) refuse_value("embedding_length", 0);
    if (!refused_ && whole()) check_experts();
    if (!refused_ && whole()) check_feed_forward();
    return refused_;
  }

 private:
  [[nodiscard]] const config::json* find(std::string_view key) const {
    const auto at = document_.root.find(architecture_ + "." + std::string(key));
    return at == document_.root.end() || at->is_null() ? nullptr : &*at;
  }
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  /// What a program puts into a document is a signed number, also when it is not negative.
  [[nodiscard]] static bool is_count(const config::json& value) { return value.is_number_integer() && value >= 0; }
  [[nodiscard]] std::uint64_t number(std::string_view key, std::uint64_t otherwise = 0) const {
    const config::json* const value = find(key);
    return value != nullptr && is_count(*value) ? value->get<std::uint64_t>() : otherwise;
  }

  /// The metadata of a whole file say the architecture; the keys of a part need not be all.
  [[nodiscard]] bool whole() const { return document_.root.contains("general.architecture"); }

  void require(std::string_view key) {
    if (refused_ || has(key)) return;
    if (whole() || matters(key)) refused_ = {refusal_reason::missing_key, 0, 0, key};
  }
  /// Without it a plan would be of another model.
  [[nodiscard]] static bool matters(std::string_view key) {
    for (const std::string_view start : {"context_length", "ssm.", "kda.head_dim", "wkv.", "shortconv."}) {
      if (key.substr(0, start.size()) == start && key != "ssm.time_step_rank") return true;
    }
    return key == "embedding_length";
  }

  void check(std::string_view keys) {
    any_word(keys, [&](std::string_view word) {
      const std::string_view key = bare_key(word);
      if (key != word) require(key);
      if (!refused_ && has(key)) check_type(key, type_of_key(key));
      return static_cast<bool>(refused_);
    });
  }

  /// Only a file has types: in JSON a number is a number.
  void check_type(std::string_view key, std::string_view expected) {
    if (!document_.value_types.is_object()) return;
    const std::string_view found = type_in_file(key);
    const bool list_found = found.front() == '[';
    const bool list_expected = expected.front() == '[';
    const bool either = expected.back() == '*';
    const std::string_view one = either ? expected.substr(0, expected.size() - 1) : expected;
    if (list_expected && !list_found) return;  // as if it were not there
    if (!list_found ? found == one : (list_expected || either) && is_list_of(found, one)) return;
    refused_ = {refusal_reason::wrong_type, 0, 0, key, list_found && !either && !list_expected ? "arr" : found, one};
  }
  /// u32 and i32 are one where they stand in lists, and booleans are taken for them.
  [[nodiscard]] static bool is_list_of(std::string_view found, std::string_view one) {
    std::string_view entry = found.substr(1, found.size() - 2);
    if (one.front() == '[') one = one.substr(1, one.size() - 2);
    if (entry == one) return true;
    return (one == "u32" || one == "i32") && (entry == "u32" || entry == "i32" || entry == "bool");
  }
  /// By GGUF's names; a list in brackets.
  [[nodiscard]] std::string_view type_in_file(std::string_view key) const {
    const std::string name = architecture_ + "." + std::string(key);
    if (const auto at = document_.value_types.find(name); at != document_.value_types.end()) {
      for (const std::string_view known :
           {"u8",    "i8",    "u16",   "i16",   "i32",   "u64",    "i64",   "f64",   "[u8]",  "[i8]",
            "[u16]", "[i16]", "[u32]", "[i32]", "[f32]", "[bool]", "[str]", "[u64]", "[i64]", "[f64]"}) {
        if (known == at->get_ref<const std::string&>()) return known;
      }
    }
    const config::json& value = *find(key);
    if (value.is_array()) {
      if (value.empty() || value[0].is_number_integer()) return "[u32]";
      return value[0].is_boolean() ? "[bool]" : "[f32]";
    }
    return value.is_boolean() ? "bool" : value.is_string() ? "str" : value.is_number_float() ? "f32" : "u32";
  }

  /// "invalid n_rot": these take no part of a head for a rotation.
  void check_rotation() {
    bool whole_heads = false;
    for (const std::string_view name : {"llama", "deci", "falcon", "llama-embed"}) {
      whole_heads = whole_heads || name == architecture_;
    }
    const config::json* const list = find("attention.head_count");
    const std::uint64_t heads = list != nullptr && list->is_array() && !list->empty() && is_count((*list)[0])
                                    ? (*list)[0].get<std::uint64_t>()
                                    : number("attention.head_count");
    if (!whole_heads || heads == 0 || !has("rope.dimension_count")) return;
    const std::uint64_t key_length = number("attention.key_length", number("embedding_length") / heads);
    const std::uint64_t rotated = number("rope.dimension_count");
    if (rotated != key_length) {
      refused_ = {refusal_reason::unusable_value, 0, static_cast<std::uint32_t>(rotated), "rope.dimension_count"};
    }
  }

  /// The largest of a number or of a list of them.
  [[nodiscard]] std::uint64_t largest(std::string_view key) const {
    const config::json* const value = find(key);
    if (value == nullptr || !value->is_array()) return number(key);
    std::uint64_t most = 0;
    for (const config::json& entry : *value) {
      if (is_count(entry)) most = std::max(most, entry.get<std::uint64_t>());
    }
    return most;
  }
  [[nodiscard]] bool is_one_of(std::string_view names) const {
    return any_word(names, [this](std::string_view name) { return name == architecture_; });
  }
  void refuse_value(std::string_view key, std::uint64_t value) {
    const auto shown = static_cast<std::uint32_t>(std::min<std::uint64_t>(value, ~std::uint32_t{0}));
    refused_ = {refusal_reason::unusable_value, 0, shown, key};
  }

  /// The assertions of llama_model_base::load_hparams on experts.
  void check_experts() {
    const std::uint64_t experts = number("expert_count");
    const std::uint64_t used = largest("expert_used_count");
    const std::uint64_t groups = number("expert_group_count");
    const std::uint64_t groups_used = number("expert_group_used_count");
    if (experts <= 1 && is_one_of("hunyuan_vl hunyuan-dense")) return;
    if (experts > 1024) return refuse_value("expert_count", experts);  // LLAMA_MAX_EXPERTS
    if (used > experts || (experts > 0 && used == 0)) return refuse_value("expert_used_count", used);
    if (experts == 0 ? groups != 0 : groups >= experts) return refuse_value("expert_group_count", groups);
    if (groups <= 1) return;
    if (experts % groups != 0) return refuse_value("expert_group_count", groups);
    if (groups_used == 0 || groups_used >= groups) refuse_value("expert_group_used_count", groups_used);
  }

  /// A feed-forward network of width 0 has tensors without elements, where the loader creates one.
  void check_feed_forward() {
    if (largest("feed_forward_length") > 0) return;
    const bool dense_ones =
        is_one_of("afmoe deepseek deepseek2 ernie4_5-moe glm5-next hy_v4 kimi-k3 kimi-linear laguna");
    const bool needed = number("expert_count") == 0
                            ? !is_one_of("deci mamba mamba2 nemotron_h nemotron_h_moe wavtokenizer-dec")
                            : is_one_of("dbrx grok hunyuan-moe jamba minimax-01 minimax-m2 olmoe phimoe") ||
                                  (dense_ones && number("leading_dense_block_count") > 0);
    if (!needed) return;
    if (has("feed_forward_length")) refuse_value("feed_forward_length", 0);
    else refused_ = {refusal_reason::missing_key, 0, 0, "feed_forward_length"};
  }

  const config::document& document_;
  const std::string& architecture_;
  refusal refused_;
};

/// With `refused` where the loader would not take the file's keys. Throws config_error: an unknown architecture, a
/// value of the wrong kind, more than 65,536 layers.
[[nodiscard]] inline metadata read_gguf_metadata(const config::document& d) {
  const config::node root(d);
  if (!d.root.is_object()) root.fail("not GGUF metadata", "a JSON object");
  const auto name = gguf_architecture(root);
  if (!name) root.fail_missing("general.architecture", "the name of an architecture");
  metadata m;
  m.architecture = find_architecture(*name);
  if (m.architecture == nullptr) refuse_architecture(d, *name);
  m.refused = loader_checks(d, *name).run();
  const gguf_keys k(root, *name);
  if (m.refused) {
    const config::json* const blocks = root.find(*name + ".block_count");
    if (blocks != nullptr && blocks->is_number_integer() && *blocks >= 0 && *blocks <= 65'536) m.block_count = *blocks;
    return m;
  }
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

}  // namespace kvbudget::detail::llama_cpp
