// Which keys the loader of each architecture reads, which of them it must find, and of which type. Data only.
//
// Read from llama.cpp 0.5.0-dev: llama_model_base::load_hparams in src/llama-model.cpp, load_arch_hparams of
// src/models/*.cpp, src/llama-arch.cpp (names). Keys stand without the architecture's prefix, separated by spaces; one
// that must be there ends in '!'.
#pragma once

#include <string_view>
#include <unordered_set>

namespace kvbudget::detail::llama_cpp {

/// Architectures whose loaders read the same keys, beside those that all loaders read.
struct loader_keys {
  std::string_view architectures;
  std::string_view keys;
};

inline constexpr std::string_view keys_of_all_loaders =
    "context_length! embedding_length! embedding_length_out attention.causal pooling_type classifier.pooling_type "
    "block_count! nextn_predict_layers expert_count expert_used_count expert_group_count expert_group_used_count "
    "feed_forward_length attention.head_count attention.head_count_kv rope.scaling.finetuned "
    "rope.scaling.original_context_length rope.freq_base rope.scaling.type rope.scaling.factor rope.scale_linear "
    "rope.scaling.attn_factor rope.scaling.alpha attention.key_length attention.value_length rope.dimension_count "
    "attention.key_length_swa attention.value_length_swa rope.dimension_count_swa classifier.output_labels "
    "vocab_size";

// clang-format off
inline constexpr loader_keys loaders[] = {
    {"llama llama-embed",
     "attention.layer_norm_rms_epsilon! vocab_size"},
    {"llama4",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length! interleave_moe_layer_step! "
     "attention.sliding_window rope.freq_base_swa attention.sliding_window_pattern"},
    {"maincoder deci baichuan refact neo-bert eurobert qwen qwen2 dream llada qwen3 phimoe plamo internlm2 gemma "
     "xverse olmoe openelm arctic chatglm bitnet exaone seed_oss arcee smollm3 cogvlm pangu-embedded",
     "attention.layer_norm_rms_epsilon!"},
    {"talkie",
     "attention.layer_norm_rms_epsilon! logit_scale!"},
    {"falcon starcoder bert jina-bert-v2 jina-bert-v3 nomic-bert bloom stablelm pockettts phi2 gpt2 codeshell "
     "orion starcoder2 jais2 nemotron",
     "attention.layer_norm_epsilon!"},
    {"grok",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length logit_scale embedding_scale "
     "attention.output_scale attn_logit_softcapping router_logit_softcapping final_logit_softcapping "
     "attention.temperature_length rope.scaling.yarn_ext_factor rope.scaling.yarn_attn_factor "
     "rope.scaling.yarn_beta_fast rope.scaling.yarn_beta_slow"},
    {"nomic-bert-moe",
     "attention.layer_norm_epsilon! moe_every_n_layers"},
    {"modern-bert",
     "attention.layer_norm_epsilon! attention.sliding_window rope.freq_base_swa hidden_activation "
     "attention.sliding_window_pattern"},
    {"mpt",
     "attention.layer_norm_epsilon! attention.clamp_kqv attention.max_alibi_bias"},
    {"mellum",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length! attention.sliding_window rope.freq_base_swa "
     "attention.sliding_window_pattern"},
    {"nanbeige",
     "attention.layer_norm_rms_epsilon! num_loops skip_loop_final_norm"},
    {"llada-moe rnd1 qwen3moe",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length"},
    {"qwen2vl",
     "rope.dimension_sections!"},
    {"qwen2moe",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length expert_shared_feed_forward_length"},
    {"qwen3vl qwen3tts",
     "rope.dimension_sections! attention.layer_norm_rms_epsilon! n_deepstack_layers"},
    {"qwen3vlmoe",
     "rope.dimension_sections! attention.layer_norm_rms_epsilon! n_deepstack_layers expert_feed_forward_length"},
    {"phi3",
     "attention.layer_norm_rms_epsilon! attention.sliding_window"},
    {"plamo2 falcon-h1",
     "attention.layer_norm_rms_epsilon! ssm.conv_kernel! ssm.inner_size! ssm.state_size! ssm.time_step_rank! "
     "ssm.group_count!"},
    {"plamo3 olmo2",
     "attention.layer_norm_rms_epsilon! attention.sliding_window rope.freq_base_swa "
     "attention.sliding_window_pattern"},
    {"minicpm3",
     "attention.layer_norm_rms_epsilon! attention.q_lora_rank! attention.kv_lora_rank!"},
    {"gemma2",
     "attention.layer_norm_rms_epsilon! rope.freq_base_swa attention.sliding_window attn_logit_softcapping "
     "final_logit_softcapping attention.sliding_window_pattern"},
    {"gemma3",
     "attention.layer_norm_rms_epsilon! attention.sliding_window rope.freq_base_swa final_logit_softcapping "
     "attention.sliding_window_pattern"},
    {"gemma3n",
     "attention.sliding_window! attention.layer_norm_rms_epsilon! rope.freq_base_swa "
     "attention.sliding_window_pattern"},
    {"gemma4",
     "attention.sliding_window_pattern! attention.sliding_window! attention.layer_norm_rms_epsilon! "
     "embedding_length_per_layer_input! attention.key_length_swa! attention.value_length_swa! "
     "attention.shared_kv_layers rope.freq_base_swa expert_feed_forward_length final_logit_softcapping"},
    {"gemma4-assistant",
     "attention.sliding_window_pattern! attention.sliding_window! attention.layer_norm_rms_epsilon! "
     "attention.key_length_swa! attention.value_length_swa! attention.shared_kv_layers rope.freq_base_swa"},
    {"gemma-embedding",
     "attention.sliding_window! attention.layer_norm_rms_epsilon! rope.freq_base_swa dense_2_feat_in "
     "dense_2_feat_out dense_3_feat_in dense_3_feat_out attention.sliding_window_pattern"},
    {"mamba",
     "ssm.conv_kernel! ssm.inner_size! ssm.state_size! ssm.time_step_rank! attention.layer_norm_rms_epsilon! "
     "ssm.dt_b_c_rms"},
    {"mamba2",
     "ssm.conv_kernel! ssm.inner_size! ssm.state_size! ssm.time_step_rank! ssm.group_count! "
     "attention.layer_norm_rms_epsilon!"},
    {"maple",
     "attention.layer_norm_rms_epsilon! attention.sliding_window! expert_feed_forward_length! "
     "attention.sliding_window_pattern! swiglu_clamp_exp! rope.freq_base_swa"},
    {"jamba",
     "ssm.conv_kernel! ssm.inner_size! ssm.state_size! ssm.time_step_rank! attention.layer_norm_rms_epsilon!"},
    {"command-r",
     "attention.layer_norm_epsilon! logit_scale"},
    {"cohere2",
     "attention.sliding_window! logit_scale! attention.layer_norm_epsilon! rope.freq_base_swa "
     "attention.sliding_window_pattern"},
    {"cohere2moe",
     "attention.sliding_window! logit_scale! leading_dense_block_count! expert_feed_forward_length! "
     "attention.layer_norm_epsilon attention.layer_norm_rms_epsilon expert_shared_feed_forward_length "
     "expert_shared_count expert_weights_norm expert_weights_scale expert_gating_func rope.freq_base_swa "
     "attention.sliding_window_pattern"},
    {"dbrx",
     "attention.layer_norm_epsilon! attention.clamp_kqv!"},
    {"olmo",
     "attention.layer_norm_epsilon! attention.clamp_kqv"},
    {"muse-glimmer",
     "attention.layer_norm_rms_epsilon! attention.sliding_window! logit_scale! final_logit_softcapping "
     "rope.freq_base_swa attention.sliding_window_pattern"},
    {"gptneox",
     "attention.layer_norm_epsilon! use_parallel_residual!"},
    {"deepseek",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length! expert_shared_count! "
     "leading_dense_block_count expert_weights_scale"},
    {"deepseek2 mistral4",
     "attention.layer_norm_rms_epsilon! attention.kv_lora_rank! expert_feed_forward_length! expert_shared_count! "
     "vocab_size leading_dense_block_count attention.q_lora_rank attention.key_length_mla "
     "attention.value_length_mla expert_weights_scale expert_weights_norm expert_gating_func "
     "rope.scaling.yarn_log_multiplier attention.temperature_scale attention.temperature_length"},
    {"deepseek2-ocr dots1",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length! expert_shared_count! "
     "leading_dense_block_count expert_weights_scale expert_weights_norm expert_gating_func"},
    {"deepseek32",
     "expert_feed_forward_length! attention.layer_norm_rms_epsilon! expert_shared_count! attention.q_lora_rank! "
     "attention.kv_lora_rank! attention.indexer.head_count! attention.indexer.key_length! "
     "attention.indexer.top_k! expert_gating_func! rope.dimension_sections leading_dense_block_count "
     "expert_weights_scale expert_weights_norm attention.key_length_mla attention.value_length_mla "
     "rope.scaling.yarn_log_multiplier"},
    {"dots3note",
     "attention.layer_norm_rms_epsilon! expert_shared_count! expert_feed_forward_length! "
     "leading_dense_block_count! expert_gating_func! attention.q_lora_rank! attention.kv_lora_rank! "
     "attention.key_length_mla! attention.value_length_mla! attention.kv_lora_rank_swa! "
     "attention.key_length_mla_swa! attention.value_length_mla_swa! attention.sliding_window! rope.freq_base_swa! "
     "attention.sliding_window_pattern! attention.indexer.head_count! attention.indexer.key_length! "
     "attention.indexer.top_k! attention.indexer.types! expert_weights_scale expert_weights_norm"},
    {"deepseek4",
     "attention.layer_norm_rms_epsilon! attention.q_lora_rank! attention.sliding_window! "
     "expert_feed_forward_length! expert_shared_count! expert_weights_scale! expert_weights_norm! "
     "swiglu_clamp_exp! attention.indexer.head_count! attention.indexer.key_length! attention.indexer.top_k! "
     "attention.output_group_count! attention.output_lora_rank! attention.compress_rope_freq_base! "
     "hyper_connection.count! hyper_connection.sinkhorn_iterations! hyper_connection.epsilon! hash_layer_count! "
     "attention.compress_ratios! expert_gating_func! swiglu_clamp_shexp"},
    {"glm-dsa",
     "expert_feed_forward_length! attention.layer_norm_rms_epsilon! expert_shared_count! attention.q_lora_rank! "
     "attention.kv_lora_rank! attention.indexer.head_count! attention.indexer.key_length! "
     "attention.indexer.top_k! rope.dimension_sections leading_dense_block_count expert_weights_scale "
     "expert_weights_norm attention.key_length_mla attention.value_length_mla expert_gating_func "
     "attention.indexer.types"},
    {"glm4 ernie4_5 paddleocr hunyuan_vl hunyuan-dense",
     "attention.layer_norm_rms_epsilon! rope.dimension_sections"},
    {"glm4moe",
     "expert_feed_forward_length! attention.layer_norm_rms_epsilon! expert_shared_count! rope.dimension_sections "
     "leading_dense_block_count expert_weights_scale expert_weights_norm expert_gating_func"},
    {"t5",
     "attention.layer_norm_rms_epsilon! attention.relative_buckets_count! decoder_start_token_id "
     "decoder_block_count"},
    {"t5encoder",
     "attention.layer_norm_rms_epsilon! attention.relative_buckets_count!"},
    {"jais",
     "attention.layer_norm_epsilon! attention.max_alibi_bias"},
    {"nemotron_h nemotron_h_moe",
     "ssm.conv_kernel! ssm.inner_size! ssm.state_size! ssm.time_step_rank! ssm.group_count! "
     "attention.layer_norm_epsilon! attention.layer_norm_rms_epsilon expert_feed_forward_length "
     "expert_shared_feed_forward_length expert_shared_count expert_weights_norm expert_weights_scale "
     "moe_latent_size"},
    {"exaone4",
     "attention.layer_norm_rms_epsilon! rope.freq_base_swa attention.sliding_window "
     "attention.sliding_window_pattern"},
    {"exaone-moe",
     "attention.sliding_window! attention.layer_norm_rms_epsilon! expert_feed_forward_length! expert_gating_func! "
     "rope.freq_base_swa expert_shared_count expert_shared_feed_forward_length expert_weights_scale "
     "expert_weights_norm leading_dense_block_count attention.sliding_window_pattern"},
    {"rwkv6 rwkv6qwen2",
     "wkv.head_size! time_mix_extra_dim! time_decay_extra_dim! attention.layer_norm_epsilon "
     "attention.layer_norm_rms_epsilon rescale_every_n_layers token_shift_count"},
    {"rwkv7 arwkv7",
     "wkv.head_size! attention.decay_lora_rank! attention.iclr_lora_rank! attention.value_residual_mix_lora_rank! "
     "attention.layer_norm_epsilon attention.layer_norm_rms_epsilon attention.gate_lora_rank token_shift_count"},
    {"granite",
     "attention.layer_norm_rms_epsilon! logit_scale! residual_scale embedding_scale attention.scale "
     "deepstack_mapping expert_shared_feed_forward_length"},
    {"granitemoe",
     "attention.layer_norm_rms_epsilon! logit_scale! residual_scale embedding_scale attention.scale "
     "expert_shared_feed_forward_length"},
    {"graniteswitch",
     "attention.layer_norm_rms_epsilon! logit_scale! adapters.count! adapters.lora_rank! "
     "adapters.token_ids_activate! adapters.token_ids_substitute! residual_scale embedding_scale attention.scale "
     "expert_shared_feed_forward_length adapters.router_gain"},
    {"minicpm",
     "attention.layer_norm_rms_epsilon! embedding_scale residual_scale logit_scale"},
    {"granitehybrid",
     "attention.layer_norm_rms_epsilon! ssm.conv_kernel! ssm.inner_size! ssm.state_size! ssm.time_step_rank! "
     "ssm.group_count! logit_scale residual_scale embedding_scale attention.scale "
     "expert_shared_feed_forward_length"},
    {"granite_swa",
     "attention.layer_norm_rms_epsilon! logit_scale! attention.sliding_window_pattern! attention.sliding_window! "
     "residual_scale embedding_scale attention.scale deepstack_mapping attention.rope_pattern "
     "expert_shared_feed_forward_length"},
    {"chameleon",
     "attention.layer_norm_rms_epsilon! swin_norm"},
    {"wavtokenizer-dec",
     "attention.layer_norm_epsilon! attention.group_norm_epsilon! attention.group_norm_groups! features_length! "
     "posnet.embedding_length! posnet.block_count! convnext.embedding_length! convnext.block_count!"},
    {"plm",
     "attention.layer_norm_rms_epsilon! attention.kv_lora_rank!"},
    {"bailingmoe",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length! expert_shared_count! "
     "leading_dense_block_count expert_weights_scale expert_weights_norm"},
    {"bailingmoe2",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length! expert_shared_count! expert_gating_func! "
     "leading_dense_block_count expert_shared_feed_forward_length expert_weights_scale expert_weights_norm"},
    {"bailingmoe3",
     "attention.layer_norm_rms_epsilon! attention.key_length_mla! attention.value_length_mla! "
     "attention.kv_lora_rank! ssm.conv_kernel! kda.head_dim! kda.gate_lower_bound! expert_feed_forward_length! "
     "expert_shared_count! leading_dense_block_count! expert_gating_func! attention.q_lora_rank kda.safe_gate "
     "rope.dimension_sections expert_shared_feed_forward_length expert_weights_scale expert_weights_norm "
     "swiglu_clamp_exp swiglu_clamp_shexp"},
    {"afmoe",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length! expert_shared_count! "
     "leading_dense_block_count expert_gating_func expert_weights_scale expert_weights_norm "
     "attention.sliding_window rope.freq_base_swa attention.sliding_window_pattern"},
    {"laguna",
     "attention.layer_norm_rms_epsilon! leading_dense_block_count! expert_feed_forward_length! expert_gating_func "
     "expert_weights_scale expert_weights_norm expert_shared_count expert_shared_feed_forward_length "
     "attention.sliding_window rope.freq_base_swa attention.sliding_window_pattern"},
    {"ernie4_5-moe",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length! interleave_moe_layer_step! "
     "rope.dimension_sections expert_shared_feed_forward_length leading_dense_block_count"},
    {"hunyuan-moe",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length! expert_shared_feed_forward_length"},
    {"hy_v3",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length! expert_shared_feed_forward_length "
     "expert_gating_func expert_weights_scale expert_weights_norm"},
    {"hy_v4",
     "attention.layer_norm_rms_epsilon! attention.q_lora_rank! attention.kv_lora_rank! attention.key_length_mla! "
     "attention.value_length_mla! expert_feed_forward_length! expert_shared_count! hyper_connection.count! "
     "hyper_connection.epsilon! hyper_connection.magnitude! leading_dense_block_count expert_weights_scale "
     "expert_weights_norm expert_gating_func swiglu_clamp_exp attention.indexer.head_count "
     "attention.indexer.key_length attention.indexer.top_k attention.indexer.types"},
    {"gpt-oss",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length! attention.sliding_window! rope.freq_base_swa "
     "attention.sliding_window_pattern"},
    {"lfm2",
     "shortconv.l_cache! attention.layer_norm_rms_epsilon! attention.sliding_window"},
    {"lfm2moe",
     "shortconv.l_cache! attention.layer_norm_rms_epsilon! expert_feed_forward_length! expert_gating_func! "
     "leading_dense_block_count"},
    {"smallthinker",
     "attention.layer_norm_rms_epsilon! attention.sliding_window rope.freq_base_swa expert_feed_forward_length "
     "expert_gating_func attention.sliding_window_pattern"},
    {"grovemoe",
     "expert_feed_forward_length! expert_group_scale! experts_per_group! attention.layer_norm_rms_epsilon! "
     "expert_chunk_feed_forward_length"},
    {"apertus",
     "attention.layer_norm_rms_epsilon! xielu.alpha_n! xielu.alpha_p! xielu.beta! xielu.eps!"},
    {"minimax-01",
     "attention.layer_norm_rms_epsilon! residual_scale! attention.recurrent_layers full_attention_interval"},
    {"minimax-m2",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length! expert_gating_func"},
    {"minimax-m3",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length! expert_shared_count! expert_gating_func! "
     "attention.indexer.head_count! attention.indexer.key_length! attention.indexer.top_k! "
     "attention.indexer.block_size! attention.indexer.local_blocks! leading_dense_block_count "
     "expert_weights_scale expert_weights_norm"},
    {"hrm_text",
     "attention.layer_norm_rms_epsilon! hrm.layers_per_stack! hrm.h_cycles! hrm.l_cycles! embedding_scale "
     "hrm.prefix_lm"},
    {"qwen3next",
     "attention.layer_norm_rms_epsilon! ssm.conv_kernel! ssm.inner_size! ssm.state_size! ssm.time_step_rank! "
     "ssm.group_count! expert_feed_forward_length expert_shared_feed_forward_length attention.recurrent_layers "
     "full_attention_interval"},
    {"qwen35",
     "attention.layer_norm_rms_epsilon! rope.dimension_sections! ssm.conv_kernel! ssm.inner_size! ssm.state_size! "
     "ssm.time_step_rank! ssm.group_count! attention.recurrent_layers full_attention_interval"},
    {"qwen35moe",
     "attention.layer_norm_rms_epsilon! rope.dimension_sections! ssm.conv_kernel! ssm.inner_size! ssm.state_size! "
     "ssm.time_step_rank! ssm.group_count! expert_feed_forward_length expert_shared_feed_forward_length "
     "attention.recurrent_layers full_attention_interval"},
    {"qwen4exp",
     "attention.layer_norm_rms_epsilon! rope.dimension_sections! ssm.conv_kernel! ssm.inner_size! ssm.state_size! "
     "ssm.time_step_rank! ssm.group_count! hyper_connection.count! hyper_connection.low_rank! "
     "attention.indexer.head_count! attention.indexer.key_length! attention.indexer.top_k! "
     "expert_feed_forward_length expert_shared_feed_forward_length attention.compress_ratios ple.layers "
     "ple.image_token_id attention.recurrent_layers full_attention_interval"},
    {"mistral3",
     "attention.layer_norm_rms_epsilon! attention.temperature_scale rope.scaling.yarn_beta_fast "
     "rope.scaling.yarn_beta_slow rope.scaling.yarn_log_multiplier"},
    {"eagle3",
     "attention.layer_norm_rms_epsilon! target_hidden_size! target_layers! norm_before_residual norm_before_fc"},
    {"dflash",
     "attention.layer_norm_rms_epsilon! target_layers! embedding_scale attention.scale attention.value_scale "
     "hidden_activation logit_scale final_logit_softcapping rope.dimension_sections block_size conv_kernel_size "
     "conv_group_size selector_rank selector_top_k hyper_connection.count swiglu_clamp_shexp "
     "attention.compress_ratios attention.sliding_window "
     "attention.sliding_window_pattern"},
    {"mimo2",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length! attention.sliding_window! "
     "attention.sliding_window_pattern! rope.freq_base_swa attention.value_scale"},
    {"kimi-linear",
     "attention.layer_norm_rms_epsilon! attention.key_length_mla! attention.value_length_mla! "
     "attention.kv_lora_rank! ssm.conv_kernel! kda.head_dim! expert_feed_forward_length! expert_shared_count! "
     "expert_gating_func! leading_dense_block_count expert_weights_scale"},
    {"kimi-k3",
     "attention.layer_norm_rms_epsilon! attention.key_length_mla! attention.value_length_mla! "
     "attention.kv_lora_rank! ssm.conv_kernel! kda.head_dim! expert_feed_forward_length! expert_shared_count! "
     "expert_gating_func! attn_res.block_size! activation.situ_beta! activation.situ_linear_beta! "
     "attention.q_lora_rank kda.gate_lower_bound leading_dense_block_count expert_weights_scale "
     "expert_weights_norm expert_latent_length"},
    {"glm5-next",
     "attention.layer_norm_rms_epsilon! attention.key_length_mla! attention.value_length_mla! "
     "attention.q_lora_rank! attention.kv_lora_rank! ssm.conv_kernel! kda.head_dim! expert_feed_forward_length! "
     "expert_shared_count! attention.indexer.head_count! attention.indexer.key_length! attention.indexer.top_k! "
     "attention.indexer.kpool! hyper_connection.count! hyper_connection.sinkhorn_iterations! "
     "hyper_connection.epsilon! attention.layer_norm_epsilon kda.gate_lower_bound leading_dense_block_count "
     "expert_weights_scale expert_weights_norm expert_gating_func swiglu_clamp_exp swiglu_clamp_shexp "
     "attention.indexer.kpool_select_tail attention.indexer.types"},
    {"step35",
     "attention.layer_norm_rms_epsilon! expert_feed_forward_length! attention.sliding_window! "
     "attention.sliding_window_pattern! expert_shared_feed_forward_length expert_gating_func expert_weights_scale "
     "expert_weights_norm rope.freq_base_swa swiglu_clamp_exp swiglu_clamp_shexp"},
    {"spark2_5",
     "attention.layer_norm_rms_epsilon! attention.sliding_window! attention.sliding_window_pattern! "
     "rope.freq_base_swa"},
    {"dflash+backbone",
     "attention.q_lora_rank! attention.sliding_window! expert_feed_forward_length! expert_shared_count! "
     "expert_weights_scale! expert_weights_norm! expert_gating_func! swiglu_clamp_exp! "
     "attention.output_group_count! attention.output_lora_rank! hyper_connection.sinkhorn_iterations! "
     "hyper_connection.epsilon!"},
    {"qwen4exp+ple",
     "ple.ngram_size! ple.heads_per_ngram! ple.conv_kernel! ple.eos_token_id! embedding_length_per_layer_input! "
     "ple.layer_multipliers! ple.head_offsets! ple.head_vocab_sizes!"},
};
// clang-format on

/// Types of the keys that are no single u32. '*': one value, or a list with one for each layer; '[]': a list only.
struct typed_keys {
  std::string_view type;
  std::string_view keys;
};
inline constexpr typed_keys key_types[] = {
    {"f32",
     "activation.situ_beta activation.situ_linear_beta adapters.router_gain attention.clamp_kqv "
     "attention.compress_rope_freq_base attention.group_norm_epsilon attention.layer_norm_epsilon "
     "attention.layer_norm_rms_epsilon attention.max_alibi_bias attention.output_scale attention.scale "
     "attention.temperature_scale attention.value_scale attn_logit_softcapping embedding_scale expert_group_scale "
     "expert_weights_scale final_logit_softcapping hyper_connection.epsilon hyper_connection.magnitude "
     "kda.gate_lower_bound logit_scale residual_scale rope.freq_base rope.freq_base_swa rope.scale_linear "
     "rope.scaling.alpha rope.scaling.attn_factor rope.scaling.factor rope.scaling.yarn_attn_factor "
     "rope.scaling.yarn_beta_fast rope.scaling.yarn_beta_slow rope.scaling.yarn_ext_factor "
     "rope.scaling.yarn_log_multiplier router_logit_softcapping"},
    {"bool",
     "attention.causal attention.indexer.kpool_select_tail expert_weights_norm hrm.prefix_lm kda.safe_gate "
     "norm_before_fc norm_before_residual rope.scaling.finetuned skip_loop_final_norm ssm.dt_b_c_rms swin_norm "
     "use_parallel_residual"},
    {"str", "general.name hidden_activation rope.scaling.type"},
    {"u32*",
     "attention.compress_ratios attention.head_count attention.head_count_kv attention.indexer.types "
     "attention.recurrent_layers attention.sliding_window_pattern expert_feed_forward_length expert_used_count "
     "feed_forward_length"},
    {"i32*", "rope.dimension_sections"},
    {"f32*", "swiglu_clamp_exp swiglu_clamp_shexp xielu.alpha_n xielu.alpha_p xielu.beta xielu.eps"},
    {"[u32]", "attention.rope_pattern ple.layers"},
    {"[i32]", "adapters.token_ids_activate adapters.token_ids_substitute deepstack_mapping target_layers"},
    {"[u64]", "ple.head_offsets ple.head_vocab_sizes ple.layer_multipliers"},
    {"[str]", "classifier.output_labels"},
};

/// Calls visit(word) for the words of a list until it returns true.
template <class Visit>
constexpr bool any_word(std::string_view list, const Visit& visit) {
  while (!list.empty()) {
    const std::size_t space = list.find(' ');
    if (visit(list.substr(0, space))) return true;
    if (space == list.npos) return false;
    list.remove_prefix(space + 1);
  }
  return false;
}

/// A key without its '!'.
[[nodiscard]] constexpr std::string_view bare_key(std::string_view word) noexcept {
  if (!word.empty() && word.back() == '!') word.remove_suffix(1);
  return word;
}

/// What the loader of one architecture reads beside the keys of all.
[[nodiscard]] constexpr std::string_view keys_of_loader(std::string_view architecture) noexcept {
  for (const loader_keys& row : loaders) {
    if (any_word(row.architectures, [&](std::string_view name) { return name == architecture; })) return row.keys;
  }
  return {};
}

/// The loader of this architecture reads it, be it under some condition ("+" rows).
[[nodiscard]] constexpr bool loader_reads(std::string_view architecture, std::string_view key) noexcept {
  const auto same = [key](std::string_view word) { return bare_key(word) == key; };
  if (any_word(keys_of_all_loaders, same) || any_word(keys_of_loader(architecture), same)) return true;
  for (const loader_keys& row : loaders) {
    const std::size_t plus = row.architectures.find('+');
    if (plus != row.architectures.npos && row.architectures.substr(0, plus) == architecture &&
        any_word(row.keys, same)) {
      return true;
    }
  }
  return false;
}

/// Some loader reads it.
[[nodiscard]] inline bool is_loader_key(std::string_view key) {
  static const std::unordered_set<std::string_view> all = [] {
    std::unordered_set<std::string_view> keys;
    const auto add = [&keys](std::string_view word) {
      keys.insert(bare_key(word));
      return false;
    };
    any_word(keys_of_all_loaders, add);
    for (const loader_keys& row : loaders) any_word(row.keys, add);
    return keys;
  }();
  return all.count(key) != 0;
}

/// By GGUF's names, see typed_keys.
[[nodiscard]] constexpr std::string_view type_of_key(std::string_view key) noexcept {
  for (const typed_keys& row : key_types) {
    if (any_word(row.keys, [key](std::string_view word) { return word == key; })) return row.type;
  }
  return "u32";
}

}  // namespace kvbudget::detail::llama_cpp
