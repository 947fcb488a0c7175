// The weights of a model on the devices of a placement.
#pragma once

#include <string_view>
#include <vector>

#include <kvbudget/config/document.hpp>
#include <kvbudget/config/evaluation.hpp>
#include <kvbudget/config/placement.hpp>
#include <kvbudget/weights.hpp>

namespace kvbudget::config {

namespace detail {

/// What tensor-parallel ranks keep whole: vectors, routers, and the projections to and from latents that all heads
/// share. Source: ReplicatedLinear in vLLM's models (deepseek_v2.py: q_a_proj, kv_a_proj_with_mqa, gate, indexer).
[[nodiscard]] inline bool is_whole_on_every_rank(const weight_tensor& t) {
  std::size_t wide = 0;
  for (const std::uint64_t n : t.shape) wide += n > 1 ? 1U : 0U;
  if (wide < 2) return true;
  for (const std::string_view part :
       {"q_a_proj", "kv_a_proj", "attn_q_a", "attn_kv_a", "indexer", "router", ".gate.weight", "ffn_gate_inp"}) {
    if (t.name.find(part) != t.name.npos) return true;
  }
  return false;
}

}  // namespace detail

/// Bytes on each device in the order of the placement, then on the host (0 without layers or embedding there). A
/// layer's tensors are with its stage; the others with the first one, but the output head and the norm before it with
/// the last; a head that is tied to the embedding is on both. One device holds exactly total_bytes. More than one
/// tensor-parallel rank is an estimate: matrices are divided evenly, and engines pad and replicate some of them.
[[nodiscard]] inline std::vector<bytes> place_weights(const model_weights& weights, const evaluation& e,
                                                      const placement& where) {
  const std::uint64_t ranks = where.tensor_parallel;
  const std::size_t stages = e.layer_stages;
  std::vector<checked_count> whole(stages + 1, 0U), divided(stages + 1, 0U);  // the host's last
  const weight_tensor* embedding = nullptr;
  bool has_head = false;
  for (const weight_tensor& t : weights.tensors) {
    const bool head = is_output_head(t.name);
    has_head = has_head || head;
    std::size_t stage = 0;
    if (t.layer) {
      stage = *t.layer < e.stage_of_layer.size() ? e.stage_of_layer[*t.layer] : stages - 1;
    } else if (head || (t.group == tensor_group::rest && t.shape.size() == 1)) {
      stage = stages - 1;
    } else if (t.group == tensor_group::embedding) {
      if (embedding == nullptr || t.bytes > embedding->bytes) embedding = &t;
      if (e.embedding_on_host) stage = stages;
    }
    const bool attention_is_whole = where.attention_data_parallel && t.group == tensor_group::attention;
    if (ranks == 1 || attention_is_whole || detail::is_whole_on_every_rank(t)) whole[stage] += t.bytes;
    else divided[stage] += t.bytes;
  }
  const bool tied_apart = stages > 1 || e.embedding_on_host;
  if (!has_head && embedding != nullptr && tied_apart) (ranks == 1 ? whole : divided)[stages - 1] += embedding->bytes;
  std::vector<bytes> result;
  for (std::uint64_t replica = 0; replica < where.data_parallel; ++replica) {
    for (std::size_t stage = 0; stage < stages; ++stage) {
      const bytes here(whole[stage] + div_ceil(divided[stage], ranks));
      result.insert(result.end(), where.context_parallel * ranks, here);
    }
  }
  result.push_back(bytes(whole[stages] + divided[stages]));
  return result;
}

/// Bytes of the input embedding where the output head is a matrix of its own; else 0.
[[nodiscard]] inline std::uint64_t embedding_beside_head(const model_weights& weights) {
  std::uint64_t largest = 0;
  bool has_head = false;
  for (const weight_tensor& t : weights.tensors) {
    if (is_output_head(t.name)) has_head = true;
    else if (t.group == tensor_group::embedding && !t.layer) largest = std::max(largest, t.bytes);
  }
  return has_head ? largest : 0;
}

/// Routed experts of each layer, and how many of them a token uses; nothing for a dense model.
struct expert_counts {
  std::uint64_t experts = 0;
  std::uint64_t per_token = 0;
};
[[nodiscard]] inline std::optional<expert_counts> find_experts(const document& d) {
  const node root(d);
  std::optional<node> text = root.object("text_config");
  const auto first_of = [&](std::initializer_list<std::string_view> names) -> std::uint64_t {
    for (const node& place : {text ? *text : root, root}) {
      for (const std::string_view name : names) {
        const json* const value = place.find(name);
        if (value != nullptr && value->is_number_unsigned()) return value->get<std::uint64_t>();
      }
    }
    return 0;
  };
  expert_counts counts{
      first_of({"num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"}),
      first_of({"num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k", "top_k_experts"})};
  if (const auto name = root.string("general.architecture")) {
    counts = {root.count(*name + ".expert_count").value_or(0), root.count(*name + ".expert_used_count").value_or(0)};
  }
  if (counts.experts == 0) return std::nullopt;
  return counts;
}

}  // namespace kvbudget::config
