// The weights of a model on the devices of a placement.
#pragma once

#include <string_view>
#include <vector>

#include <kvbudget/input/document.hpp>
#include <kvbudget/engine/answer.hpp>
#include <kvbudget/engine/placement_parts.hpp>
#include <kvbudget/input/read_weights.hpp>

namespace kvbudget::detail {

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

/// Weights by the stage that keeps them, the host's last: what each rank keeps whole, and what the ranks divide.
class staged_weights {
 public:
  staged_weights(const model_weights& weights, const engine_answer& e, const placement& where)
      : e_(e),
        where_(where),
        stages_(e.layer_stages),
        whole_(stages_ + 1, checked_count(0U)),
        divided_(stages_ + 1, checked_count(0U)) {
    const weight_tensor* embedding = nullptr;
    bool has_head = false;
    for (const weight_tensor& t : weights.tensors) {
      has_head = has_head || is_output_head(t.name);
      const bool embeds = !t.layer && t.group == tensor_group::embedding && !is_output_head(t.name);
      if (embeds && (embedding == nullptr || t.bytes > embedding->bytes)) embedding = &t;
      (is_whole(t) ? whole_ : divided_)[stage_of(t)] += t.bytes;
    }
    const bool tied_apart = stages_ > 1 || e.embedding_on_host;
    if (has_head || embedding == nullptr || !tied_apart) return;
    (where.tensor_parallel == 1 ? whole_ : divided_)[stages_ - 1] += embedding->bytes;
  }

  [[nodiscard]] bytes of_rank(std::size_t stage) const {
    return bytes(whole_[stage] + div_ceil(divided_[stage], where_.tensor_parallel));
  }
  [[nodiscard]] bytes of_host() const { return bytes(whole_[stages_] + divided_[stages_]); }
  [[nodiscard]] std::size_t stages() const { return stages_; }

 private:
  [[nodiscard]] std::size_t stage_of(const weight_tensor& t) const {
    if (t.layer) return *t.layer < e_.stage_of_layer.size() ? e_.stage_of_layer[*t.layer] : stages_ - 1;
    const bool last = is_output_head(t.name) || (t.group == tensor_group::rest && t.shape.size() == 1);
    if (last) return stages_ - 1;
    return t.group == tensor_group::embedding && e_.embedding_on_host ? stages_ : 0;
  }
  [[nodiscard]] bool is_whole(const weight_tensor& t) const {
    if (where_.tensor_parallel == 1) return true;
    return (where_.attention_data_parallel && t.group == tensor_group::attention) || is_whole_on_every_rank(t);
  }

  const engine_answer& e_;
  const placement& where_;
  std::size_t stages_;
  std::vector<checked_count> whole_, divided_;
};

/// Bytes on each device in the order of the placement, then on the host (0 without layers or embedding there). A
/// layer's tensors are with its stage; the others with the first one, but the output head and the norm before it with
/// the last; a head that is tied to the embedding is on both. One device holds exactly total_bytes. More than one
/// tensor-parallel rank is an estimate: matrices are divided evenly, and engines pad and replicate some of them.
[[nodiscard]] inline std::vector<bytes> place_weights(const model_weights& weights, const engine_answer& e,
                                                      const placement& where) {
  const staged_weights placed(weights, e, where);
  std::vector<bytes> result;
  for (std::uint64_t replica = 0; replica < where.data_parallel; ++replica) {
    for (std::size_t stage = 0; stage < placed.stages(); ++stage) {
      result.insert(result.end(), where.context_parallel * where.tensor_parallel, placed.of_rank(stage));
    }
  }
  result.push_back(placed.of_host());
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
[[nodiscard]] inline std::optional<expert_counts> find_experts(const config::document& d) {
  const config::node root(d);
  std::optional<config::node> text = root.object("text_config");
  const auto first_of = [&](std::initializer_list<std::string_view> names) -> std::uint64_t {
    for (const config::node& place : {text ? *text : root, root}) {
      for (const std::string_view name : names) {
        const config::json* const value = place.find(name);
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

}  // namespace kvbudget::detail
