// config.json to the GGUF keys that matter for memory, as llama.cpp's converter writes them: one case per class.
//
// Source: llama.cpp 0.5.0-dev, conversion/*.py (set_gguf_parameters of each model class).
#pragma once

#include <kvbudget/config/llama_cpp/conversion.hpp>

namespace kvbudget::llama_cpp::detail {

inline void conversion::write() {
  using r = rules;
  switch (row_.how) {
    case r::base: base(); break;
    case r::no_memory:
      base();
      m_.causal = false;
      break;
    case r::bert: bert(); break;
    case r::afmoe:
      base();
      sliding_window(c_.count({"sliding_window"}));
      break;
    case r::cohere2:
    case r::gpt_oss:
      base();
      sliding_window(c_.need({"sliding_window"}));
      break;
    case r::sliding_types:
      base();
      sliding_window(c_.need({"sliding_window"}));
      sliding_types(0);
      break;
    case r::bailing2:
    case r::glm_moe:
      add_nextn();
      base();
      break;
    case r::bailing3: bailing3(); break;
    case r::bloom:
      m_.embedding_length = c_.count({"n_embed"}).value_or(c_.count_or("hidden_size", 0));  // as BloomConfig takes them
      m_.head_count = c_.need({"n_head", "num_attention_heads"});
      m_.head_count_kv = m_.head_count;
      m_.context_length = c_.count_or("seq_length", m_.embedding_length);
      break;
    case r::chatglm:
      m_.embedding_length = c_.need({"hidden_size", "n_embed"});
      m_.head_count = c_.need({"n_head", "num_attention_heads"});
      m_.head_count_kv = c_.count({"multi_query_group_num", "num_key_value_heads"}).value_or(m_.head_count[0]);
      m_.context_length = c_.count_or("seq_length", m_.embedding_length);
      break;
    case r::codeshell:
      m_.context_length = c_.need({"n_positions"});
      m_.embedding_length = c_.need({"n_embd"});
      m_.head_count = c_.need({"n_head"});
      m_.head_count_kv = c_.need({"num_query_groups"});
      break;
    case r::cohere:
      base();
      m_.context_length = c_.need({"model_max_length", "max_position_embeddings"});
      break;
    case r::cohere2moe:
      add_nextn();
      base();
      sliding_window(c_.need({"sliding_window"}));
      sliding_types(0);
      break;
    case r::dbrx: {
      m_.context_length = c_.count_or("max_seq_len", 2048);  // the default of DbrxConfig
      m_.embedding_length = c_.need({"d_model"});
      m_.head_count = c_.need({"n_heads"});
      const auto attention = c_.field({"attn_config"});
      m_.head_count_kv = attention ? static_cast<std::uint32_t>(attention->count("kv_n_heads").value_or(1)) : 1U;
      break;
    }
    case r::deci: deci(); break;
    case r::deepseek2: deepseek2(); break;
    case r::glm_lite:
      add_nextn();
      deepseek2();
      break;
    case r::deepseek32:
      add_nextn();
      deepseek2();
      indexer();
      break;
    case r::glm_dsa:
      add_nextn();
      deepseek2();
      indexer();
      if (const auto types = c_.array("indexer_types")) m_.indexer_types = equal_to(*types, "full");
      break;
    case r::glm5_next: glm5_next(); break;
    case r::deepseek4: deepseek4(); break;
    case r::dots3: dots3(); break;
    case r::exaone4: exaone4(); break;
    case r::falcon: falcon(); break;
    case r::falcon_h1: falcon_h1(); break;
    case r::gemma:
    case r::gemma2:
      base();
      head_size(c_.need({"head_dim"}));
      if (!m_.head_count_kv.given()) m_.head_count_kv = m_.head_count;
      if (row_.how == r::gemma2) sliding_window(c_.need({"sliding_window"}));
      break;
    case r::gemma3: gemma3(); break;
    case r::gemma3n:
      gemma3();
      sliding_types(5);
      break;
    case r::gemma4: gemma4(); break;
    case r::gemma4_assistant:
      gemma4();
      m_.nextn_predict_layers = m_.block_count;
      break;
    case r::gpt2:
      m_.context_length = c_.need({"n_ctx", "n_positions"});
      m_.embedding_length = c_.need({"n_embd"});
      m_.head_count = c_.need({"n_head"});
      break;
    case r::gpt_neox:
      m_.context_length = c_.need({"max_position_embeddings"});
      m_.embedding_length = c_.need({"hidden_size"});
      m_.head_count = c_.need({"num_attention_heads"});
      break;
    case r::granite:
      base();
      no_head_size();
      break;
    case r::granite_swa:
      base();
      no_head_size();
      sliding_window(c_.count_or("sliding_window", 128));
      if (const auto types = c_.array("layer_types"); types && !types->value().empty()) sliding_types(0);
      else m_.sliding_window_pattern = made(m_.block_count, [](std::uint32_t il) { return il % 4 != 0; });
      break;
    case r::granite_switch:
      base();
      no_head_size();
      if (m_.block_count > 0) --m_.block_count;
      break;
    case r::granite_hybrid: granite_hybrid(); break;
    case r::hrm: {
      const std::uint32_t own = c_.count_or("num_layers_per_stack", 0);
      const checked_count slots = checked_count(own != 0 ? own : c_.need({"num_hidden_layers"})) *
                                  c_.need({"H_cycles"}) * (checked_count(c_.need({"L_cycles"})) + 1U);
      m_.block_count = static_cast<std::uint32_t>(smaller(slots, 65'536U).value_or(65'536U));
      base();
      break;
    }
    case r::hunyuan: {
      base();
      auto rope = c_.field({"rope_parameters", "rope_scaling"});
      if (rope && rope->value().is_object()) {
        const auto type = rope->find("rope_type") != nullptr ? rope->string("rope_type") : rope->string("type");
        if (type == "dynamic") m_.context_length = 256U * 1024U;
      }
      break;
    }
    case r::hy_v4: hy_v4(); break;
    case r::jais:
      m_.context_length = c_.need({"n_positions"});
      m_.embedding_length = c_.need({"n_embd"});
      m_.head_count = c_.need({"n_head"});
      break;
    case r::jamba: {
      m_.embedding_length = c_.need({"hidden_size", "mamba_d_model"});
      m_.context_length = c_.need({"max_position_embeddings", "n_ctx"});
      m_.head_count = c_.need({"num_attention_heads"});
      const auto or_else = [&](std::string_view key, std::uint32_t otherwise) {
        const std::uint32_t n = c_.count_or(key, 0);
        return n != 0 ? n : otherwise;
      };
      ssm(or_else("mamba_d_conv", 4), product(c_.need({"mamba_expand"}), m_.embedding_length, "mamba_expand"),
          or_else("mamba_d_state", 16), 0);
      const std::uint32_t kv = c_.need({"num_key_value_heads"});
      const std::uint32_t offset = c_.need({"attn_layer_offset"});
      const std::uint32_t period = c_.need({"attn_layer_period"});
      m_.head_count_kv = made(m_.block_count, [&](std::uint32_t il) {
        return il >= offset && period != 0 && (il - offset) % period == 0 ? kv : 0U;
      });
      break;
    }
    case r::kimi: kimi(); break;
    case r::laguna: {
      base();
      if (const auto heads = c_.array("num_attention_heads_per_layer"); heads && !heads->value().empty()) {
        m_.head_count = numbers(*heads);
      }
      const std::uint32_t window = c_.count_or("sliding_window", 0);
      if (window > 0) sliding_window(window);
      break;
    }
    case r::lfm2:
    case r::lfm2_colbert: {
      const std::uint32_t kv = c_.need({"num_key_value_heads"});
      base();
      const bool moe = row_.gguf == "lfm2moe";
      if (const auto types = c_.array("layer_types")) {
        m_.head_count_kv = list_of(*types, [&](const config::node& n) {
          return (moe ? n.value() == "full_attention" : n.value() != "conv") ? kv : 0U;
        });
      } else if (const auto indices = c_.array("full_attn_idxs")) {
        const per_layer full = listed(*indices, 0);
        m_.head_count_kv = made(m_.block_count, [&](std::uint32_t il) { return full[il] != 0 ? kv : 0U; });
      } else if (!c_.has_class()) {
        c_.fail_missing("layer_types", "an array");
      } else {
        m_.head_count_kv = made(m_.block_count, [&](std::uint32_t) { return kv; });
      }
      m_.shortconv_l_cache = c_.need({"conv_L_cache"});
      if (row_.hf_architecture == "Lfm2BidirectionalModel") m_.causal = false;
      if (row_.how == r::lfm2_colbert) sliding_window(c_.need({"sliding_window"}));
      break;
    }
    case r::llada:
      base();
      m_.context_length = c_.count_or("max_sequence_length", 4096);
      m_.embedding_length = c_.count_or("d_model", 4096);
      m_.causal = false;
      break;
    case r::llama4: llama4(); break;
    case r::mamba:
    case r::mamba2: {
      const bool second = row_.how == r::mamba2;
      m_.context_length = 1U << 20U;
      m_.embedding_length = c_.need({"hidden_size", "d_model", "dim"});
      const auto or_else = [&](std::initializer_list<std::string_view> keys, std::uint32_t otherwise) {
        const std::uint32_t n = c_.count(keys).value_or(0);
        return n != 0 ? n : otherwise;
      };
      const std::uint32_t expand = second ? or_else({"mamba_expand", "expand"}, 2) : 2U;
      const std::uint32_t width = product(expand, m_.embedding_length, "expand");
      const std::uint32_t inner = second ? or_else({"mamba_d_ssm", "intermediate_size", "d_inner"}, width)
                                         : or_else({"intermediate_size", "d_inner"}, width);
      if (inner != width) {
        throw config_error({c_.root().file(), "/intermediate_size", std::to_string(inner)},
                           "not supported by llama.cpp's converter", std::to_string(width));
      }
      ssm(or_else({"conv_kernel", "d_conv"}, 4), inner, or_else({"state_size", "d_state"}, second ? 128 : 16),
          second ? or_else({"n_groups"}, 1) : 0U);
      m_.head_count = 0;
      break;
    }
    case r::mellum:
      base();
      if (c_.boolean("use_sliding_window").value_or(true) && c_.count({"sliding_window"})) {
        sliding_window(c_.count({"sliding_window"}));
        sliding_types(0);
      }
      break;
    case r::mimo2: mimo2(); break;
    case r::minicpm3:
      m_.context_length = c_.need({"max_position_embeddings"});
      m_.embedding_length = c_.need({"hidden_size"});
      m_.head_count = c_.need({"num_attention_heads"});
      m_.head_count_kv = c_.need({"num_key_value_heads"});
      m_.key_length = c_.need({"qk_nope_head_dim"}) + c_.need({"qk_rope_head_dim"});
      break;
    case r::minimax_m3: {
      base();
      const config::node sparse = c_.need_object("sparse_attention_config");
      m_.indexer_key_length = static_cast<std::uint32_t>(sparse.count("sparse_index_dim").value_or(0));
      m_.indexer_top_k = static_cast<std::uint32_t>(sparse.count("sparse_topk_blocks").value_or(0));
      const per_layer moe = numbers(c_.need_array("moe_layer_freq"));
      while (m_.leading_dense_block_count < moe.size() && moe[m_.leading_dense_block_count] == 0) {
        ++m_.leading_dense_block_count;
      }
      break;
    }
    case r::mistral3:
      if (c_.text_model_type() == "mistral4" || (!c_.text_model_type() && c_.root_model_type() == "mistral4")) {
        deepseek2();
        m_.architecture = find_architecture("mistral4");
      } else {
        base();
      }
      break;
    case r::mpt: {
      m_.context_length = c_.count_or("max_seq_len", 2048);  // the default of MptConfig
      m_.embedding_length = c_.need({"d_model"});
      m_.head_count = c_.need({"n_heads"});
      const auto attention = c_.field({"attn_config"});
      const auto kv = attention ? attention->count("kv_n_heads") : std::nullopt;
      if (kv && *kv != 0) m_.head_count_kv = static_cast<std::uint32_t>(*kv);
      break;
    }
    case r::nanbeige: {
      base();
      const std::uint32_t loops = c_.count_or("num_loops", 1);
      m_.num_loops = loops == 0 ? 1U : loops;
      break;
    }
    case r::nemotron_h: nemotron_h(); break;
    case r::nemotron_h_puzzle: {
      const config::node blocks = c_.need_array("block_configs");
      const per_layer attention = list_of(blocks, [](const config::node& b) {
        const auto kind = b.string("block_type");
        return kind == "attention" || kind == "full_attention" ? 1U : 0U;
      });
      nemotron_h_rest(attention, list_of(blocks, [](const config::node& b) {
                        return static_cast<std::uint32_t>(b.count("moe_intermediate_size").value_or(0));
                      }));
      break;
    }
    case r::orion:
      base();
      no_head_size();
      m_.context_length = c_.need({"max_sequence_length", "max_position_embeddings", "model_max_length"});
      break;
    case r::nomic: {
      base();
      m_.causal = false;
      if (c_.count_or("moe_every_n_layers", 0) != 0) m_.architecture = find_architecture("nomic-bert-moe");
      const std::uint32_t trained = c_.need({"n_positions"});
      m_.context_length = trained == 8192 ? 2048U : trained == 2048 ? 512U : trained;
      break;
    }
    case r::olmo2:
      base();
      if (c_.has("sliding_window")) {
        sliding_window(c_.need({"sliding_window"}));
        sliding_types(4);
      }
      break;
    case r::openelm: {
      m_.context_length = c_.need({"max_context_length"});
      m_.embedding_length = c_.need({"model_dim"});
      m_.head_count = numbers(c_.need_array("num_query_heads"));
      m_.head_count_kv = numbers(c_.need_array("num_kv_heads"));
      head_size(c_.need({"head_dim"}));
      break;
    }
    case r::phi2:
      m_.context_length = c_.need({"n_positions", "max_position_embeddings"});
      m_.embedding_length = c_.need({"hidden_size", "n_embd"});
      m_.head_count = c_.need({"num_attention_heads", "n_head"});
      m_.head_count_kv = m_.head_count;
      break;
    case r::phi3:
      m_.context_length = c_.need({"n_positions", "max_position_embeddings"});
      m_.embedding_length = c_.need({"hidden_size", "n_embd"});
      m_.head_count = c_.need({"num_attention_heads", "n_head"});
      m_.head_count_kv = c_.count({"num_key_value_heads", "n_head_kv"}).value_or(m_.head_count[0]);
      break;
    case r::plamo:
      m_.context_length = 4096;
      m_.embedding_length = c_.need({"hidden_size"});
      m_.head_count = c_.need({"num_attention_heads"});
      m_.head_count_kv = 5;  // "num_key_value_heads is wrong", says the converter
      break;
    case r::plamo2: {
      const std::uint32_t step = c_.count_or("mamba_step", 2);
      const bool enabled = c_.boolean("mamba_enabled").value_or(true);
      const std::uint32_t n = m_.block_count;
      const auto is_mamba = [&](std::uint32_t il) {
        if (step == 0 || n <= step / 2) return il != n - 1;
        return il % step != step / 2;
      };
      if (enabled) {
        const std::uint32_t kv = c_.count_or("num_key_value_heads", 4);
        const std::uint32_t heads = c_.count_or("num_attention_heads", 32);
        m_.head_count_kv = made(n, [&](std::uint32_t il) { return is_mamba(il) ? 0U : kv; });
        m_.head_count = made(n, [&](std::uint32_t il) { return is_mamba(il) ? 0U : heads; });
      }
      m_.context_length = c_.count_or("max_position_embeddings", 2048);
      m_.embedding_length = c_.count_or("hidden_size", 4096);
      const std::uint32_t head = c_.count_or("hidden_size_per_head", 128);
      head_size(head);
      ssm(c_.count_or("mamba_d_conv", 4), product(c_.count_or("mamba_num_heads", 64), head, "mamba_num_heads"),
          c_.count_or("mamba_d_state", 64), 0);
      break;
    }
    case r::plamo3:
      base();
      if (const auto window = c_.count({"window_size", "sliding_window"})) {
        sliding_window(window);
        const auto pattern = c_.field({"sliding_window_pattern"});
        if (pattern && pattern->value().is_array()) m_.sliding_window_pattern = numbers(*pattern);
        else if (pattern) m_.sliding_window_pattern = static_cast<std::uint32_t>(pattern->count());
      }
      break;
    case r::plm:
      base();
      m_.key_length = c_.need({"qk_nope_head_dim"}) + c_.need({"qk_rope_head_dim"});
      m_.value_length = c_.need({"v_head_dim"});
      break;
    case r::qwen_mtp: qwen_mtp(); break;
    case r::qwen4: qwen4(); break;
    case r::refact:
      m_.context_length = c_.need({"n_positions"});
      m_.embedding_length = c_.need({"n_embd"});
      m_.head_count = c_.need({"n_head"});
      m_.head_count_kv = 1;
      break;
    case r::starcoder:
      m_.context_length = c_.need({"n_positions"});
      m_.embedding_length = c_.need({"n_embd"});
      m_.head_count = c_.need({"n_head"});
      m_.head_count_kv = 1;
      break;
    case r::rwkv6:
    case r::rwkv6qwen2:
    case r::rwkv7:
    case r::arwkv7:
      m_.context_length = 1U << 20U;
      m_.embedding_length = c_.need({"hidden_size"});
      m_.head_count = 0;
      if (row_.how != r::rwkv6) m_.token_shift_count = row_.how == r::rwkv7 ? 2U : 1U;
      if (row_.how == r::rwkv6qwen2) {
        const std::uint32_t heads = c_.need({"num_attention_heads"});
        m_.wkv_head_size = heads == 0 ? 0U : m_.embedding_length / heads;
        m_.head_count_kv = c_.need({"num_key_value_heads"});
      } else {
        m_.wkv_head_size = row_.how == r::rwkv7 ? c_.need({"head_size", "head_dim"}) : c_.need({"head_size"});
      }
      break;
    case r::smallthinker: {
      base();
      const auto layout = c_.array("sliding_window_layout");
      bool any = false;
      if (layout) {
        for (const config::json& l : layout->value()) any = any || l != 0;
      }
      const std::uint32_t window = any ? c_.count_or("sliding_window_size", 0) : 0U;
      if (window != 0) sliding_window(window);
      break;
    }
    case r::stablelm:
      m_.context_length = c_.need({"max_position_embeddings"});
      m_.embedding_length = c_.need({"hidden_size"});
      m_.head_count = c_.need({"num_attention_heads"});
      m_.head_count_kv = c_.need({"num_key_value_heads"});
      break;
    case r::step35: step35(); break;
    case r::t5: {
      const auto positions = c_.count({"n_positions"});
      m_.context_length = positions.value_or(512);
      m_.embedding_length = c_.need({"d_model"});
      m_.head_count = c_.need({"num_heads"});
      head_size(c_.need({"d_kv"}));
      break;
    }
    case r::draft: break;  // refused before
  }
}

/// The GGUF keys of a config.json. Throws config_error.
[[nodiscard]] inline metadata convert(const hf_source& c) { return conversion(c, converter_of(c)).run(); }

}  // namespace kvbudget::llama_cpp::detail
