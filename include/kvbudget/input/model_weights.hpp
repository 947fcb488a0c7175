// What the files of a model's weights hold: tensors by name, and their bytes by element type and by what they are for.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kvbudget/core/checked.hpp>
#include <kvbudget/input/errors.hpp>

namespace kvbudget {

/// What a tensor is for, by its name. `embedding` has the vocabulary's matrices at both ends (the output head too) and
/// position embeddings; `attention` all that stands inside the attention module, its norms and indexers included;
/// `experts` the routed experts only, as llama.cpp's --cpu-moe takes them: routers and shared experts are `rest`, and
/// so are norms, dense MLPs, recurrent mixers, projectors.
enum class tensor_group : std::uint8_t { embedding, attention, experts, rest };
inline constexpr std::string_view tensor_group_names[] = {"embedding", "attention", "experts", "rest"};

/// One tensor as a file declares it.
struct weight_tensor {
  std::string name;
  std::string_view dtype;            ///< name of the element type in its format: BF16; q4_K
  std::vector<std::uint64_t> shape;  ///< in the file's order: GGUF has the fastest dimension first, safetensors last
  std::uint64_t elements = 0;        ///< product of the shape
  std::uint64_t bytes = 0;           ///< of the data, without padding
  std::size_t file = 0;              ///< index into model_weights::files
  std::optional<std::uint32_t> layer;
  tensor_group group = tensor_group::rest;
};

/// All tensors of a model. Bytes are those of the tensors' data: no headers, no padding.
struct model_weights {
  std::vector<std::string> files;      ///< that were read, in order
  std::vector<weight_tensor> tensors;  ///< by file, then by place in it
  std::uint64_t total_bytes = 0;
  /// Elements as stored: fewer than the model's parameters where several are packed in one (GPTQ, AWQ, MXFP4 as U8).
  std::uint64_t parameters = 0;
  std::map<std::string, std::uint64_t, std::less<>> bytes_by_dtype;
  std::array<std::uint64_t, 4> bytes_by_group{};

