// The settings that mlx-lm's options and the common question make.
#pragma once

#include <kvbudget/config/engine_version.hpp>
#include <kvbudget/config/stated_dtype.hpp>
#include <kvbudget/engine/options.hpp>
#include <kvbudget/engines/mlx_lm/options.hpp>
#include <kvbudget/engines/mlx_lm/rules.hpp>
#include <kvbudget/input/spelling.hpp>

namespace kvbudget::detail::mlx_lm {

inline constexpr config::engine_version known_version{0, 32, 2};

struct settings {
  config::engine_version version = known_version;
  std::optional<storage_type> dtype;  ///< of the model, and with it of the cache
  std::uint64_t prompt_tokens = 0;
  std::uint64_t max_tokens = 0;
  std::uint64_t batch = 1;
  std::uint64_t prefill_step_size = 2048;
  std::optional<std::uint64_t> max_kv_size;
  quantization quantized;
  bool asked = false;  ///< for a length, be it 0
  std::vector<std::string> notes;
};

inline void read_version(const kvbudget::detail::option_reader& in, settings& s) {
  const auto version = in.text("version");
  if (!version) return;
  if (config::engine_version::parse(*version) == known_version) return;
  s.notes.push_back("mlx-lm " + *version + " is not the known version; answered as " + known_version.text());
}

/// Keys and values have the type of the activations, which is that of the weights.
inline void read_dtype(const kvbudget::detail::option_reader& in, const cache_types& asked, settings& s) {
  if (asked.k != asked.v) {
    throw usage_error({"", "k-dtype", asked.k ? name_of(*asked.k) : ""}, "mlx-lm keeps K and V in one element type",
                      "kv-dtype");
  }
  std::optional<storage_type> own;
  if (const auto name = in.text("dtype"); name && (*name != "auto" || asked.k)) {
    own = find_storage_type(*name);
    if (asked.k && own != asked.k) in.contradict("dtype", config::shown(name_of(*asked.k)), "kv-dtype");
    own = parse_storage_type(*name, "dtype");
  }
  s.dtype = own ? own : asked.k;
  if (s.dtype && std::find(std::begin(config::torch_types), std::end(config::torch_types), name_of(*s.dtype)) ==
                     std::end(config::torch_types)) {
    in.fail("dtype", config::json(name_of(*s.dtype)), "not an element type of a model; a quantized cache has kv_bits",
            config::torch_types_text);
  }
}

/// One array for the whole batch: sequences of different lengths are padded to the longest.
inline void read_workload(const kvbudget::detail::option_reader& in, const std::optional<workload>& asked,
                          settings& s) {
  std::optional<std::uint64_t> prompt, generated, sequences;
  if (asked) {
    prompt = asked->prompt;
    generated = asked->generated;
    sequences = asked->sequences;
    if (!asked->lengths.empty()) {
      prompt = *std::max_element(asked->lengths.begin(), asked->lengths.end());
      generated = 0;
      sequences = asked->lengths.size();
    }
  }
  s.asked = asked || in.has("prompt_tokens") || in.has("max_tokens");
  s.prompt_tokens = in.agreed("prompt_tokens", in.count("prompt_tokens"), prompt, "prompt").value_or(0);
  s.max_tokens = in.agreed("max_tokens", in.count("max_tokens"), generated, "generate").value_or(0);
  s.batch = in.agreed("batch", in.count("batch"), sequences, "sequences").value_or(1);
}

/// mx.quantize has these bits and group sizes.
inline void read_quantization(const kvbudget::detail::option_reader& in, settings& s) {
  const auto bits = in.count("kv_bits");
  const auto group = in.count("kv_group_size");
  if (bits == 7U) in.fail("kv_bits", "not a number of bits that mx.quantize has", "2, 3, 4, 5, 6 or 8");
  if (group && *group != 32 && *group != 64 && *group != 128) {
    in.fail("kv_group_size", "not a group size that mx.quantize has", "32, 64 or 128");
  }
  s.quantized.bits = static_cast<std::uint32_t>(bits.value_or(0));
  s.quantized.group_size = static_cast<std::uint32_t>(group.value_or(64));
  s.quantized.start = in.count("quantized_kv_start").value_or(5000);
  if (bits) return;
  for (const std::string_view option : {"kv_group_size", "quantized_kv_start"}) {
    if (in.has(option)) s.notes.push_back(std::string(option) + " is for kv_bits and changes nothing here");
  }
}

inline void refuse_placement(const placement& asked) {
  const auto refuse = [](const char* option, const char* expected) {
    throw usage_error({"", option, ""}, "not computed for mlx-lm", expected);
  };
  if (asked.tensor_parallel > 1) refuse("tensor-parallel", "one device");
  if (asked.pipeline_parallel > 1) refuse("pipeline-parallel", "one device");
  if (asked.context_parallel > 1) refuse("context-parallel", "one device");
  if (asked.data_parallel > 1) refuse("data-parallel", "one plan for each process");
  if (asked.host_layers > 0) refuse("host-layers", "one memory, which the processor and the device share");
}

/// Throws usage_error for unknown options and values, and for options that contradict the question.
[[nodiscard]] inline settings read_settings(const engine_question& q) {
  const kvbudget::detail::option_reader in(option_rows, q.options);
  settings s;
  read_version(in, s);
  read_dtype(in, q.types, s);
  read_workload(in, q.work, s);
  s.prefill_step_size = in.count("prefill_step_size").value_or(2048);
  s.max_kv_size = in.count("max_kv_size");
  read_quantization(in, s);
  refuse_placement(q.where);
  return s;
}

}  // namespace kvbudget::detail::mlx_lm
