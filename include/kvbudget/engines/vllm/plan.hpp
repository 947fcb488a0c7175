// The whole start-up decision: settings with vLLM's defaults, specs of all layers, groups, blocks, and whether a
// request fits.
//
// Sources: v1/engine/core.py (_initialize_kv_caches), engine/arg_utils.py, config/vllm.py, config/model.py,
// v1/core/kv_cache_utils.py.
#pragma once

#include <kvbudget/engines/vllm/block_size.hpp>
#include <kvbudget/engines/vllm/groups.hpp>

namespace kvbudget::vllm {

/// Settings in force: what was given, else the default for this model and device.
struct resolved_settings {
  vllm::cache_dtype cache_dtype = cache_dtype::automatic;
  std::uint64_t max_model_len = 0;  ///< before it is fitted to the memory
  std::uint64_t max_num_batched_tokens = 0;
  std::uint64_t max_num_seqs = 0;
  std::uint64_t max_in_flight_tokens = 0;
  std::uint64_t max_num_encoder_input_tokens = 0;
  bool enable_prefix_caching = true;
  bool enable_chunked_prefill = true;
  bool async_scheduling = true;
  bool mamba_align = false;                       ///< mamba_cache_mode "align", else "none"
  std::uint64_t block_size = default_block_size;  ///< before groups are unified
  std::uint64_t mamba_block_size = 0;
  std::uint64_t mamba_page_size_padded = 0;
  std::uint64_t skip_page_size_padded = 0;
  kv_cache_layout layout = kv_cache_layout::lbnhc;
  distinct_backends backends;
};

/// One pipeline stage; every rank of it is alike.
struct stage_plan {
  std::uint64_t bytes_per_block = 0;
  std::uint64_t request_bytes = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t usable_bytes = 0;             ///< without the null block
  std::uint64_t admission_block_bytes = 0;    ///< what one block of a request counts in the check
  std::uint64_t estimated_max_model_len = 0;  ///< where a request does not fit
  bool fits = true;
};

struct cache_plan {
  refusal reason = refusal::none;
  resolved_settings resolved;
  kv_cache_groups groups;
  fixed_vector<stage_plan, max_pipeline_stages> stages;
  admission_limits limits;
  fit_check check = fit_check::all_groups;
  std::uint64_t max_model_len = 0;
  bool auto_fitted = false;                   ///< max_model_len was reduced to what fits
  std::uint64_t estimated_max_model_len = 0;  ///< of the tightest stage, where a request does not fit
  std::uint64_t blocks_per_request = 0;
  bool memory_is_known = false;
  std::uint64_t num_blocks = 0;  ///< the null block included
  double max_concurrency = 0;
  std::uint64_t tokens = 0;
  std::uint64_t scheduler_block_size = 0;
  std::uint64_t hash_block_size = 0;
  std::uint64_t cache_hit_alignment = 0;  ///< prefixes are reused in multiples of this; 0: never
  std::uint64_t kv_tp_replicas = 1;
  /// Which used class a layer's class is, [1] where kv_cache_dtype_skip_layers names the layer.
  std::uint8_t used_class_of[max_layer_classes][2] = {};

