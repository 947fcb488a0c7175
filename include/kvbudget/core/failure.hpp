// What can go wrong while sizes are computed, and how the core says so.
//
// Every failure is a call of a function that is not constexpr and whose name tells what happened. In a constant
// expression the compiler therefore stops and prints that name; at run time the function throws `size_error`, or
// aborts in a build without exceptions.
#pragma once

#include <cstdint>
#include <exception>

namespace kvbudget {

/// Why a size has no value.
enum class failure : std::uint8_t {
  none,
  overflow,             ///< the exact result does not fit in 64 bits
  negative,             ///< a difference below zero, or a negative number where a count belongs
  division_by_zero,     ///< a block size, rate or divisor of zero
  partial_block,        ///< a row of a tensor is not a whole number of blocks of its storage type
  exceeds_reservation,  ///< a request is longer than the length that was reserved for it
  too_many_layers,      ///< more than 65,536 layers
  too_many_entries,     ///< a list of fixed capacity is full
  block_too_large,      ///< a block of a storage type takes 2^32 bytes or more
  indivisible,          ///< heads or a state that do not divide among the ranks
  no_such_rank,         ///< a rank that is not below the number of ranks
  unsupported_layer,    ///< the policy has no rule for this kind of layer in this setting
  unknown_pool,         ///< an engine's plan without the memory that it may use has no pool
  empty_pool            ///< a pool without a group that takes units would never be full
};

/// The exception of the core. It owns no memory; `reason()` is for programs, `what()` for people.
class size_error : public std::exception {
 public:
  explicit size_error(failure reason, const char* message) noexcept : reason_(reason), message_(message) {}
  [[nodiscard]] const char* what() const noexcept override { return message_; }
  [[nodiscard]] failure reason() const noexcept { return reason_; }

 private:
  failure reason_;
  const char* message_;
};

namespace detail {

[[noreturn]] inline void raise(failure reason, const char* message) {
#if defined(__cpp_exceptions)
  throw size_error(reason, message);
#else
  (void)reason;
  (void)message;
  __builtin_abort();
#endif
}

}  // namespace detail

[[noreturn]] inline void kv_cache_size_overflows_64_bits() {
  detail::raise(failure::overflow, "kvbudget: a size does not fit in 64 bits");
}
[[noreturn]] inline void kv_cache_size_is_negative() {
  detail::raise(failure::negative, "kvbudget: a size or count is negative");
}
[[noreturn]] inline void division_by_a_size_of_zero() {
  detail::raise(failure::division_by_zero, "kvbudget: a block size, rate or divisor is zero");
}
[[noreturn]] inline void row_is_not_a_whole_number_of_blocks() {
  detail::raise(failure::partial_block, "kvbudget: a row does not divide into whole blocks of its storage type");
}
[[noreturn]] inline void request_is_longer_than_its_reservation() {
  detail::raise(failure::exceeds_reservation, "kvbudget: a request is longer than the length reserved for it");
}
[[noreturn]] inline void model_has_more_than_65536_layers() {
  detail::raise(failure::too_many_layers, "kvbudget: a model has more than 65,536 layers");
}
[[noreturn]] inline void list_is_longer_than_its_capacity() {
  detail::raise(failure::too_many_entries, "kvbudget: a list has more entries than it can hold");
}
[[noreturn]] inline void block_of_a_storage_type_is_too_large() {
  detail::raise(failure::block_too_large, "kvbudget: a block of a storage type takes 2^32 bytes or more");
}
[[noreturn]] inline void rank_is_not_below_the_number_of_ranks() {
  detail::raise(failure::no_such_rank, "kvbudget: a rank is not below the number of ranks");
}
[[noreturn]] inline void plan_has_no_pool_without_its_memory() {
  detail::raise(failure::unknown_pool, "kvbudget: a plan without the memory that it may use has no pool");
}
[[noreturn]] inline void pool_has_no_group_that_takes_units() {
  detail::raise(failure::empty_pool, "kvbudget: a pool has no group that takes units of it");
}
[[noreturn]] inline void layer_does_not_divide_among_ranks() {
  detail::raise(failure::indivisible, "kvbudget: heads or a state do not divide among the tensor-parallel ranks");
}
[[noreturn]] inline void policy_has_no_rule_for_this_layer() {
  detail::raise(failure::unsupported_layer, "kvbudget: the cache policy has no rule for this kind of layer");
}

/// Calls the function that is named after `reason`.
constexpr void raise_failure(failure reason) {
  switch (reason) {
    case failure::none: return;
    case failure::overflow: kv_cache_size_overflows_64_bits();
    case failure::negative: kv_cache_size_is_negative();
    case failure::division_by_zero: division_by_a_size_of_zero();
    case failure::partial_block: row_is_not_a_whole_number_of_blocks();
    case failure::exceeds_reservation: request_is_longer_than_its_reservation();
    case failure::too_many_layers: model_has_more_than_65536_layers();
    case failure::too_many_entries: list_is_longer_than_its_capacity();
    case failure::block_too_large: block_of_a_storage_type_is_too_large();
    case failure::no_such_rank: rank_is_not_below_the_number_of_ranks();
    case failure::unknown_pool: plan_has_no_pool_without_its_memory();
    case failure::empty_pool: pool_has_no_group_that_takes_units();
    case failure::indivisible: layer_does_not_divide_among_ranks();
    case failure::unsupported_layer: policy_has_no_rule_for_this_layer();
  }
}

}  // namespace kvbudget
