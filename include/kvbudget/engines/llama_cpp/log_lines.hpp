// The lines that llama.cpp prints about its memory.
//
// Source: llama.cpp 0.5.0-dev, src/llama-context.cpp, src/llama-kv-cache*.cpp, src/llama-memory-*.cpp.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <kvbudget/engines/llama_cpp/cache_types.hpp>
#include <kvbudget/engines/llama_cpp/rules.hpp>

namespace kvbudget::detail::llama_cpp {

/// "GPU0", "GPU1" …, "CPU".
[[nodiscard]] inline std::string device_name(const context_plan& p, std::uint32_t device) {
  return device == p.cpu ? "CPU" : "GPU" + std::to_string(device);
}

/// printf with "%7.2f" of a number of MiB, computed in float as the engine does.
[[nodiscard]] inline std::string mib(std::uint64_t bytes, int width) {
  char text[64];
  std::snprintf(text, sizeof text, "%*.2f", width,
                static_cast<double>(static_cast<float>(bytes) / (1024.0F * 1024.0F)));
  return text;
}
/// The same in double, as buffer lines are printed.
[[nodiscard]] inline std::string buffer_mib(std::uint64_t bytes) {
  char text[64];
  std::snprintf(text, sizeof text, "%8.2f", static_cast<double>(bytes) / 1024.0 / 1024.0);
  return text;
}
[[nodiscard]] inline std::string right_aligned(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// Bytes per device of the pools of one name, the CPU first: the engine sorts by buffer name.
inline void add_buffer_lines(std::vector<std::string>& lines, const context_plan& p, std::string_view pool_name,
                             const std::string& prefix, const std::string& what) {
  for (std::uint32_t i = 0; i <= p.cpu; ++i) {
    const std::uint32_t d = i == 0 ? p.cpu : i - 1;
    for (const pool& b : p.pools) {
      if (b.device != d || pool_name != b.name) continue;
      lines.push_back(prefix + ": " + right_aligned(device_name(p, d), 10) + what + buffer_mib(b.size().count()) +
                      " MiB");
    }
  }
}

[[nodiscard]] inline flash_attention flash_in_force(const hparams& h, const settings& s) {
  const flash_attention flash = h.architecture->flash_attn ? s.flash_attn : flash_attention::off;
  return flash == flash_attention::automatic && is_quantized(s.type_v) ? flash_attention::on : flash;
}

[[nodiscard]] inline std::string number(std::uint64_t n, std::size_t width) {
  return right_aligned(std::to_string(n), width);
}

/// llama_context's own numbers.
inline void add_context_lines(std::vector<std::string>& lines, const hparams& h, const settings& s,
                              const context_plan& p) {
  const std::string flash_names[] = {"auto", "enabled", "disabled"};
  const std::string context = "llama_context: ";
  if (!s.kv_unified && p.n_ctx != round_up(s.n_ctx == 0 ? h.n_ctx_train : s.n_ctx, cells_pad).value()) {
    lines.push_back(context + "n_ctx is not divisible by n_seq_max - rounding down to " + std::to_string(p.n_ctx));
  }
  lines.push_back(context + "n_seq_max             = " + std::to_string(p.n_seq_max));
  lines.push_back(context + "n_ctx                 = " + std::to_string(p.n_ctx));
  lines.push_back(context + "n_ctx_seq             = " + std::to_string(p.n_ctx_seq));
  lines.push_back(context + "n_batch               = " + std::to_string(p.n_batch));
  lines.push_back(context + "n_ubatch              = " + std::to_string(p.n_ubatch));
  lines.push_back(context + "causal_attn           = " + std::to_string(h.causal_attn ? 1 : 0));
  lines.push_back(context + "flash_attn            = " + flash_names[static_cast<std::size_t>(flash_in_force(h, s))]);
  lines.push_back(context + "kv_unified            = " + std::string(s.kv_unified ? "true" : "false"));
  lines.push_back(context + "n_rs_seq              = " + std::to_string(p.n_rs_seq));
  const std::string trained = " n_ctx_train (" + std::to_string(h.n_ctx_train) + ") -- ";
  const std::string length = context + "n_ctx_seq (" + std::to_string(p.n_ctx_seq) + ")";
  if (p.n_ctx_seq < h.n_ctx_train) {
    lines.push_back(length + " <" + trained + "the full capacity of the model will not be utilized");
  } else if (p.n_ctx_seq > h.n_ctx_train) {
    lines.push_back(length + " >" + trained + "possible training context overflow");
  }
}

/// How many cells a line about a new cache says that it has: before they are padded where keys are compressed.
enum class printed_cells : std::uint8_t { none, of_cache, csa, hca };

/// A line that the engine prints before it creates a cache; where `may_be_full`, behind the one about swa_full.
struct creation_line {
  memory_kind memory;
  std::string_view cache;
  std::string_view who;
  std::string_view what;
  printed_cells cells = printed_cells::of_cache;
  bool may_be_full = false;
};
inline constexpr creation_line creation_lines[] = {
    {memory_kind::dsv4, "base", "llama_kv_cache_dsv4", "DSV4 raw KV cache", printed_cells::none},
    {memory_kind::dsv4, "csa", "llama_kv_cache_dsv4", "DSV4 CSA compressed KV cache", printed_cells::csa},
    {memory_kind::dsv4, "hca", "llama_kv_cache_dsv4", "DSV4 HCA compressed KV cache", printed_cells::hca},
    {memory_kind::dsv4, "lid", "llama_kv_cache_dsv4", "DSV4 lightning-indexer KV cache", printed_cells::csa},
    {memory_kind::dsa_iswa, "main", "llama_kv_cache_dsa_iswa", "DSA KV cache", printed_cells::of_cache, true},
    {memory_kind::dsa_iswa, "main", "llama_kv_cache_dsa", "main KV cache"},
    {memory_kind::dsa_iswa, "indexer", "llama_kv_cache_dsa", "indexer KV cache"},
    {memory_kind::dsa_iswa, "swa", "llama_kv_cache_dsa_iswa", "SWA KV cache"},
    {memory_kind::dsa, "main", "llama_kv_cache_dsa", "main KV cache"},
    {memory_kind::dsa, "indexer", "llama_kv_cache_dsa", "indexer KV cache"},
    {memory_kind::msa, "main", "llama_kv_cache_msa", "main KV cache"},
    {memory_kind::msa, "indexer", "llama_kv_cache_msa", "indexer KV cache"},
    {memory_kind::hybrid_idx, "indexer", "operator()", "indexer KV cache"},  // from within a lambda
    // llama_kv_cache_iswa, whatever it is a part of
    {memory_kind::attention, "base", "llama_kv_cache_iswa", "non-SWA KV cache", printed_cells::of_cache, true},
    {memory_kind::attention, "swa", "llama_kv_cache_iswa", "    SWA KV cache"},
};

[[nodiscard]] inline std::string size_of_creation(printed_cells cells, const context_plan& p, const cache_plan& c) {
  if (cells == printed_cells::none) return "";
  std::uint64_t n = c.cells;
  if (cells == printed_cells::csa) n = div_ceil(p.n_ctx_seq, csa_ratio).value();
  if (cells == printed_cells::hca) n = div_ceil(p.n_ctx_seq, hca_ratio).value();
  return ", size = " + std::to_string(n) + " cells";
}

/// What the engine says before it creates a cache: the class that creates it, and its number of cells.
inline void add_creation_lines(std::vector<std::string>& lines, const hparams& h, const settings& s,
                               const context_plan& p, const cache_plan& c) {
  const memory_kind memory = h.architecture->memory;
  // The context of prediction layers has one plain cache, of which the wrapping classes say nothing.
  const bool index_cache = p.caches.size() > 1 && std::string_view(p.caches[1].name) == "indexer";
  const bool wrapped = index_cache || !p.compressors.empty();
  for (const creation_line& line : creation_lines) {
    const bool own = line.memory == memory && wrapped;
    const bool plain = line.memory == memory_kind::attention && memory != memory_kind::dsa_iswa;
    if (line.cache != c.name || !(own || plain)) continue;
    const std::string who(line.who);
    if (line.may_be_full && s.swa_full) {
      lines.push_back(who +
                      ": using full-size SWA cache (ref: https://github.com/ggml-org/llama.cpp/"
                      "pull/13194#issuecomment-2868343055)");
    }
    lines.push_back(who + ": creating " + std::string(line.what) + size_of_creation(line.cells, p, c));
  }
}

/// Without flash attention V is kept transposed, as wide as the widest layer's.
inline void add_padding_line(std::vector<std::string>& lines, const hparams& h, const settings& s,
                             const cache_plan& c) {
  if (flash_in_force(h, s) != flash_attention::off || std::string_view(c.name) == "lid") return;
  const bool index_keys = std::string_view(c.name) == "indexer";  // one head in each layer
  std::uint64_t widest = 0;
  bool differ = false;
  const auto width = [&](std::uint32_t il) {
    return std::uint64_t{index_keys ? 1U : h.layers[il].head_count_kv} * h.n_embd_head_v(il);
  };
  for (std::uint32_t il = 0; il < h.n_layer_all; ++il) {
    widest = std::max(widest, width(il));
    differ = differ || width(il) != width(0);
  }
  if (!differ) return;
  lines.push_back(
      "llama_kv_cache: the V embeddings have different sizes across layers and FA is not enabled - padding "
      "V cache to " +
      std::to_string(widest));
}

inline void add_cache_lines(std::vector<std::string>& lines, const hparams& h, const settings& s, const context_plan& p,
                            const cache_plan& c) {
  add_creation_lines(lines, h, s, p, c);
  add_padding_line(lines, h, s, c);
  add_buffer_lines(lines, p, c.name, "llama_kv_cache", " KV buffer size = ");
  lines.push_back("llama_kv_cache: size = " + mib(c.k_bytes + c.v_bytes, 7) + " MiB (" + number(c.cells, 6) +
                  " cells, " + number(c.layers, 3) + " layers, " + number(p.n_seq_max, 2) + "/" +
                  std::to_string(c.n_stream) + " seqs), K (" + type_name(s.type_k) + "): " + mib(c.k_bytes, 7) +
                  " MiB, V (" + type_name(s.type_v) + "): " + mib(c.v_bytes, 7) + " MiB");
}

inline void add_compressor_lines(std::vector<std::string>& lines, const context_plan& p, const compressor_plan& c) {
  const std::string who = "llama_dsv4_comp_state";
  const std::string_view kind = c.kind;
  lines.push_back("llama_kv_cache_dsv4: creating DSV4 " +
                  std::string(kind == "csa"   ? "CSA"
                              : kind == "hca" ? "HCA"
                                              : "lightning-indexer") +
                  " compressor state");
  add_buffer_lines(lines, p, c.name, who, " DSV4 " + std::string(kind) + " state buffer size = ");
  lines.push_back(who + ": " + std::string(kind) + " ratio = " + std::to_string(c.ratio) +
                  ", state = " + std::to_string(c.rows) + " x " + std::to_string(c.row_elements) +
                  ", streams = " + std::to_string(p.n_seq_max) + ", rs_seq = " + std::to_string(p.n_rs_seq) +
                  ", layers = " + std::to_string(c.layers) + ", size = " + mib(c.bytes, 7) + " MiB");
}

inline void add_recurrent_lines(std::vector<std::string>& lines, const hparams& h, const context_plan& p) {
  const recurrent_plan& r = p.recurrent;
  add_buffer_lines(lines, p, "recurrent", "llama_memory_recurrent", " RS buffer size = ");
  // The number of layers in this line is the model's, not that of the layers with a state.
  lines.push_back("llama_memory_recurrent: size = " + mib(r.r_bytes + r.s_bytes + r.p_bytes, 7) + " MiB (" +
                  number(r.cells, 6) + " cells, " + number(h.n_layer(), 3) + " layers, " + number(p.n_seq_max, 2) +
                  " seqs " + number(p.n_rs_seq, 2) + " rs_seq), R (f32): " + mib(r.r_bytes, 7) +
                  " MiB, S (f32): " + mib(r.s_bytes, 7) + " MiB, P (f32): " + mib(r.p_bytes, 7) + " MiB");
}

/// The lines about memory that llama.cpp prints when it creates this context, digit by digit. Devices are named
/// GPU0 … and CPU, where the engine prints the names of its buffers. None when the engine refuses.
[[nodiscard]] inline std::vector<std::string> log_lines(const hparams& h, const settings& s, const context_plan& p) {
  std::vector<std::string> lines;
  if (p.refused) return lines;
  add_context_lines(lines, h, s, p);
  // A hybrid creates its index cache after the states, all others in the order of the plan.
  const auto is_late = [&](const cache_plan& c) { return p.recurrent.exists && std::string_view(c.name) == "indexer"; };
  for (const cache_plan& c : p.caches) {
    if (!is_late(c)) add_cache_lines(lines, h, s, p, c);
  }
  for (const compressor_plan& c : p.compressors) add_compressor_lines(lines, p, c);
  if (p.recurrent.exists) add_recurrent_lines(lines, h, p);
  for (const cache_plan& c : p.caches) {
    if (is_late(c)) add_cache_lines(lines, h, s, p, c);
  }
  return lines;
}

}  // namespace kvbudget::detail::llama_cpp