  /// The group family and the spec of a layer, in `groups`; nothing where there are no groups.
  struct place {
    std::size_t family = 0;
    std::size_t spec = 0;
  };
  [[nodiscard]] constexpr std::optional<place> place_of(std::uint16_t layer_class, bool skipped,
                                                        std::uint32_t stage) const {
    const std::uint64_t origin = std::uint64_t{1} << used_class_of[layer_class][skipped ? 1 : 0];
    for (std::size_t spec = 0; spec < groups.specs.size(); ++spec) {
      if ((groups.specs[spec].origins & origin) == 0 || groups.specs[spec].per_stage[stage] == 0) continue;
      for (std::size_t family = 0; family < groups.families.size(); ++family) {
        if ((groups.families[family].specs >> spec & 1U) != 0) return place{family, spec};
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] constexpr bool has_groups() const noexcept { return !groups.families.empty(); }
};

namespace detail {

/// engine/arg_utils.py:get_batch_defaults and _set_default_max_num_seqs_and_batched_tokens_args.
constexpr void resolve_batch_size(const model& m, const settings& s, resolved_settings& r) {
  const bool server = s.usage_context == usage_context::openai_api_server;
  std::uint64_t batched_tokens = server ? 2048 : 8192;
  std::uint64_t seqs = 256;
  if (s.device.memory_gib >= 160 && s.rules().large_devices_batch_16384()) {
    batched_tokens = 16384;
    seqs = 1024;
  } else if (s.device.memory_gib >= 70 && !s.device.is_a100) {
    batched_tokens = server ? 8192 : 16384;
    seqs = 1024;
  }
  seqs = s.max_num_seqs.value_or(seqs);
  if (s.max_num_batched_tokens) {
    batched_tokens = *s.max_num_batched_tokens;
  } else {
    if (!r.enable_chunked_prefill && r.max_model_len > batched_tokens) batched_tokens = r.max_model_len;
    if (m.mm_prefix && m.largest_mm_item > batched_tokens) batched_tokens = m.largest_mm_item;
    batched_tokens = smaller(batched_tokens, checked_count(seqs) * r.max_model_len).value();
  }
  if (!s.max_num_seqs && seqs > batched_tokens) seqs = batched_tokens;
  r.max_num_batched_tokens = batched_tokens;
  r.max_num_seqs = seqs;
  r.max_num_encoder_input_tokens = batched_tokens;
}

/// config/speculative.py:use_eagle, and config/vllm.py:num_prefill_lookahead_tokens less one: what a draft of several
/// MTP modules may read again below the window.
[[nodiscard]] constexpr bool uses_eagle(speculative_method m) noexcept {
  using enum speculative_method;
  return m == eagle || m == eagle3 || m == mtp || m == dflash || m == dspark;
}
[[nodiscard]] constexpr std::uint64_t extra_retained_tokens(const settings& s) noexcept {
  if (s.speculative_method != speculative_method::mtp || !s.rules().retains_tokens_for_drafts()) return 0;
  const std::uint64_t modules = s.num_nextn_predict_layers;
  const std::uint64_t tokens = s.num_speculative_tokens;
  return (modules < tokens ? modules : tokens) > 1 ? tokens - 1 : 0;
}

/// utils/torch_utils.py:resolve_kv_cache_dtype_string and the per-architecture rules of
/// model_executor/models/config.py.
[[nodiscard]] constexpr refusal resolve_cache_dtype(const model& m, const settings& s, resolved_settings& r) noexcept {
  using enum cache_dtype;
  const release_rules rules = s.rules();
  const bool read = is_nvfp4(m.checkpoint_cache_dtype) ? rules.nvfp4_cache_type() : rules.modelopt_cache_type();
  r.cache_dtype = s.kv_cache_dtype != automatic ? s.kv_cache_dtype : read ? m.checkpoint_cache_dtype : automatic;
  if (r.cache_dtype == automatic && m.checkpoint_fp8_attention && !m.use_mla && rules.compressed_tensors_cache_type())
    r.cache_dtype = fp8;
  switch (m.dtype_rule) {
    case cache_dtype_rule::none: break;
    case cache_dtype_rule::deepseek_v32:
      if (rules.deepseek_v32_is_packed() && (r.cache_dtype == automatic || is_fp8_per_tensor(r.cache_dtype)))
        r.cache_dtype = fp8_ds_mla;
      if (r.cache_dtype == bfloat16) r.cache_dtype = automatic;
      break;
    case cache_dtype_rule::glm_moe_dsa:
      if (r.cache_dtype == automatic && s.device.major == 10) r.cache_dtype = fp8_e4m3;
      break;
    case cache_dtype_rule::deepseek_v4:
      if (r.cache_dtype != automatic && !is_fp8_per_tensor(r.cache_dtype) && r.cache_dtype != fp8_per_token_head) {
        return refusal::deepseek_v4_needs_fp8;
      }
      r.cache_dtype = fp8_ds_mla;
  }
  return is_nvfp4(r.cache_dtype) && m.use_mla ? refusal::nvfp4_with_mla : refusal::none;
}

[[nodiscard]] constexpr std::uint64_t heads_per_rank(std::uint64_t heads, std::uint64_t tp) noexcept {
  return heads / tp > 0 ? heads / tp : 1;
}

/// config/model.py:verify_with_parallel_config, and what the layers assert.
[[nodiscard]] constexpr refusal verify_with_parallel_config(const model& m, const settings& s) {
  const std::uint64_t tp = s.tensor_parallel_size, dcp = s.decode_context_parallel_size;
  if (tp == 0 || dcp == 0 || s.pipeline_parallel_size == 0 || s.block_size == std::uint64_t{0} ||
      s.mamba_block_size == std::uint64_t{0}) {
    division_by_a_size_of_zero();
  }
  if (m.num_attention_heads % tp != 0) return refusal::attention_heads_not_divisible;
  if (s.pipeline_parallel_size > 1 && !m.supports_pp) return refusal::no_pipeline_parallelism;
  if (s.pipeline_parallel_size > max_pipeline_stages) return refusal::more_stages_than_supported;
  if (!s.pp_layer_partition.empty()) {
    std::uint64_t sum = 0;
    for (const std::uint32_t n : s.pp_layer_partition) sum += n;
    if (s.pp_layer_partition.size() != s.pipeline_parallel_size || sum != m.num_hidden_layers) {
      return refusal::layer_partition_mismatch;
    }
  }
  if (dcp > 1 && tp % dcp != 0) return refusal::dcp_does_not_divide_tp;
  if (dcp > 1 && !m.use_mla && m.num_kv_heads > 0) {
    if (tp <= m.num_kv_heads) return refusal::dcp_needs_replicated_kv_heads;
    if (dcp > tp / m.num_kv_heads) return refusal::dcp_exceeds_replicas;
    if (m.num_attention_heads / m.num_kv_heads % dcp != 0) return refusal::dcp_splits_query_groups;
  }
  for (const layer_class& layer : m.classes) {
    const bool per_head = layer.role == layer_role::attention || layer.role == layer_role::chunked_attention ||
                          layer.role == layer_role::cross_attention || layer.role == layer_role::diffkv_attention ||
                          layer.role == layer_role::minimax_m3_sparse;
    if (!per_head || layer.num_kv_heads == 0) continue;
    if (layer.num_kv_heads >= tp ? layer.num_kv_heads % tp != 0 : tp % layer.num_kv_heads != 0) {
      return refusal::kv_heads_not_divisible;
    }
    if (layer.num_kv_heads < tp && m.needs_kv_head_per_rank) return refusal::fewer_kv_heads_than_ranks;
  }
  return refusal::none;
}

/// config/model.py:_get_and_verify_max_len and the defaults of config/vllm.py and engine/arg_utils.py.
[[nodiscard]] constexpr refusal resolve(const model& m, const settings& s, resolved_settings& r) {
  if (const refusal reason = resolve_cache_dtype(m, s, r); reason != refusal::none) return reason;
  r.max_model_len = m.max_model_len;
  if (s.auto_fit_max_model_len && !m.max_model_len_is_known) return refusal::max_model_len_unknown;
  if (s.max_model_len && !s.auto_fit_max_model_len) {
    if (m.max_model_len_is_known && *s.max_model_len > m.max_model_len) return refusal::max_model_len_too_long;
    r.max_model_len = *s.max_model_len;
  }
  r.enable_chunked_prefill = s.enable_chunked_prefill.value_or(!m.is_encoder_decoder);
  const bool hybrid_default = !m.is_hybrid || s.rules().hybrid_prefix_caching();
  r.enable_prefix_caching =
      s.enable_prefix_caching.value_or(!m.is_attention_free && !m.is_encoder_decoder && hybrid_default);
  using enum speculative_method;
  const speculative_method method = s.speculative_method;
  const bool method_allows_async = method == none || method == ngram_gpu || uses_eagle(method) ||
                                   (method == draft_model && s.rules().async_with_drafts());
  r.async_scheduling = s.async_scheduling.value_or(method_allows_async && s.rules().async_by_default());
  resolve_batch_size(m, s, r);
  if (r.max_num_batched_tokens < r.max_num_seqs) return refusal::batched_tokens_below_sequences;
  if (is_turboquant(r.cache_dtype) && m.is_hybrid && m.turboquant_finds_no_layers)
    return refusal::turboquant_without_layers;
  if (!r.enable_chunked_prefill && r.max_num_batched_tokens < r.max_model_len) {
    return refusal::batched_tokens_below_max_model_len;
  }
  const std::uint64_t batches =
      s.rules().counts_tokens_in_flight_twice() ? s.pipeline_parallel_size + (r.async_scheduling ? 1U : 0U) : 1U;
  r.max_in_flight_tokens = (checked_count(batches) * r.max_num_batched_tokens).value();

  r.mamba_align = r.enable_prefix_caching && (m.is_hybrid || m.is_attention_free);
  if (s.mamba_block_size && *s.mamba_block_size != r.max_model_len && !r.enable_prefix_caching) {
    return refusal::mamba_block_size_without_prefix_caching;
  }
  return refusal::none;
}

/// Every kind of layer that occurs, quantized or not, in the order of registration.
struct used_class {
  std::uint16_t index = 0;                                 // into model::classes
  bool skipped = false;                                    // kv_cache_dtype_skip_layers
  std::uint64_t order = 0;                                 // stage, then position of the first one
  std::uint64_t first_of_stage[max_pipeline_stages] = {};  // position of the stage's first one
  layer_set set;
  attention_backend backend = attention_backend::none;
  vllm::cache_dtype cache_dtype = cache_dtype::automatic;
};
using used_classes = fixed_vector<used_class, max_layer_classes>;

/// distributed/utils.py:get_pp_indices: first layer of every stage. A remainder goes one each to the stages before the
/// last, from the back.
struct stage_bounds {
  std::uint64_t first[max_pipeline_stages + 1] = {};
  std::uint32_t stages = 1;

  [[nodiscard]] constexpr std::uint32_t stage_of(const layer_ref& ref) const noexcept {
    if (ref.draft) return stages - 1;
    std::uint32_t s = 0;
    while (s + 1 < stages && ref.layer >= first[s + 1]) ++s;
    return s;
  }
};
[[nodiscard]] constexpr stage_bounds get_pp_indices(std::uint64_t num_hidden_layers, const settings& s) noexcept {
  stage_bounds bounds;
  const std::uint32_t pp = s.pipeline_parallel_size;
  bounds.stages = pp;
  const std::uint64_t remainder = num_hidden_layers % pp;
  for (std::uint32_t stage = 0; stage < pp; ++stage) {
    const std::uint64_t extra = stage + 2 <= pp && pp - 2 - stage < remainder ? 1 : 0;
    const std::uint64_t layers =
        s.pp_layer_partition.empty() ? num_hidden_layers / pp + extra : s.pp_layer_partition[stage];
    bounds.first[stage + 1] = bounds.first[stage] + layers;
  }
  return bounds;
}

/// Which layers --kv-cache-dtype leaves alone. Turboquant spares two layers at each end of a model without recurrent
/// layers (layers/quantization/turboquant/config.py:get_boundary_skip_layers).
struct skip_layers {
  std::span<const std::uint32_t> listed;
  bool sliding_window = false;
  std::uint64_t first_end = 0;                   // layers below
  std::uint64_t last_begin = ~std::uint64_t{0};  // layers from here on, to the model's last one
  std::uint64_t num_hidden_layers = 0;

  [[nodiscard]] constexpr bool any() const noexcept { return !listed.empty() || sliding_window || first_end != 0; }
  [[nodiscard]] constexpr bool contains(std::uint32_t layer, bool has_window) const noexcept {
    if (has_window && sliding_window) return true;
    if (layer < first_end || (layer >= last_begin && layer < num_hidden_layers)) return true;
    std::size_t low = 0, high = listed.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (listed[middle] < layer) low = middle + 1;
      else high = middle;
    }
    return low < listed.size() && listed[low] == layer;
  }
};
[[nodiscard]] constexpr skip_layers get_skip_layers(const model& m, const settings& s,
                                                    const resolved_settings& r) noexcept {
  skip_layers skip{s.kv_cache_dtype_skip_layers, s.skip_sliding_window_layers};
  skip.num_hidden_layers = m.num_hidden_layers;
  if (is_turboquant(r.cache_dtype) && !m.is_hybrid) {
    const std::uint64_t half = m.num_hidden_layers / 2;
    skip.first_end = half < 2 ? half : 2;
    if (skip.first_end != 0) skip.last_begin = m.num_hidden_layers - skip.first_end;
  }
  return skip;
}

[[nodiscard]] constexpr bool can_be_skipped(layer_role role) noexcept {
  return role == layer_role::attention || role == layer_role::chunked_attention ||
         role == layer_role::cross_attention || role == layer_role::diffkv_attention || role == layer_role::mla ||
         role == layer_role::sparse_mla;
}

[[nodiscard]] constexpr refusal classes_in_use(const model& m, const skip_layers& skip, const stage_bounds& bounds,
                                               used_classes& used) {
  if (m.classes.size() > max_layer_classes) return refusal::too_many_kinds_of_layers;
  constexpr std::uint8_t unseen = 0xff;
  std::uint8_t slot[max_layer_classes][2] = {};
  for (auto& pair : slot) pair[0] = pair[1] = unseen;
  const bool may_skip = skip.any();
  std::uint64_t position = 0;
  for (const layer_ref& ref : m.layers) {
    const layer_class& layer = m.classes[ref.layer_class];
    const bool skipped = may_skip && can_be_skipped(layer.role) && skip.contains(ref.skip_index(), layer.window != 0);
    const std::uint32_t stage = bounds.stage_of(ref);
    const std::uint64_t order = (std::uint64_t{stage} << 32U) + position++;
    std::uint8_t& at = slot[ref.layer_class][skipped ? 1 : 0];
    if (at == unseen) {
      if (used.size() == max_layer_classes) return refusal::too_many_kinds_of_layers;
      at = static_cast<std::uint8_t>(used.size());
      used.push_back(used_class{});
      used[at].index = ref.layer_class;
      used[at].skipped = skipped;
      used[at].order = order;
    }
    used_class& now = used[at];
    if (order < now.order) now.order = order;
    if (now.set.per_stage[stage] == 0) now.first_of_stage[stage] = order;
    ++now.set.num_layers;
    ++now.set.per_stage[stage];
  }
  // Insertion sort: there are few kinds, and they mostly come in order.
  for (std::size_t i = 1; i < used.size(); ++i) {
    for (std::size_t j = i; j > 0 && used[j].order < used[j - 1].order; --j) {
      const used_class swapped = used[j];
      used[j] = used[j - 1];
      used[j - 1] = swapped;
    }
  }
  return refusal::none;
}

[[nodiscard]] constexpr backend_context make_context(const model& m, const settings& s,
                                                     const resolved_settings& r) noexcept {
  backend_context c;
  c.device = s.device;
  c.user_block_size = s.block_size;
  c.user_backend = s.backend;
  c.cache_dtype = r.cache_dtype;
  c.model_dtype = m.dtype;
  c.num_heads = m.num_attention_heads / s.tensor_parallel_size;
  c.num_kv_heads = m.num_kv_heads == 0 ? 0 : m.use_mla ? 1 : heads_per_rank(m.num_kv_heads, s.tensor_parallel_size);
  c.head_size = m.head_size;
  c.mm_prefix = m.mm_prefix;
  c.logits_soft_cap = m.logits_soft_cap;
  c.per_head_scales = m.checkpoint_per_head_scales;
  c.use_dcp = s.decode_context_parallel_size > 1;
  c.qk_nope_head_dim = m.qk_nope_head_dim;
  c.qk_rope_head_dim = m.qk_rope_head_dim;
  c.kv_lora_rank = m.kv_lora_rank;
  c.has_index_topk = m.has_index_topk;
  // engine/arg_utils.py: TurboQuant takes the unquantized layers to FlashAttention 2.
  if (is_turboquant(r.cache_dtype)) c.forced_flash_attn_version = 2;
  if (m.mixed_head_sizes) {
    // model_executor/models/config.py:Gemma4Config.
    const bool fp8 = is_fp8_per_tensor(r.cache_dtype) || r.cache_dtype == cache_dtype::fp8_per_token_head;
    if (!flash_attn_4_is_supported(s.device)) {
      if (s.backend == attention_backend::none) c.user_backend = attention_backend::triton_attn;
    } else if ((s.backend == attention_backend::none || s.backend == attention_backend::flash_attn) &&
               !(fp8 && s.device.major == 9)) {
      c.forced_flash_attn_version = 4;
    }
  }
  return c;
}

struct spec_choice {
  kv_cache_spec spec;
  refusal reason = refusal::none;
};

/// get_kv_cache_spec of the layer's class.
[[nodiscard]] constexpr spec_choice get_kv_cache_spec(const layer_class& layer, const used_class& used, const model& m,
                                                      const settings& s, const resolved_settings& r,
                                                      const backend_context& c) {
  const std::uint64_t tp = s.tensor_parallel_size;
  const std::uint64_t element = element_bytes(used.cache_dtype, m.dtype);
  spec_choice result;
  kv_cache_spec& spec = result.spec;
  spec.block_size = r.block_size;
  spec.dcp_sharded = !layer.replicated_under_dcp;
  spec.head_size = layer.head_size;
  spec.head_size_v = layer.head_size_v != 0 ? layer.head_size_v : layer.head_size;
  spec.num_kv_heads = 1;
  spec.cache_dtype = used.cache_dtype;
  spec.element_bytes = element;
  const kernel_block_sizes sizes =
      get_supported_kernel_block_sizes(used.backend, c, spec.head_size, spec.head_size_v, used.cache_dtype);
  if (!sizes.is_multiple()) spec.stride_kernel_block = sizes.largest();

  const auto latent = [&spec](std::uint64_t cell_bytes, spec_kind kind) {
    spec.kind = kind;
    spec.head_size_v = 0;
    spec.cell_bytes = cell_bytes;
    spec.one_tp_shard = true;
  };
  const auto indexer_cell = [&layer] { return std::uint64_t{layer.head_size} + layer.head_size / 128U * 4U; };
  switch (layer.role) {
    case layer_role::attention:
    case layer_role::chunked_attention:
    case layer_role::cross_attention:
    case layer_role::diffkv_attention:
    case layer_role::minimax_m3_sparse: {
      spec.num_kv_heads = heads_per_rank(layer.num_kv_heads, tp);
      const page_packing packing =
          pack(used.backend, used.cache_dtype, spec.num_kv_heads, spec.head_size, spec.head_size_v, element);
      spec.num_heads = packing.num_heads;
      spec.cell_bytes = packing.cell_bytes.value();
      if (layer.role == layer_role::chunked_attention) {
        spec.kind = spec_kind::chunked_local_attention;
        spec.attention_chunk_size = layer.window;
      } else if (layer.role == layer_role::cross_attention) {
        spec.kind = spec_kind::cross_attention;
      } else if (layer.window != 0 && layer.role != layer_role::minimax_m3_sparse) {
        spec.kind = spec_kind::sliding_window;
        spec.sliding_window = layer.window;
        const std::uint64_t per_token = packing.token_bytes().value();
        const std::uint64_t budget =
            r.skip_page_size_padded != 0 ? r.skip_page_size_padded : (checked_count(per_token) * r.block_size).value();
        spec.block_size = sizes.largest_within(budget, per_token);
        spec.page_size_padded = r.skip_page_size_padded;
      }
      break;
    }
    case layer_role::mla:
    case layer_role::sparse_mla: {
      std::uint64_t cell = (checked_count(layer.head_size) * element).value();
      if (used.cache_dtype == cache_dtype::fp8_ds_mla) cell = 656;
      if (used.cache_dtype == cache_dtype::nvfp4_ds_mla) cell = 352;
      latent(cell, layer.window != 0 ? spec_kind::sliding_window_mla : spec_kind::mla_attention);
      spec.sliding_window = layer.window;
      spec.is_index_group_leader = layer.has_indexer;
      using enum attention_backend;
      const bool rows = used.backend == flash_attn_mla_sparse || used.backend == flashinfer_mla_sparse_sm90;
      if (rows) spec.stride_alignment = cell;
      if (used.backend == flashinfer_mla_sparse) spec.stride_alignment = (checked_count(32U) * cell).value();
      if (used.backend == flashmla_sparse) {
        if (s.device.major == 10 || !is_quantized(used.cache_dtype)) spec.stride_alignment = cell;
        else spec.stride_kernel_block = 64;
      }
      break;
    }
    case layer_role::dsa_indexer:
      latent(indexer_cell(), spec_kind::mla_attention);
      spec.cache_role = 1;
      break;
    case layer_role::minimax_m3_indexer:
      latent(std::uint64_t{layer.head_size} * 2U, spec_kind::mla_attention);
      spec.cache_role = 1;
      spec.one_tp_shard = false;
      break;
    case layer_role::deepseek_v4_mla:
      latent(584, spec_kind::mla_attention);
      spec.page_alignment = 576;
      spec.tokens_per_state = layer.compress_ratio;
      spec.model_version = 1;
      break;
    case layer_role::deepseek_v4_indexer:
      latent(indexer_cell(), spec_kind::mla_attention);
      spec.page_alignment = 576;
      spec.tokens_per_state = layer.compress_ratio;
      break;
    case layer_role::deepseek_v4_swa:
      latent(584, spec_kind::sliding_window_mla);
      spec.page_alignment = 576;
      spec.block_size = 64;
      spec.sliding_window = layer.window;
      spec.model_version = 1;
      break;
    case layer_role::deepseek_v4_compressor: {
      // Two rows of float32, kv and gate, for each position; twice that where neighbouring groups overlap.
      const std::uint64_t overlap = layer.compress_ratio == 4 ? 2 : 1;
      latent((checked_count(2 * overlap) * layer.head_size * checked_count(4U)).value(), spec_kind::sliding_window_mla);
      spec.page_alignment = 576;
      spec.block_size = layer.compress_ratio == 4 ? 4 : 8;
      spec.sliding_window = overlap * layer.compress_ratio;
      spec.cache_dtype = cache_dtype::automatic;
      break;
    }
    case layer_role::recurrent: {
      const std::uint64_t conv =
          element_bytes(s.mamba_cache_dtype == state_dtype::automatic ? m.dtype : s.mamba_cache_dtype);
      state_dtype ssm = s.mamba_ssm_cache_dtype == state_dtype::automatic ? m.ssm_dtype : s.mamba_ssm_cache_dtype;
      if (layer.state.kind == state_kind::kda) {
        if (ssm == state_dtype::automatic) ssm = state_dtype::float32;
        if (ssm == state_dtype::float16) result.reason = refusal::kda_state_dtype;
      }
      const std::uint64_t ssm_bytes = ssm == state_dtype::automatic ? conv : element_bytes(ssm);
      const state_size size = state_bytes(layer.state, tp, s.num_speculative_tokens, conv, ssm_bytes);
      if (size.reason != refusal::none) result.reason = size.reason;
      spec = kv_cache_spec{};
      spec.kind = spec_kind::mamba;
      spec.block_size = r.mamba_block_size;
      spec.page_size_padded = r.mamba_page_size_padded;
      spec.state = layer.state;
      spec.state_bytes = size.bytes.value();
      spec.num_speculative_blocks = s.num_speculative_tokens;
      const bool flash_kda = layer.state.flash_kda && m.dtype == state_dtype::bfloat16 &&
                             (s.device.major == 9 || s.device.major == 10 || s.device.major == 12);
      const bool checkpoints = layer.state.kind == state_kind::mamba2 || flash_kda;
      spec.num_prefill_checkpoint_blocks = checkpoints && s.rules().prefill_checkpoints() ? 1 : 0;
      // One more block of the same use, since 0.33.
      if (layer.state.kind == state_kind::gated_delta_net && s.rules().delta_nets_align_to_64())
        spec.num_prefill_checkpoint_blocks = 1;
      break;
    }
  }
  if (spec.is_sliding() && spec.dcp_sharded && s.decode_context_parallel_size > 1) {
    result.reason = refusal::dcp_with_sliding_window;
  }
  if (spec.is_sliding()) spec.extra_retained_tokens = extra_retained_tokens(s);
  if (spec.page_size_bytes() == checked_count(0U)) result.reason = refusal::page_of_no_bytes;
  return result;
}

/// update_block_size_for_backend on the worker of one stage: by the backends of the layers that it has.
[[nodiscard]] constexpr refusal resolve_block_sizes(const model& m, const settings& s, bool has_skip_layers,
                                                    const backend_context& context, const used_classes& used,
                                                    const distinct_backends& backends, resolved_settings& r) {
  r.block_size = s.block_size.value_or(default_block_size);
  r.mamba_block_size = r.enable_prefix_caching ? s.mamba_block_size.value_or(r.block_size) : r.max_model_len;
  r.mamba_page_size_padded = r.skip_page_size_padded = 0;
  if (backends.empty()) return refusal::none;
  if (!s.block_size) r.block_size = preferred_block_size_for_backends(backends, context).block_size;
  const std::uint64_t before = r.block_size;
  block_size_inputs in{context,   backends[0],    1, r.cache_dtype, context.num_kv_heads, m.head_size,
                       m.use_mla, has_skip_layers};
  for (const attention_backend b : backends) {
    in.backend_alignment = lcm(in.backend_alignment, model_kernel_block_sizes(b, context).smallest()).value();
  }
  if (m.is_hybrid) {
    std::uint64_t largest_state = 0;
    const auto consider = [&](const layer_class& layer) {
      const spec_choice choice = get_kv_cache_spec(layer, used_class{}, m, s, r, context);
      if (choice.spec.state_bytes > largest_state) largest_state = choice.spec.state_bytes;
      return choice.reason;
    };
    if (m.hybrid_state) {
      layer_class state;
      state.role = layer_role::recurrent;
      state.state = *m.hybrid_state;
      if (const refusal reason = consider(state); reason != refusal::none) return reason;
    }
    for (const used_class& u : used) {
      const layer_class& layer = m.classes[u.index];
      if (m.hybrid_state || layer.role != layer_role::recurrent) continue;
      if (const refusal reason = consider(layer); reason != refusal::none) return reason;
    }
    const bool delta_net = m.hybrid_state && m.hybrid_state->kind == state_kind::gated_delta_net;
    if (delta_net && r.mamba_align && s.rules().delta_nets_align_to_64())
      in.backend_alignment = lcm(in.backend_alignment, 64).value();
    const aligned_block_size aligned = align_hybrid_block_size(r.block_size, largest_state, in);
    r.block_size = aligned.block_size;
    r.mamba_page_size_padded = aligned.mamba_page_size_padded;
    if (r.mamba_align && largest_state != 0) r.mamba_block_size = r.block_size;
  }
  if (has_skip_layers) {
    const heterogeneous_block_size aligned =
        align_heterogeneous_kv_block_size(r.block_size, r.mamba_page_size_padded, in);
    if (aligned.reason != refusal::none) return aligned.reason;
    r.block_size = aligned.block_size;
    r.skip_page_size_padded = aligned.skip_page_size_padded;
    r.mamba_page_size_padded = aligned.mamba_page_size_padded;
  }
  if (r.block_size == before) return refusal::none;
  for (const attention_backend b : backends) {
    if (!model_kernel_block_sizes(b, context).supports(r.block_size)) return refusal::aligned_block_size_rejected;
  }
  return refusal::none;
}

/// Whether two stages came to the same sizes.
[[nodiscard]] constexpr bool same_block_sizes(const resolved_settings& a, const resolved_settings& b) noexcept {
  return a.block_size == b.block_size && a.mamba_block_size == b.mamba_block_size &&
         a.mamba_page_size_padded == b.mamba_page_size_padded && a.skip_page_size_padded == b.skip_page_size_padded;
}

/// The classes of which a stage has layers, in the order of its first ones.
using stage_classes = fixed_vector<std::uint8_t, max_layer_classes>;
[[nodiscard]] constexpr stage_classes classes_of_stage(const used_classes& used, std::uint32_t stage) {
  stage_classes list;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i].set.per_stage[stage] != 0) list.push_back(static_cast<std::uint8_t>(i));
  }
  for (std::size_t i = 1; i < list.size(); ++i) {
    for (std::size_t j = i; j > 0; --j) {
      if (used[list[j]].first_of_stage[stage] > used[list[j - 1]].first_of_stage[stage]) break;
      const std::uint8_t swapped = list[j];
      list[j] = list[j - 1];
      list[j - 1] = swapped;
    }
  }
  return list;
}

