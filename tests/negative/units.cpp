// What must not compile: units that do not mix, numbers that are no counts, sizes that have no value.
#include <kvbudget/core.hpp>

using namespace kvbudget;

#if defined(product_overflows)  // error: kv_cache_size_overflows_64_bits
constexpr bytes product = bytes::max() * 2U;
#else
constexpr bytes product = bytes::max() * 1U;
#endif

#if defined(sum_overflows)  // error: kv_cache_size_overflows_64_bits
constexpr bytes sum = bytes::max() + 1_B;
#else
constexpr bytes sum = bytes::max() + 0_B;
#endif

#if defined(literal_overflows)  // error: kv_cache_size_overflows_64_bits
constexpr bytes literal = 17'179'869'184_GiB;
#else
constexpr bytes literal = 17'179'869'183_GiB;
#endif

#if defined(negative_bytes)  // error: kv_cache_size_is_negative
constexpr bytes negative(-1);
#else
constexpr bytes negative(1);
#endif

#if defined(negative_difference)  // error: kv_cache_size_is_negative
constexpr bytes difference = 1_B - 2_B;
#else
constexpr bytes difference = 2_B - 1_B;
#endif

#if defined(divides_by_zero)  // error: division_by_a_size_of_zero
constexpr tokens quotient = 8_tokens / 0U;
#else
constexpr tokens quotient = 8_tokens / 1U;
#endif

#if defined(adds_tokens_to_bytes)  // error: no match for|invalid operands to binary expression
constexpr bytes mixed_sum = 1_B + 1_tokens;
#else
constexpr bytes mixed_sum = 1_B + 1_B;
#endif

#if defined(compares_tokens_with_bytes)  // error: no match for|invalid operands to binary expression
constexpr bool less = 1_B < 2_tokens;
#else
constexpr bool less = 1_B < 2_B;
#endif

#if defined(divides_bytes_by_tokens)  // error: no match for|invalid operands to binary expression
constexpr auto rate = 8_B / 2_tokens;
#else
constexpr auto rate = 8_B / 2_B;
#endif

#if defined(assigns_blocks_to_tokens)  // error: conversion from|no viable conversion
constexpr tokens assigned = 1_blocks;
#else
constexpr tokens assigned = 1_tokens;
#endif

#if defined(number_without_unit)  // error: conversion from|no viable conversion
constexpr bytes plain = 1;
#else
constexpr bytes plain = 1_B;
#endif

#if defined(bool_as_count)  // error: no matching
constexpr tokens count(true);
#else
constexpr tokens count(1);
#endif

#if defined(character_as_count)  // error: no matching
constexpr tokens character('1');
#else
constexpr tokens character(1);
#endif

#if defined(fraction_as_count)  // error: no matching
constexpr tokens fraction(1.5);
#else
constexpr tokens fraction(1);
#endif

#if defined(unchecked_use_of_a_checked_count)  // error: cannot convert|no viable conversion
constexpr std::uint64_t number = checked_count(1U) + 1U;
#else
constexpr std::uint64_t number = (checked_count(1U) + 1U).value();
#endif
