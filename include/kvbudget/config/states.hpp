// States of fixed size: convolution windows and recurrent matrices of SSM and linear-attention layers.
//
// Source: transformers 5.24.0, cache_utils.py LinearAttentionLayer (the convolution keeps the full kernel width) and
// the mixer class in models/X/modeling_X.py. Recurrent matrices are float32 in a bfloat16 model unless said otherwise.
#pragma once

#include <kvbudget/config/attention_rows.hpp>
#include <kvbudget/config/delta_net_heads.hpp>
#include <kvbudget/core/storage_type.hpp>

namespace kvbudget::detail::transformers {

/// Elements per sequence, by the type they are kept in.
struct state_shape {
  checked_count in_model_type = 0U;
  checked_count in_float32 = 0U;
  checked_count in_int64 = 0U;
};

/// int(factor x hidden) as Python computes it; the factor may be a fraction.
[[nodiscard]] inline checked_count expanded(const model_config& c, std::string_view factor, std::uint64_t hidden) {
  const auto stated = c.number(factor);
  if (!stated) c.fail_missing(factor, "a positive number");
  const double inner = *stated * static_cast<double>(hidden);
  if (!(inner >= 1 && inner <= 9e15)) c.fail(factor, "out of range", "a positive number");
  return static_cast<std::uint64_t>(inner);
}

/// A convolution of `channels` and `kernel`, and a recurrent matrix.
[[nodiscard]] inline state_shape conv_and_matrix(checked_count channels, checked_count kernel,
                                                 checked_count matrix) noexcept {
  return {channels * kernel, matrix, 0U};
}

/// Mamba-2: the convolution runs over x, B and C.
[[nodiscard]] inline state_shape mamba2(checked_count inner, checked_count groups, checked_count state,
                                        checked_count kernel, checked_count matrix) noexcept {
  return conv_and_matrix(inner + groups * state * 2U, kernel, matrix);
}

[[nodiscard]] inline state_shape mamba1(checked_count inner, checked_count kernel, checked_count state) noexcept {
  return conv_and_matrix(inner, kernel, inner * state);
}

/// Gated DeltaNet: the convolution runs over q, k and v; one kd x vd matrix per value head.
[[nodiscard]] inline state_shape gated_delta_net(const model_config& c) {
  const delta_net_heads h = delta_net_heads_of(c);
  const checked_count keys = checked_count(h.key_heads) * h.key_dim;
  const checked_count values = checked_count(h.value_heads) * h.value_dim;
  return conv_and_matrix(keys * 2U + values, c.required_count("linear_conv_kernel_dim", 1), values * h.key_dim);
}

/// Kimi Delta Attention: q, k and v of one width; one d x d matrix per head.
[[nodiscard]] inline state_shape kimi_delta_attention(const model_config& c) {
  std::uint64_t width = 0, heads = 0, kernel = 0;
  if (c.model_type() == "bailing_hybrid") {  // computed from fields of other names, unless the file states them
    const auto own = [&](std::string_view field, std::string_view source) {
      const auto stated = c.count(field, 1);
      return stated ? *stated : c.required_count(source, 1);
    };
    width = own("linear_head_dim", "head_dim");
    heads = own("linear_num_heads", "num_attention_heads");
    kernel = own("linear_conv_kernel_dim", "short_conv_kernel_size");
  } else {
    const auto checkpoint = c.object("linear_attn_config");
    const auto read = [&](std::string_view key, std::string_view field) {
      const auto own = checkpoint ? checkpoint->count(key, 1) : std::nullopt;
      return own ? *own : c.required_count(field, 1);
    };
    width = read("head_dim", "linear_head_dim");
    heads = read("num_heads", "linear_num_heads");
    kernel = read("short_conv_kernel_size", "linear_conv_kernel_dim");
  }
  const checked_count channels = checked_count(width) * heads;
  return conv_and_matrix(channels * 3U, kernel, channels * width);
}

/// Width of one head of Bamba, Granite and Falcon-H1: "auto" is inner / heads.
[[nodiscard]] inline std::uint64_t ssm_head_width(const model_config& c, checked_count inner, std::uint64_t heads) {
  const auto stated = c.field("mamba_d_head");
  if (stated && stated->value() != "auto") return stated->count(1);
  return (inner / heads).value();
}

/// The heads of an SSM fill its inner width; where a config contradicts itself the model does not run.
inline void check_ssm_heads(const model_config& c, std::string_view heads_field, checked_count heads,
                            checked_count width, checked_count inner) {
  if (heads * width == inner) return;
  c.fail(heads_field, "heads x width of a head is not the inner width of " + std::to_string(inner.value()),
         "widths that agree");
}

/// State of a linear layer or of the recurrent half of a hybrid one.
struct state_rule {
  std::string_view model_type;
  state_shape (*shape)(const model_config& c, const row_shape& attention);
};

inline constexpr auto mamba1_rule = [](const model_config& c, const row_shape&) {
  // The class computes intermediate_size, and a file that states it has the last word.
  const auto own = c.count("intermediate_size", 1);
  const checked_count inner = own ? checked_count(*own) : expanded(c, "expand", c.required_count("hidden_size", 1));
  return mamba1(inner, c.required_count("conv_kernel", 1), c.required_count("state_size", 1));
};
inline constexpr auto jamba_rule = [](const model_config& c, const row_shape&) {
  const checked_count inner = expanded(c, "mamba_expand", c.required_count("hidden_size", 1));
  return mamba1(inner, c.required_count("mamba_d_conv", 1), c.required_count("mamba_d_state", 1));
};
inline constexpr auto bamba_rule = [](const model_config& c, const row_shape&) {
  const std::uint64_t hidden = c.required_count("hidden_size", 1);
  std::optional<std::uint64_t> own;
  if (c.model_type() == "falcon_h1") own = c.count("mamba_d_ssm", 1);
  const checked_count inner = own ? checked_count(*own) : expanded(c, "mamba_expand", hidden);
  const std::uint64_t heads = c.required_count("mamba_n_heads", 1);
  const std::uint64_t state = c.required_count("mamba_d_state", 1);
  check_ssm_heads(c, "mamba_n_heads", heads, ssm_head_width(c, inner, heads), inner);
  return mamba2(inner, c.required_count("mamba_n_groups", 1), state, c.required_count("mamba_d_conv", 1),
                checked_count(heads) * ssm_head_width(c, inner, heads) * state);
};
inline constexpr auto gdn_rule = [](const model_config& c, const row_shape&) { return gated_delta_net(c); };
inline constexpr auto kda_rule = [](const model_config& c, const row_shape&) { return kimi_delta_attention(c); };
inline constexpr auto conv_rule = [](const model_config& c, const row_shape&) {
  return state_shape{checked_count(c.required_count("hidden_size", 1)) * c.required_count("conv_L_cache", 1), 0U, 0U};
};
/// Four float32 convolutions: over K, over V, and two over the hidden states.
inline constexpr auto inkling_rule = [](const model_config& c, const row_shape& a) {
  const checked_count kv = checked_count(a.k_heads) * a.k_width;
  const checked_count hidden = c.required_count("hidden_size", 1);
  return state_shape{0U, (kv + hidden) * 2U * c.required_count("conv_kernel_size", 1), 0U};
};

inline constexpr state_rule state_rules[] = {
    {"bailing_hybrid", kda_rule},
    {"bamba", bamba_rule},
    {"falcon_h1", bamba_rule},
    {"falcon_mamba", mamba1_rule},
    {"glm5_next_text", kda_rule},
    {"granitemoehybrid", bamba_rule},
    {"inkling2_loop_text", inkling_rule},
    {"inkling2_text", inkling_rule},
    {"inkling_text", inkling_rule},
    {"jamba", jamba_rule},
    {"kimi_linear", kda_rule},
    {"lara_mini", gdn_rule},
    {"lfm2", conv_rule},
    {"lfm2_moe", conv_rule},
    {"lfm3", conv_rule},
    {"mamba", mamba1_rule},
    {"mamba2",
     [](const model_config& c, const row_shape&) {
       const checked_count inner = expanded(c, "expand", c.required_count("hidden_size", 1));
       const std::uint64_t state = c.required_count("state_size", 1);
       const std::uint64_t heads = c.required_count("num_heads", 1);
       check_ssm_heads(c, "num_heads", heads, c.required_count("head_dim", 1), inner);
       if (heads % c.required_count("n_groups", 1) != 0) {
         c.fail("n_groups", "does not divide num_heads " + std::to_string(heads), "a divisor of num_heads");
       }
       return mamba2(inner, c.required_count("n_groups", 1), state, c.required_count("conv_kernel", 1),
                     checked_count(c.required_count("num_heads", 1)) * c.required_count("head_dim", 1) * state);
     }},
    {"nemotron_h",
     [](const model_config& c, const row_shape&) {
       const checked_count inner =
           checked_count(c.required_count("mamba_num_heads", 1)) * c.required_count("mamba_head_dim", 1);
       const std::uint64_t state = c.required_count("ssm_state_size", 1);
       // Names of older files win (configuration_nemotron_h.py).
       const auto groups = c.count("mamba_n_groups", 1);
       const auto kernel = c.count("mamba_d_conv", 1);
       return mamba2(inner, groups ? *groups : c.required_count("n_groups", 1), state,
                     kernel ? *kernel : c.required_count("conv_kernel", 1), inner * state);
     }},
    {"olmo_hybrid", gdn_rule},
    {"qwen3_5_moe_text", gdn_rule},
    {"qwen3_5_text", gdn_rule},
    {"qwen3_next", gdn_rule},
    {"qwen4_exp_text", gdn_rule},
    {"recurrent_gemma",
     [](const model_config& c, const row_shape&) {
       // Kept in the modules, not in the cache object; the convolution drops the current position.
       const auto own = c.count("lru_width", 1);
       const std::uint64_t width = own ? *own : c.required_count("hidden_size", 1);
       return conv_and_matrix(width, c.required_count("conv1d_width", 1) - 1, width);
     }},
    {"zamba", jamba_rule},
    {"zamba2",
     [](const model_config& c, const row_shape&) {
       const checked_count inner = expanded(c, "mamba_expand", c.required_count("hidden_size", 1));
       const std::uint64_t state = c.required_count("mamba_d_state", 1);
       return mamba2(inner, c.required_count("mamba_ngroups", 1), state, c.required_count("mamba_d_conv", 1),
                     inner * state);
     }},
    {"zaya",
     [](const model_config& c, const row_shape& a) {
       // Both parts in the model's type: q and k as far as the two convolutions look back, and half of the values
       // (modeling_zaya.py).
       const checked_count channels =
           (checked_count(c.required_count("num_attention_heads", 1)) + a.k_heads) * a.k_width;
       const checked_count back =
           checked_count(c.required_count("cca_time0", 1)) + c.required_count("cca_time1", 1) - 2U;
       return state_shape{channels * back + checked_count(a.k_heads) * a.k_width / 2U, 0U, 0U};
     }},
};

/// Per-layer embeddings of qwen4_exp with an n-gram convolution: further state in the layers that `ple_layer_ids`
/// lists.
[[nodiscard]] inline state_shape per_layer_embedding_state(const model_config& c) {
  const std::uint64_t ngram = c.required_count("ngram_size", 1);
  return {checked_count(c.required_count("hc_count", 1)) * c.required_count("hidden_size", 1) *
              (c.required_count("ple_conv_kernel_size", 1) - 1) * ngram,
          0U, ngram - 1};
}

/// State of one sequence in a layer with a recurrent part. Throws config_error when the model type has no rule.
[[nodiscard]] inline state_shape read_state(const model_config& c, const row_shape& attention) {
  for (const state_rule& rule : state_rules) {
    if (rule.model_type == c.model_type()) return rule.shape(c, attention);
  }
  c.fail("layer_types", "a recurrent layer in a model type without a rule for its state",
         "attention layers for model type " + std::string(c.model_type()));
}

/// Since 5.5 the state is kept as the kernel hands it over, in float32; before, these models allocated it in the
/// model's type and wrote into it.
[[nodiscard]] inline bool state_in_model_type(std::string_view model_type, config::engine_version version) {
  constexpr std::string_view types[] = {"mamba",     "mamba2", "falcon_mamba", "bamba", "granitemoehybrid",
                                        "falcon_h1", "zamba2"};
  return version < config::engine_version{5, 5, 0} && is_one_of(model_type, types);
}

}  // namespace kvbudget::detail::transformers