/// What the backends ask of the memory order.
struct layout_demands {
  bool heads_first = false, only_tokens_first = false, packed = false;
  friend constexpr bool operator==(const layout_demands&, const layout_demands&) noexcept = default;
};
[[nodiscard]] constexpr layout_demands layout_demands_of(const distinct_backends& backends, const device& d) noexcept {
  using enum attention_backend;
  layout_demands asked;
  for (const attention_backend b : backends) {
    asked.heads_first =
        asked.heads_first || (d.major == 10 && (b == flashinfer || b == triton_flashinfer || b == minimax_m3_sparse));
    asked.only_tokens_first = asked.only_tokens_first || b == turboquant || b == flex_attention;
    asked.packed = asked.packed || b == deepseek_v4_indexer;
  }
  return asked;
}

/// The specs of all layers. Every stage settles the block size by its own layers; mostly all come to the same one.
[[nodiscard]] constexpr refusal add_specs(const model& m, const settings& s, bool has_skip_layers,
                                          const backend_context& context, const used_classes& used, cache_plan& p) {
  resolved_settings of_stage = p.resolved;
  const auto add = [&](std::size_t i, const layer_set& layers) {
    const spec_choice choice = get_kv_cache_spec(m.classes[used[i].index], used[i], m, s, of_stage, context);
    if (choice.reason != refusal::none) return choice.reason;
    layer_set set = layers;
    set.spec = choice.spec;
    set.origins = std::uint64_t{1} << i;
    p.used_class_of[used[i].index][used[i].skipped ? 1 : 0] = static_cast<std::uint8_t>(i);
    return add_layers(p.groups.specs, set) ? refusal::none : refusal::too_many_kinds_of_layers;
  };
  bool alike = true;
  for (std::uint32_t stage = 0; stage < s.pipeline_parallel_size; ++stage) {
    distinct_backends backends;
    for (const std::uint8_t i : classes_of_stage(used, stage)) add_distinct(backends, used[i].backend);
    const refusal reason = resolve_block_sizes(m, s, has_skip_layers, context, used, backends, of_stage);
    if (reason != refusal::none) return reason;
    if (stage == 0) p.resolved = of_stage;
    alike = alike && same_block_sizes(p.resolved, of_stage);
  }
  if (alike) {
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (const refusal reason = add(i, used[i].set); reason != refusal::none) return reason;
    }
    return refusal::none;
  }
  for (std::uint32_t stage = 0; stage < s.pipeline_parallel_size; ++stage) {
    const stage_classes classes = classes_of_stage(used, stage);
    distinct_backends backends;
    for (const std::uint8_t i : classes) add_distinct(backends, used[i].backend);
    if (const refusal reason = resolve_block_sizes(m, s, has_skip_layers, context, used, backends, of_stage);
        reason != refusal::none) {
      return reason;
    }
    for (const std::uint8_t i : classes) {
      layer_set layers;
      layers.num_layers = layers.per_stage[stage] = used[i].set.per_stage[stage];
      if (const refusal reason = add(i, layers); reason != refusal::none) return reason;
    }
  }
  return refusal::none;
}

