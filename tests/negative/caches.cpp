// What must not compile: caches that have no size, requests that say too little, combinations without a rule.
#include <kvbudget/core.hpp>

using namespace kvbudget;

constexpr full_attention layer = grouped_query_attention(8, 128, bf16);
constexpr uniform_batch batch{request(1000_tokens, 24_tokens), 4};

#if defined(cache_overflows)  // error: kv_cache_size_overflows_64_bits
constexpr bytes large = total_bytes(layer, stored_positions{}, uniform_batch{request(tokens::max(), 0_tokens), 1});
#else
constexpr bytes large = total_bytes(layer, stored_positions{}, uniform_batch{request(1_tokens, 0_tokens), 1});
#endif

#if defined(length_overflows)  // error: kv_cache_size_overflows_64_bits
constexpr std::uint64_t length = request(tokens::max(), 1_tokens).length().value();
#else
constexpr std::uint64_t length = request(tokens::max(), 0_tokens).length().value();
#endif

#if defined(partial_block)  // error: row_is_not_a_whole_number_of_blocks
constexpr bytes row = total_bytes(grouped_query_attention(1, 80, q8_0), stored_positions{}, batch);
#else
constexpr bytes row = total_bytes(grouped_query_attention(1, 96, q8_0), stored_positions{}, batch);
#endif

#if defined(partial_byte)  // error: row_is_not_a_whole_number_of_blocks
constexpr std::uint64_t half = int4.row_bytes(127U).value();
#else
constexpr std::uint64_t half = int4.row_bytes(128U).value();
#endif

#if defined(block_of_zero)  // error: division_by_a_size_of_zero
constexpr bytes pages = total_bytes(layer, paged{0_tokens}, batch);
#else
constexpr bytes pages = total_bytes(layer, paged{1_tokens}, batch);
#endif

#if defined(longer_than_reserved)  // error: request_is_longer_than_its_reservation
constexpr bytes reserved = total_bytes(layer, static_reservation{1023_tokens}, batch);
#else
constexpr bytes reserved = total_bytes(layer, static_reservation{1024_tokens}, batch);
#endif

#if defined(too_many_layers)  // error: model_has_more_than_65536_layers
constexpr bytes layers = total_bytes(repeated{65'537U, layer}, stored_positions{}, batch);
#else
constexpr bytes layers = total_bytes(repeated{65'536U, layer}, stored_positions{}, batch);
#endif

#if defined(inverse_of_a_partial_block)  // error: row_is_not_a_whole_number_of_blocks
constexpr limit longest = cache_formula{grouped_query_attention(1, 80, q8_0), stored_positions{}}.max_length(1_GiB, 1);
#else
constexpr limit longest = cache_formula{grouped_query_attention(1, 96, q8_0), stored_positions{}}.max_length(1_GiB, 1);
#endif

#if defined(request_without_generation)  // error: no matching
constexpr request half_stated(1000_tokens);
#else
constexpr request half_stated(1000_tokens, 24_tokens);
#endif

#if defined(request_in_plain_numbers)  // error: no matching
constexpr request plain(1000, 24);
#else
constexpr request plain(tokens(1000), tokens(24));
#endif

#if defined(negative_heads)  // error: narrow
constexpr kv_row heads{-8, 128, bf16};
#else
constexpr kv_row heads{8, 128, bf16};
#endif

#if defined(fractional_head_size)  // error: narrow
constexpr kv_row head_size{8, 128.5, bf16};
#else
constexpr kv_row head_size{8, 128, bf16};
#endif

#if defined(signed_lengths)  // error: no matching|no viable|constraint
constexpr int lengths[] = {1, 2};
constexpr ragged_batch<int> ragged(lengths);
#else
constexpr unsigned lengths[] = {1, 2};
constexpr ragged_batch<unsigned> ragged(lengths);
#endif

struct policy_without_rules {};
struct policy_with_a_rule {};
constexpr checked_count positions(policy_with_a_rule, const full_attention&, const request& r) { return r.length(); }

#if defined(policy_has_no_rule)  // error: cacheable
constexpr bytes ruled = total_bytes(layer, policy_without_rules{}, batch);
#else
constexpr bytes ruled = total_bytes(layer, policy_with_a_rule{}, batch);
#endif

#if defined(policy_has_no_rule_for_this_kind)  // error: cacheable
constexpr bytes kind = total_bytes(with_window(layer, 128_tokens), policy_with_a_rule{}, batch);
#else
constexpr bytes kind = total_bytes(with_window(layer, 128_tokens), stored_positions{}, batch);
#endif

#if defined(formula_without_a_rule)  // error: constraints not satisfied
constexpr cache_formula formula{repeated{32U, layer}, policy_without_rules{}};
#else
constexpr cache_formula formula{repeated{32U, layer}, policy_with_a_rule{}};
#endif

#if defined(ragged_batch_without_a_rule)  // error: cacheable
constexpr unsigned ragged_lengths[] = {1, 2};
constexpr bytes sum = total_bytes(layer, policy_without_rules{}, ragged_batch<unsigned>(ragged_lengths));
#else
constexpr unsigned ragged_lengths[] = {1, 2};
constexpr bytes sum = total_bytes(layer, policy_with_a_rule{}, ragged_batch<unsigned>(ragged_lengths));
#endif

#if defined(heads_do_not_divide)  // error: layer_does_not_divide_among_ranks
constexpr full_attention third = on_rank(layer, 3);
#else
constexpr full_attention third = on_rank(layer, 2);
#endif

#if defined(context_parallel_window)  // error: cacheable
constexpr bytes slice =
    total_bytes(with_window(layer, 128_tokens), context_parallel<stored_positions>{{}, 2, 0}, batch);
#else
constexpr bytes slice = total_bytes(layer, context_parallel<stored_positions>{{}, 2, 0}, batch);
#endif
