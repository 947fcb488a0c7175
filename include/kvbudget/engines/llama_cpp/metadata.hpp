// What llama.cpp reads from a GGUF file for its memory: keys, and why a file or a context is refused.
//
// Source: llama.cpp 0.5.0-dev, src/llama-model.cpp (llama_model_base::load_hparams), src/llama-arch.cpp (names of
// keys).
#pragma once

#include <optional>
#include <string_view>

#include <kvbudget/core/checked.hpp>
#include <kvbudget/engines/llama_cpp/architectures.hpp>

namespace kvbudget::detail::llama_cpp {

inline constexpr std::uint32_t max_layers = 512;     ///< LLAMA_MAX_LAYERS
inline constexpr std::uint32_t max_sequences = 256;  ///< LLAMA_MAX_SEQ

/// Why the engine does not load the model or create the context. `none`: it does.
enum class refusal_reason : std::uint8_t {
  none,
  block_count_out_of_range,  ///< not 1 … 512 layers
  nextn_layers_exceed_block_count,
  missing_key,                 ///< of the file; `key` names it
  wrong_type,                  ///< of the file: `key`, `found`, `expected`
  wrong_array_length,          ///< of the file; `key`
  unusable_value,              ///< of the file: `key` with the number `head`, on which the engine stops
  no_layer_slides,             ///< a window, but no layer that uses it
  shared_layer_has_no_source,  ///< the last layer with a cache must be full, the one before it sliding
  no_context_length,           ///< n_ctx 0 and no context length in the file
  no_batch,                    ///< n_batch and n_ubatch 0
  n_seq_max_too_large,         ///< more than 256
  n_seq_max_over_outputs,      ///< more sequences than outputs of a batch: `head` of them; an assertion
  different_kv_types,          ///< of a model that keeps a latent
  quantized_v_needs_flash_attn,
  k_block_does_not_divide_head,  ///< `block`, `head`
  v_block_does_not_divide_head,  ///< `block`, `head`
  row_is_not_whole_blocks,       ///< a cache row of `head` elements in blocks of `block`; an assertion of ggml
  no_mtp_layers,
  main_gpu_out_of_range,
  split_mode_tensor_unsupported,  ///< by the engine for this architecture
  split_mode_tensor_needs_flash_attn,
  split_mode_tensor_not_computed,  ///< the engine does it; this library does not know the shares
  needs_target_context             ///< a draft model that lives in its target's cache
};

/// A refusal with the numbers of the engine's message.
struct refusal {
  refusal_reason reason = refusal_reason::none;
  std::uint32_t block = 0;
  std::uint32_t head = 0;
  std::string_view key = {};    ///< without the architecture's prefix
  std::string_view found = {};  ///< types by GGUF's names
  std::string_view expected = {};

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return reason != refusal_reason::none; }
  friend constexpr bool operator==(const refusal& a, const refusal& b) noexcept {
    return a.reason == b.reason && a.block == b.block && a.head == b.head;
  }
};

/// A GGUF value that is one number for all layers, or a list with one per layer, or absent.
class per_layer {
 public:
  constexpr per_layer() noexcept = default;
  constexpr per_layer(std::uint32_t one) noexcept  // NOLINT(google-explicit-constructor): a number is the usual case
      : one_(one), kind_(kind::one) {}

  /// Appends to the list. An entry after the 512th is a failure.
  constexpr void push_back(std::uint32_t value) {
    if (kind_ != kind::list) *this = per_layer(list_tag{});
    if (size_ == max_layers) list_is_longer_than_its_capacity();
    values_[size_++] = value;
  }
  [[nodiscard]] static constexpr per_layer empty_list() noexcept { return per_layer(list_tag{}); }

  [[nodiscard]] constexpr bool given() const noexcept { return kind_ != kind::absent; }
  [[nodiscard]] constexpr bool is_list() const noexcept { return kind_ == kind::list; }
  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return size_; }
  /// Entry `il`; 0 where a list is too short and where nothing was given, as in the engine's zero-filled arrays.
  [[nodiscard]] constexpr std::uint32_t operator[](std::uint32_t il) const noexcept {
    if (kind_ == kind::one) return one_;
    return il < size_ ? values_[il] : 0U;
  }

 private:
  enum class kind : std::uint8_t { absent, one, list };
  struct list_tag {};
  constexpr explicit per_layer(list_tag) noexcept : kind_(kind::list) {}

  std::uint32_t values_[max_layers]{};
  std::uint32_t one_ = 0;
  std::uint32_t size_ = 0;
  kind kind_ = kind::absent;
};

/// The GGUF keys that matter for memory, under their own names without the architecture's prefix.
struct metadata {
  const llama_cpp::architecture* architecture = nullptr;
  refusal refused;                ///< why the loader gives up on the file's keys
  std::uint32_t block_count = 0;  ///< layers, those for multi-token prediction included
  std::uint32_t nextn_predict_layers = 0;
  std::uint32_t context_length = 0;
  std::uint32_t embedding_length = 0;
  per_layer head_count;
  per_layer head_count_kv;                  ///< default: head_count
  per_layer feed_forward_length;            ///< only whether it is 0 matters (nemotron_h)
  std::optional<bool> causal;               ///< attention.causal
  std::optional<std::uint32_t> key_length;  ///< attention.*; default: embedding_length / head_count
  std::optional<std::uint32_t> value_length;
  std::optional<std::uint32_t> key_length_swa;  ///< default: key_length
  std::optional<std::uint32_t> value_length_swa;
  std::uint32_t key_length_mla = 0;  ///< with value_length_mla: one latent row, no V
  std::uint32_t value_length_mla = 0;
  std::uint32_t kv_lora_rank = 0;
  std::optional<std::uint32_t> sliding_window;
  per_layer sliding_window_pattern;  ///< one number: the period
  std::uint32_t shared_kv_layers = 0;
  std::uint32_t leading_dense_block_count = 0;
  per_layer recurrent_layers;
  std::optional<std::uint32_t> full_attention_interval;
  std::uint32_t ssm_conv_kernel = 0;
  std::uint32_t ssm_inner_size = 0;
  std::uint32_t ssm_state_size = 0;
  std::uint32_t ssm_group_count = 0;
  std::uint32_t kda_head_dim = 0;
  std::uint32_t shortconv_l_cache = 0;
  std::uint32_t wkv_head_size = 0;
  std::uint32_t token_shift_count = 2;
  std::uint32_t indexer_key_length = 0;
  std::uint32_t indexer_top_k = 0;
  std::uint32_t indexer_kpool = 0;
  per_layer indexer_types;
  per_layer compress_ratios;
  std::uint32_t hyper_connection_count = 0;
  std::uint32_t num_loops = 1;             ///< nanbeige: every layer is run, and cached, that often
  std::optional<std::uint32_t> ple_layer;  ///< qwen4exp: the layer with an n-gram embedding
  std::uint32_t ple_ngram_size = 0;
  std::uint32_t ple_conv_kernel = 0;
};

}  // namespace kvbudget::detail::llama_cpp