/// v1/attention/backends/utils.py: get_supported_kv_cache_layouts and resolve_kv_cache_layout.
[[nodiscard]] constexpr refusal resolve_layout(const distinct_backends& backends, const layer_sets& sets,
                                               const device& d, kv_cache_layout& layout) {
  const auto [heads_first, only_tokens_first, packed] = layout_demands_of(backends, d);
  if (heads_first && only_tokens_first) return refusal::no_common_layout;
  layout = packed ? kv_cache_layout::blhnc : heads_first ? kv_cache_layout::lbhnc : kv_cache_layout::lbnhc;
  bool sharded = false, replicated = false, one_page_size = true;
  for (const layer_set& set : sets) {
    if (set.spec.is_attention()) (set.spec.dcp_sharded ? sharded : replicated) = true;
    one_page_size = one_page_size && set.spec.page_size_bytes() == sets[0].spec.page_size_bytes();
  }
  if (sharded && replicated && !one_page_size && !packed) {
    if (only_tokens_first) return refusal::no_common_layout;
    layout = heads_first ? kv_cache_layout::blhnc : kv_cache_layout::blnhc;
  }
  return refusal::none;
}

/// v1/core/kv_cache_utils.py: resolve_kv_cache_block_sizes, resolve_cache_hit_alignment_tokens and
/// kv_cache_groups_tp_replicas. A common multiple that does not fit in 64 bits stands as 0.
constexpr void resolve_scheduling_blocks(const settings& s, cache_plan& p) {
  checked_count common = 1U;
  std::uint64_t divisor = 0;
  bool mamba_without_align = false;
  std::uint64_t replicas = s.tensor_parallel_size;
  for (const group_family& family : p.groups.families) {
    const kv_cache_spec& spec = p.groups.specs[p.groups.members[family.first_member].spec].spec;
    const std::uint64_t dcp = spec.dcp_sharded ? s.decode_context_parallel_size : 1;
    const checked_count block = checked_count(spec.block_size) * dcp;
    common =
        common.valid() && block.valid() ? lcm(common.value(), block.value()) : checked_count::failed(failure::overflow);
    divisor = gcd(divisor, block.value_or(0));
    mamba_without_align = mamba_without_align || (spec.kind == spec_kind::mamba && !p.resolved.mamba_align);
  }
  for (const layer_set& set : p.groups.specs) {
    const bool replicated = set.spec.is_attention() && set.spec.one_tp_shard &&
                            !(set.spec.dcp_sharded && s.decode_context_parallel_size > 1);
    if (!p.stages.empty() && set.per_stage[0] == 0) continue;
    replicas = gcd(replicas, replicated ? s.tensor_parallel_size : 1);
  }
  p.kv_tp_replicas = replicas;
  const std::uint64_t n = p.groups.size();
  p.scheduler_block_size = common.value_or(0);
  const bool fine = n > 1 && p.resolved.enable_prefix_caching && !mamba_without_align;
  p.hash_block_size = fine ? divisor : p.scheduler_block_size;
  if (!p.resolved.enable_prefix_caching) return;
  // A state at a block boundary can be found again at a finer grain, if every other group can be looked up that way:
  // full attention and states can, windows, chunks and cross attention only at their own block.
  bool aligned_state = false, all_fine = true;
  for (const group_family& family : p.groups.families) {
    const kv_cache_spec& spec = p.groups.specs[p.groups.members[family.first_member].spec].spec;
    const bool is_state = spec.kind == spec_kind::mamba;
    const std::uint64_t dcp = s.decode_context_parallel_size;
    aligned_state =
        aligned_state || (is_state && p.resolved.mamba_align &&
                          (dcp == 1 ? spec.block_size > p.hash_block_size : spec.block_size >= p.hash_block_size));
    all_fine =
        all_fine && (is_state || spec.is_full() || spec.block_size * (spec.dcp_sharded ? dcp : 1) == p.hash_block_size);
  }
  p.cache_hit_alignment = n > 1 && aligned_state && all_fine ? p.hash_block_size : p.scheduler_block_size;
}

