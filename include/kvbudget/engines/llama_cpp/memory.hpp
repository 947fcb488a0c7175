// What llama.cpp's memory is made of: which caches there are, which layers they hold, how wide a cell is, how many
// cells there are.
//
// Source: llama.cpp 0.5.0-dev, src/llama-model.cpp (create_memory, load_tensors), src/llama-context.cpp
// (llama_init_from_model, llama_context), src/llama-kv-cache*.cpp, src/llama-memory-*.cpp.
#pragma once

#include <kvbudget/engines/llama_cpp/hparams.hpp>
#include <kvbudget/engines/llama_cpp/placement.hpp>
#include <kvbudget/engines/llama_cpp/settings.hpp>
#include <kvbudget/core/pool.hpp>

namespace kvbudget::detail::llama_cpp {

inline constexpr std::uint32_t csa_ratio = 4;    // DSV4_CSA_RATIO
inline constexpr std::uint32_t hca_ratio = 128;  // DSV4_HCA_RATIO
inline constexpr std::uint32_t cells_pad = 256;

/// Which layers a cache holds.
enum class layer_set : std::uint8_t {
  all,
  trunk,
  mtp,
  attention,
  attention_trunk,
  attention_without_ffn,
  indexed_trunk,
  indexed_attention_trunk,
  after_dense_lead,
  csa,
  hca
};
/// Of these, which by their window.
enum class window_part : std::uint8_t { any, dense, sliding };
/// How many cells it has.
enum class cell_rule : std::uint8_t { context, window, csa, hca };
/// What one cell holds.
enum class row_rule : std::uint8_t { heads, index_keys, index_keys_pooled };

struct cache_shape {
  const char* name = "";
  layer_set set = layer_set::all;
  window_part part = window_part::any;
  cell_rule cells = cell_rule::context;
  row_rule row = row_rule::heads;
  bool k_only = false;
};

[[nodiscard]] constexpr bool contains(layer_set set, const hparams& h, std::uint32_t il) noexcept {
  const layer_facts& l = h.layers[il];
  const bool in_trunk = il < h.n_layer();
  switch (set) {
    case layer_set::all: return true;
    case layer_set::trunk: return in_trunk;
    case layer_set::mtp: return !in_trunk;
    case layer_set::attention: return !l.recurrent || h.architecture->recurrent == recurrent_rule::every_layer_is_both;
    case layer_set::attention_trunk: return in_trunk && !l.recurrent;
    case layer_set::attention_without_ffn: return !l.recurrent && !l.has_ffn;
    case layer_set::indexed_trunk: return in_trunk && l.indexer;
    case layer_set::indexed_attention_trunk: return in_trunk && l.indexer && !l.recurrent;
    case layer_set::after_dense_lead: return il >= h.n_layer_dense_lead;
    case layer_set::csa: return l.compress_ratio == csa_ratio;
    case layer_set::hca: return l.compress_ratio == hca_ratio;
  }
  return false;
}
[[nodiscard]] constexpr bool contains(const cache_shape& c, const hparams& h, std::uint32_t il) noexcept {
  if (il >= h.n_layer_kv) return false;
  if (c.part != window_part::any && h.layers[il].slides != (c.part == window_part::sliding)) return false;
  return contains(c.set, h, il);
}

/// Elements of the K and V rows of one layer.
struct row_elements {
  checked_count k;
  checked_count v;
};

/// llama_hparams::n_embd_k_gqa and n_embd_v_gqa; V as wide as the widest layer's where it is kept transposed.
[[nodiscard]] constexpr row_elements row_of(const cache_shape& c, const hparams& h, std::uint32_t il,
                                            checked_count widest_v) noexcept {
  const layer_facts& l = h.layers[il];
  row_elements r;
  if (c.row == row_rule::heads) {
    r.k = checked_count(l.head_count_kv) * h.n_embd_head_k(il);
    r.v = widest_v == checked_count(0U) ? checked_count(l.head_count_kv) * h.n_embd_head_v(il) : widest_v;
  } else {
    // The engine replaces the width of dense layers only.
    const bool replaced = !l.slides || h.architecture->memory == memory_kind::dsv4;
    r.k = checked_count(replaced ? h.indexer_head_size : h.n_embd_head_k_swa) *
          (c.row == row_rule::index_keys_pooled && h.indexer_kpool > 0 ? 3U : 1U);
    r.v = h.n_embd_head_v(il);
  }
  if (c.k_only) r.v = 0U;
  return r;
}

/// llama_context: the setting, where the architecture's graph can.
[[nodiscard]] constexpr bool may_use_flash_attention(const hparams& h, const settings& s) noexcept {
  return s.flash_attn != flash_attention::off && h.architecture->flash_attn;
}
/// Elements of V's row where V is kept transposed; 0 where each layer has its own.
[[nodiscard]] constexpr checked_count widest_v_row(const hparams& h, const settings& s) noexcept {
  checked_count widest = 0U;
  if (may_use_flash_attention(h, s) || h.is_mla) return widest;
  for (std::uint32_t il = 0; il < h.n_layer_all; ++il) {
    widest = larger(widest, checked_count(h.layers[il].head_count_kv) * h.n_embd_head_v(il));
  }
  return widest;
}

/// The caches of llama_model::create_memory, in the order of creation.
struct memory_shape {
  fixed_vector<cache_shape, 6> caches;
  bool recurrent = false;
  bool states_of_mtp_context = false;  ///< the module exists, and holds no layer
  bool compressors = false;
  bool stream_per_sequence = false;  ///< kv_unified does not join the streams
};

/// A cache of the whole context, and one of index keys beside it.
[[nodiscard]] constexpr cache_shape whole_cache(const hparams& h, layer_set set) noexcept {
  return {"main", set, window_part::any, cell_rule::context, row_rule::heads, h.is_mla};
}
[[nodiscard]] constexpr cache_shape index_cache(const hparams& h, layer_set set) noexcept {
  return {"indexer", set, window_part::any, cell_rule::context, row_rule::index_keys, h.is_mla};
}

constexpr void add_attention(memory_shape& m, const hparams& h, layer_set set) noexcept {
  if (!h.has_window) {
    m.caches.push_back(whole_cache(h, set));
    return;
  }
  m.caches.push_back({"base", set, window_part::dense, cell_rule::context, row_rule::heads, h.is_mla});
  m.caches.push_back({"swa", set, window_part::sliding, cell_rule::window, row_rule::heads, h.is_mla});
}

constexpr void add_hybrid(memory_shape& m, const hparams& h, bool mtp) noexcept {
  const architecture& a = *h.architecture;
  if (mtp && a.mtp_context_is_attention) return add_attention(m, h, layer_set::mtp);
  const layer_set set = a.recurrent == recurrent_rule::no_kv_heads_no_ffn ? layer_set::attention_without_ffn
                        : a.recurrent_in_trunk_only                       ? layer_set::attention_trunk
                                                                          : layer_set::attention;
  add_attention(m, h, set);
  m.recurrent = true;
}

constexpr void add_hybrid_idx(memory_shape& m, const hparams& h, bool mtp) noexcept {
  const bool draft_head = mtp && h.architecture->indexer == indexer_rule::all_or_file;  // glm5-next
  m.caches.push_back(whole_cache(h, draft_head ? layer_set::mtp : layer_set::attention_trunk));
  m.recurrent = true;
  m.states_of_mtp_context = draft_head;
  if (h.indexer_head_size == 0) return;
  m.caches.push_back({"indexer", draft_head ? layer_set::mtp : layer_set::indexed_attention_trunk, window_part::any,
                      cell_rule::context, row_rule::index_keys_pooled, true});
}

constexpr void add_dsa(memory_shape& m, const hparams& h, layer_set plain, bool mtp) noexcept {
  const bool unseen =
      h.architecture->indexer == indexer_rule::none_or_file;  // hy_v4 does not look at prediction layers
  m.caches.push_back(whole_cache(h, unseen ? layer_set::all : plain));
  const bool indexed = unseen ? h.indexer_top_k > 0 : !mtp;
  if (indexed) m.caches.push_back(index_cache(h, layer_set::indexed_trunk));
}

constexpr void add_dsa_iswa(memory_shape& m, const hparams& h, layer_set plain, bool mtp) noexcept {
  if (mtp) {
    m.caches.push_back(whole_cache(h, plain));
    return;
  }
  m.caches.push_back({"main", layer_set::trunk, window_part::dense, cell_rule::context, row_rule::heads, h.is_mla});
  m.caches.push_back(index_cache(h, layer_set::indexed_trunk));
  m.caches.push_back({"swa", layer_set::trunk, window_part::sliding, cell_rule::window, row_rule::heads, h.is_mla});
}

inline constexpr cache_shape dsv4_caches[] = {
    {"base", layer_set::all, window_part::dense, cell_rule::context, row_rule::heads, true},
    {"swa", layer_set::all, window_part::sliding, cell_rule::window, row_rule::heads, true},
    {"csa", layer_set::csa, window_part::any, cell_rule::csa, row_rule::heads, true},
    {"hca", layer_set::hca, window_part::any, cell_rule::hca, row_rule::heads, true},
    {"lid", layer_set::csa, window_part::any, cell_rule::csa, row_rule::index_keys, true}};

constexpr void add_dsv4(memory_shape& m, const hparams& h, bool mtp) noexcept {
  if (mtp) return add_attention(m, h, layer_set::mtp);
  for (const cache_shape& c : dsv4_caches) m.caches.push_back(c);
  m.compressors = true;
  m.stream_per_sequence = true;
}

[[nodiscard]] constexpr memory_shape memory_of(const hparams& h, const settings& s) noexcept {
  memory_shape m;
  const bool mtp = s.ctx_type == context_type::mtp && h.n_layer_nextn > 0;
  // Prediction layers stay out of the ordinary context, unless there is nothing else.
  const bool separate_mtp = h.n_layer_nextn > 0 && h.n_layer() > 0 && !h.router_layer;
  const layer_set plain = !separate_mtp ? layer_set::all : mtp ? layer_set::mtp : layer_set::trunk;
  switch (h.architecture->memory) {
    case memory_kind::none: break;
    case memory_kind::attention: add_attention(m, h, h.draft_of_dsv4 ? layer_set::all : plain); break;
    case memory_kind::recurrent: m.recurrent = true; break;
    case memory_kind::hybrid: add_hybrid(m, h, mtp); break;
    case memory_kind::hybrid_idx: add_hybrid_idx(m, h, mtp); break;
    case memory_kind::dsa: add_dsa(m, h, plain, mtp); break;
    case memory_kind::dsa_iswa: add_dsa_iswa(m, h, plain, mtp); break;
    case memory_kind::msa:
      m.caches.push_back(whole_cache(h, layer_set::all));
      m.caches.push_back(index_cache(h, layer_set::after_dense_lead));
      break;
    case memory_kind::dsv4: add_dsv4(m, h, mtp); break;
  }
  return m;
}

[[nodiscard]] constexpr bool is_stateful(const hparams& h, std::uint32_t il) noexcept {
  const layer_facts& l = h.layers[il];
  return il < h.n_layer() && l.recurrent &&
         (h.architecture->recurrent != recurrent_rule::no_kv_heads_no_ffn || !l.has_ffn);
}

/// The three compressors of a DeepSeek-V4 layer (llama_kv_cache_dsv4).
struct compressor_shape {
  const char* kind;
  const char* name;  ///< of its pools, which are no caches
  layer_set set;
  std::uint32_t ratio;
  std::uint32_t rows;
  checked_count row_elements;
};
struct compressor_shapes {
  compressor_shape all[3];
};
[[nodiscard]] constexpr compressor_shapes compressors_of(const hparams& h) noexcept {
  const checked_count head = h.n_layer_all > 0 ? h.n_embd_head_k(0) : 0U;
  return {{{"csa", "csa_state", layer_set::csa, csa_ratio, 2 * csa_ratio, checked_count(2U) * head},
           {"hca", "hca_state", layer_set::hca, hca_ratio, hca_ratio, head},
           {"lid", "lid_state", layer_set::csa, csa_ratio, 2 * csa_ratio, checked_count(2U) * h.indexer_head_size}}};
}

/// The numbers of llama_context's constructor. Counts are kept in 64 bits: the engine's 32 would wrap.
struct context_numbers {
  checked_count n_ctx;
  checked_count n_ctx_seq;
  std::uint64_t n_batch = 0;
  std::uint64_t n_ubatch = 0;
  std::uint64_t n_outputs_max = 0;  ///< of a batch
  std::uint32_t n_seq_max = 1;
  std::uint32_t n_rs_seq = 0;