  [[nodiscard]] std::uint64_t bytes_of(tensor_group group) const noexcept {
    return bytes_by_group[static_cast<std::size_t>(group)];
  }
};

namespace detail {

[[nodiscard]] constexpr bool has(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != text.npos;
}

/// Calls visit(component, previous) for the parts between the points of a tensor's name until it returns true.
template <class Visit>
constexpr bool any_component(std::string_view name, const Visit& visit) {
  std::string_view previous;
  for (;;) {
    const std::size_t point = name.find('.');
    const std::string_view component = name.substr(0, point);
    if (visit(component, previous)) return true;
    if (point == name.npos) return false;
    previous = component;
    name.remove_prefix(point + 1);
  }
}

[[nodiscard]] constexpr bool is_norm(std::string_view component) noexcept {
  return has(component, "norm") || has(component, "Norm") || component.substr(0, 3) == "ln_";
}

[[nodiscard]] constexpr bool is_expert(std::string_view c, std::string_view previous) noexcept {
  if (c == "experts") return true;
  if (previous == "block_sparse_moe" && (c == "input_linear" || c == "output_linear")) return true;  // GraniteMoE
  return has(c, "_exps") || has(c, "_chexps");
}

[[nodiscard]] constexpr bool is_attention(std::string_view c) noexcept {
  for (const std::string_view projection : {"q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj"}) {
    if (c == projection) return true;  // in a mixer of NemotronH
  }
  if (c.substr(0, 7) == "indexer") return true;
  // GGUF has the norms within the attention module under these names; attn_norm is the one before it.
  for (const std::string_view inner : {"attn_q", "attn_k", "attn_sub"}) {
    if (c.substr(0, inner.size()) == inner) return true;
  }
  return (has(c, "ttn") || has(c, "ttention")) && !is_norm(c) && c.substr(0, 3) != "hc_";
}

[[nodiscard]] constexpr bool is_side_model(std::string_view c) noexcept {
  for (const std::string_view prefix : {"vision", "visual", "audio", "speech", "mtp"}) {
    if (c.substr(0, prefix.size()) == prefix) return true;
  }
  for (const std::string_view whole : {"vpm", "apm", "tts", "talker", "code2wav", "token2wav", "v", "a", "mm"}) {
    if (c == whole) return true;
  }
  return false;
}

}  // namespace detail

/// The matrix from hidden states to the vocabulary, as Hugging Face, Mistral and GGUF name it: it goes with the last
/// layer, where all else without a layer goes with the first.
[[nodiscard]] constexpr bool is_output_head(std::string_view name) noexcept {
  return detail::any_component(name, [](std::string_view c, std::string_view previous) {
    return c == "lm_head" || c == "embed_out" || (c == "output" && previous.empty());
  });
}

[[nodiscard]] constexpr tensor_group group_of(std::string_view name) noexcept {
  using namespace detail;
  const auto norm = [](std::string_view c, std::string_view) { return is_norm(c); };
  if (any_component(name, is_expert)) return any_component(name, norm) ? tensor_group::rest : tensor_group::experts;
  if (any_component(name, [](std::string_view c, std::string_view) { return is_attention(c); })) {
    return tensor_group::attention;
  }
  if (any_component(name, norm)) return tensor_group::rest;
  const auto embedding = [](std::string_view c, std::string_view previous) {
    return has(c, "embed") || has(c, "embd") || c == "wte" || c == "wpe" || c == "token_types" ||
           (c == "shared" && previous.empty()) || c.substr(0, 11) == "shared_head";
  };
  return is_output_head(name) || any_component(name, embedding) ? tensor_group::embedding : tensor_group::rest;
}

/// The number of the layer that a tensor belongs to: model.layers.7…, transformer.h.7…, blk.7…. Nothing for tensors
/// outside the layers, and for those of towers and heads beside the language model (vision, audio, mtp), whose layers
/// count from 0 again. Encoder and decoder of one model both count from 0.
[[nodiscard]] constexpr std::optional<std::uint32_t> layer_of(std::string_view name) noexcept {
  std::optional<std::uint32_t> layer;
  const bool found = detail::any_component(name, [&](std::string_view c, std::string_view previous) {
    if (detail::is_side_model(c)) return true;
    bool list = false;
    for (const std::string_view word : {"layers", "layer", "h", "blocks", "block", "blk"}) {
      list = list || word == previous;
    }
    if (!list || c.empty() || c.size() > 6) return false;
    std::uint32_t number = 0;
    for (const char digit : c) {
      if (digit < '0' || digit > '9') return false;
      number = number * 10 + static_cast<std::uint32_t>(digit - '0');
    }
    layer = number;
    return true;
  });
  return found ? layer : std::nullopt;
}

namespace detail {

/// Puts files together. Every name may occur once.
class weights_builder {
 public:
  void add(std::string file, std::vector<weight_tensor> tensors) {
    const std::size_t index = result_.files.size();
    result_.files.push_back(std::move(file));
    if (result_.tensors.empty()) result_.tensors.swap(tensors);
    else
      result_.tensors.insert(result_.tensors.end(), std::make_move_iterator(tensors.begin()),
                             std::make_move_iterator(tensors.end()));
    for (std::size_t i = by_name_.size(); i < result_.tensors.size(); ++i) {
      weight_tensor& t = result_.tensors[i];
      by_name_.push_back(i);
      t.file = index;
      t.layer = layer_of(t.name);
      t.group = group_of(t.name);
      total_ += t.bytes;
      elements_ += t.elements;
      if (!total_.valid() || !elements_.valid()) {
        throw config_error({result_.files[index], t.name, ""}, "the sum of all tensors overflows", "less than 2^64");
      }
      result_.bytes_by_dtype[std::string(t.dtype)] += t.bytes;
      result_.bytes_by_group[static_cast<std::size_t>(t.group)] += t.bytes;
    }
    sorted_ = false;
  }
  /// The file of a tensor; nullptr when no file has it. Throws as finish().
  [[nodiscard]] const std::string* find(std::string_view name) {
    sort();
    const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                     [this](std::size_t i, std::string_view n) { return result_.tensors[i].name < n; });
    if (at == by_name_.end() || result_.tensors[*at].name != name) return nullptr;
    return &result_.files[result_.tensors[*at].file];
  }
  [[nodiscard]] const model_weights& so_far() const noexcept { return result_; }
  /// Throws config_error on a name that two tensors have.
  [[nodiscard]] model_weights finish() {
    sort();
    result_.total_bytes = total_.value();
    result_.parameters = elements_.value();
    return std::move(result_);
  }

 private:
  void sort() {
    if (sorted_) return;
    const auto name = [this](std::size_t i) -> const std::string& { return result_.tensors[i].name; };
    std::sort(by_name_.begin(), by_name_.end(), [&](std::size_t a, std::size_t b) {
      const int order = name(a).compare(name(b));
      return order != 0 ? order < 0 : a < b;
    });
    sorted_ = true;
    const auto at = std::adjacent_find(by_name_.begin(), by_name_.end(),
                                       [&](std::size_t a, std::size_t b) { return name(a) == name(b); });
    if (at == by_name_.end()) return;
    const weight_tensor& first = result_.tensors[*at];
    const weight_tensor& second = result_.tensors[*(at + 1)];
    throw config_error({result_.files[second.file], second.name, ""},
                       first.file == second.file ? "declared twice" : "also in " + result_.files[first.file],
                       "one tensor of a name");
  }

  model_weights result_;
  std::vector<std::size_t> by_name_;  ///< places of tensors
  bool sorted_ = true;
  checked_count total_;
  checked_count elements_;
};

}  // namespace detail

}  // namespace kvbudget