/// What one request of `limits` counts in the check of a stage.
[[nodiscard]] constexpr checked_count checked_bytes(const cache_plan& p, std::size_t stage,
                                                    const admission_limits& limits) noexcept {
  if (p.check == fit_check::layers_of_stage) {
    checked_count sum = 0U;
    for (const layer_set& set : p.groups.specs) {
      sum += set.spec.page_size_bytes() * set.per_stage[stage] * max_admission_blocks_per_request(set.spec, limits);
    }
    return sum;
  }
  const checked_count block = p.stages[stage].admission_block_bytes;
  if (p.check == fit_check::first_group) return block * blocks_per_request(p.groups, p.groups.families[0], limits);
  return block * blocks_per_request(p.groups, limits);
}

[[nodiscard]] constexpr bool request_fits(const cache_plan& p, std::size_t stage, std::uint64_t length) noexcept {
  admission_limits limits = p.limits;
  limits.max_model_len = length;
  return checked_bytes(p, stage, limits).fits(p.stages[stage].usable_bytes);
}

/// _estimate_max_model_len_from_groups: the largest length up to `longest` whose request fits into the stage, 0 if
/// none does. Sizes of blocks and pages stay as they are.
[[nodiscard]] constexpr std::uint64_t estimate_max_model_len(const cache_plan& p, std::size_t stage,
                                                             std::uint64_t longest) noexcept {
  if (longest == 0 || !request_fits(p, stage, 1)) return 0;
  std::uint64_t fitting = 1, above = longest;
  while (fitting < above) {
    const std::uint64_t middle = above - (above - fitting) / 2;
    if (request_fits(p, stage, middle)) fitting = middle;
    else above = middle - 1;
  }
  return fitting;
}

}  // namespace detail