  [[nodiscard]] constexpr checked_count cells(cell_rule rule, const hparams& h, const settings& s) const noexcept {
    switch (rule) {
      case cell_rule::context: return n_ctx_seq;
      case cell_rule::window: {
        if (s.swa_full) return n_ctx_seq;
        const bool joined = s.kv_unified && h.architecture->memory != memory_kind::dsv4;
        const checked_count window = checked_count(h.n_swa) * (joined ? n_seq_max : 1U) + n_ubatch;
        return round_up(smaller(n_ctx_seq, window), cells_pad);
      }
      case cell_rule::csa: return round_up(div_ceil(n_ctx_seq, csa_ratio), cells_pad);
      case cell_rule::hca: return round_up(div_ceil(n_ctx_seq, hca_ratio), cells_pad);
    }
    return 0U;
  }
};

[[nodiscard]] constexpr context_numbers context_of(const hparams& h, const settings& s) noexcept {
  context_numbers c;
  c.n_seq_max = s.n_seq_max == 0 ? 1U : s.n_seq_max;
  c.n_rs_seq = h.architecture->rs_rollback ? s.n_rs_seq : 0U;
  const std::uint64_t asked = s.n_ctx == 0 ? h.n_ctx_train : s.n_ctx;
  // Batches are limited by the context before it is padded.
  c.n_batch = h.causal_attn && asked < s.n_batch ? asked : s.n_batch;
  c.n_ubatch = s.n_ubatch == 0 ? s.n_batch : s.n_ubatch;
  if (c.n_batch < c.n_ubatch) c.n_ubatch = c.n_batch;
  c.n_outputs_max = c.n_batch;
  if (s.one_output_per_sequence && !h.architecture->has_encoder) {
    c.n_outputs_max = s.n_batch < c.n_seq_max ? s.n_batch : c.n_seq_max;
    if (c.n_outputs_max == 0) c.n_outputs_max = 1;
  }
  c.n_ctx = round_up(asked, cells_pad);
  c.n_ctx_seq = c.n_ctx;
  if (!s.kv_unified) {
    c.n_ctx_seq = round_up(c.n_ctx / c.n_seq_max, cells_pad);
    c.n_ctx = c.n_ctx_seq * c.n_seq_max;
  }
  if (!c.n_ctx.fits(~std::uint32_t{0})) c.n_ctx = c.n_ctx_seq = checked_count::failed(failure::overflow);
  return c;
}

/// Bytes of one cell or state on each device: what does not depend on n_ctx.
struct unit_sums {
  checked_count k[max_devices + 1];
  checked_count v[max_devices + 1];
  std::uint32_t layers = 0;
  std::uint32_t bad_row = 0;  ///< elements of a row that is no whole number of blocks
  std::uint32_t bad_block = 0;
};

constexpr void note_bad_row(unit_sums& u, checked_count row, storage_type t) noexcept {
  const checked_count rest = row % t.block_elements;
  if (rest.value_or(0) == 0) return;
  u.bad_row = static_cast<std::uint32_t>(row.value_or(0));
  u.bad_block = t.block_elements;
}

[[nodiscard]] constexpr unit_sums sums_of(const cache_shape& c, const hparams& h, const settings& s,
                                          const layer_devices& where, checked_count widest_v) noexcept {
  unit_sums u;
  checked_count last_heads = checked_count::failed(failure::overflow);
  bool last_slides = false;
  checked_count k_bytes;
  checked_count v_bytes;
  for (std::uint32_t il = 0; il < h.n_layer_all; ++il) {
    if (!contains(c, h, il)) continue;
    ++u.layers;
    const layer_facts& l = h.layers[il];
    if (!(last_heads == checked_count(l.head_count_kv)) || last_slides != l.slides) {  // most layers are alike
      const row_elements row = row_of(c, h, il, widest_v);
      k_bytes = s.type_k.row_bytes(row.k);
      v_bytes = s.type_v.row_bytes(row.v);
      if (k_bytes.reason() == failure::partial_block) note_bad_row(u, row.k, s.type_k);
      if (v_bytes.reason() == failure::partial_block) note_bad_row(u, row.v, s.type_v);
      last_heads = l.head_count_kv;
      last_slides = l.slides;
    }
    const std::uint32_t device = where.device_of(il);
    u.k[device] += k_bytes;
    u.v[device] += v_bytes;
  }
  return u;
}

}  // namespace kvbudget::detail::llama_cpp