/// What vLLM allocates for `model` with `settings`, or why it does not start. Raises a size_error where a size does
/// not fit in 64 bits; takes some microseconds and no memory but its result.
///
/// Without available_memory (and without num_gpu_blocks_override) the groups, bytes per block and blocks per request
/// are known all the same.
[[nodiscard]] constexpr cache_plan plan(const model& m, const settings& s) {
  cache_plan p;
  const auto refuse = [&p](refusal reason) -> cache_plan& {
    p.reason = reason;
    return p;
  };
  if (const refusal reason = detail::verify_with_parallel_config(m, s); reason != refusal::none) return refuse(reason);
  resolved_settings& r = p.resolved;
  if (const refusal reason = detail::resolve(m, s, r); reason != refusal::none) return refuse(reason);
  p.max_model_len = r.max_model_len;

  // Layers and their backends.
  const detail::skip_layers skip = detail::get_skip_layers(m, s, r);
  detail::used_classes used;
  if (const refusal reason = detail::classes_in_use(m, skip, detail::get_pp_indices(m.num_hidden_layers, s), used);
      reason != refusal::none) {
    return refuse(reason);
  }
  backend_context context = detail::make_context(m, s, r);
  for (detail::used_class& u : used) {
    const layer_class& layer = m.classes[u.index];
    u.cache_dtype = u.skipped || layer.unquantized ? cache_dtype::automatic : r.cache_dtype;
    const backend_choice choice = select_backend(layer, u.cache_dtype, context);
    if (choice.reason != refusal::none) return refuse(choice.reason);
    u.backend = choice.backend;
    if (layer.role == layer_role::mla || layer.role == layer_role::sparse_mla) {
      const cache_dtype canonical = canonical_cache_dtype(u.backend, u.cache_dtype);
      if (canonical != u.cache_dtype) u.cache_dtype = r.cache_dtype = context.cache_dtype = canonical;
    }
    add_distinct(r.backends, u.backend);
  }

  // Specs, groups, bytes of one block.
  layer_sets& sets = p.groups.specs;
  const refusal unsized = detail::add_specs(m, s, skip.any(), context, used, p);
  if (unsized != refusal::none) {
    p.groups = {};
    return refuse(unsized);
  }
  if (const refusal reason = detail::resolve_layout(r.backends, sets, s.device, r.layout); reason != refusal::none) {
    p.groups = {};
    return refuse(reason);
  }
  p.groups.size_quarters = s.rules().group_size_quarters();
  bool chunked = false;
  for (const layer_set& set : sets) chunked = chunked || set.spec.kind == spec_kind::chunked_local_attention;
  const bool no_hybrid = s.disable_hybrid_kv_cache_manager || (chunked && !s.rules().chunks_are_grouped());
  detail::form_groups(p.groups, r.layout, no_hybrid);
  if (p.groups.reason != refusal::none) {
    const refusal reason = p.groups.reason;
    p.groups = {};
    return refuse(reason);
  }
  p.limits = {r.max_model_len, r.max_in_flight_tokens, r.max_num_encoder_input_tokens, s.decode_context_parallel_size,
              r.mamba_align};
  p.memory_is_known =
      s.available_memory.has_value() || !s.stage_memory.empty() || s.num_gpu_blocks_override.has_value();
  if (!p.has_groups()) {
    // Nothing is cached: the pool still has its null block.
    p.num_blocks = 1;
    return p;
  }
  for (std::uint32_t stage = 0; stage < s.pipeline_parallel_size; ++stage) {
    stage_plan now;
    now.bytes_per_block = get_kv_cache_bytes_per_block(p.groups, r.layout, stage);
    if (now.bytes_per_block == 0) return refuse(refusal::page_of_no_bytes);
    p.stages.push_back(now);
  }
  detail::resolve_scheduling_blocks(s, p);

  const bool whole_model_on_one_stage = s.rules().checks_whole_model();
  const bool reserves_null_block = s.rules().reserves_null_block();
  p.check = s.rules().check();
  std::uint64_t whole_model_block = 0;
  for (const stage_plan& stage : p.stages) {
    whole_model_block = (checked_count(whole_model_block) + stage.bytes_per_block).value();
  }
  for (std::size_t i = 0; i < p.stages.size(); ++i) {
    stage_plan& stage = p.stages[i];
    stage.admission_block_bytes = whole_model_on_one_stage ? whole_model_block : stage.bytes_per_block;
    if (!p.memory_is_known) continue;
    const std::uint64_t available = s.num_gpu_blocks_override
                                        ? (checked_count(*s.num_gpu_blocks_override) * stage.bytes_per_block).value()
                                    : s.stage_memory.empty() ? *s.available_memory
                                                             : s.stage_memory[i];
    const std::uint64_t null_block = reserves_null_block ? stage.bytes_per_block : 0;
    stage.usable_bytes = available > null_block ? available - null_block : 0;
    const std::uint64_t blocks = s.num_gpu_blocks_override.value_or(available / stage.bytes_per_block);
    if (i == 0 || blocks < p.num_blocks) p.num_blocks = blocks;
  }

  if (s.auto_fit_max_model_len && p.memory_is_known) {
    for (std::size_t stage = 0; stage < p.stages.size(); ++stage) {
      const std::uint64_t fitting = detail::estimate_max_model_len(p, stage, r.max_model_len);
      if (fitting < p.max_model_len) p.max_model_len = fitting;
    }
    p.auto_fitted = p.max_model_len < r.max_model_len;
    if (p.max_model_len == 0) return refuse(refusal::auto_fit_fits_nothing);
    p.limits.max_model_len = p.max_model_len;
  }

  p.blocks_per_request = blocks_per_request(p.groups, p.limits).value();
  p.estimated_max_model_len = r.max_model_len;
  for (std::size_t i = 0; i < p.stages.size(); ++i) {
    stage_plan& stage = p.stages[i];
    stage.request_bytes = detail::checked_bytes(p, i, p.limits).value();
    stage.allocated_bytes = (checked_count(stage.bytes_per_block) * p.num_blocks).value();
    if (!p.memory_is_known) continue;
    stage.fits = stage.request_bytes <= stage.usable_bytes;
    if (stage.fits) continue;
    stage.estimated_max_model_len = detail::estimate_max_model_len(p, i, p.max_model_len);
    if (stage.estimated_max_model_len < p.estimated_max_model_len) {
      p.estimated_max_model_len = stage.estimated_max_model_len;
    }
    if (p.reason == refusal::none) {
      p.reason = stage.usable_bytes == 0 ? refusal::no_available_memory : refusal::memory_too_small;
    }
  }
  if (p.memory_is_known && p.blocks_per_request != 0) {
    p.max_concurrency = static_cast<double>(p.num_blocks) / static_cast<double>(p.blocks_per_request);
    // get_kv_cache_capacity; before it the line counted whole blocks of one group's share.
    if (s.rules().counts_tokens_of_all_groups()) {
      const double tokens = p.max_concurrency * static_cast<double>(p.max_model_len);
      if (!(tokens < 1.8e19)) kv_cache_size_overflows_64_bits();
      p.tokens = static_cast<std::uint64_t>(tokens);
    } else {
      p.tokens =
          (checked_count(p.num_blocks / p.groups.size()) * r.block_size * s.decode_context_parallel_size).value();
    }
  }
  return p;
}

}  // namespace kvbudget::vllm
