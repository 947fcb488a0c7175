// How the elements of a cache tensor become bytes.
//
// Sources: ggml-common.h of llama.cpp (block structs q8_0 … iq4_nl), the OCP microscaling specification 1.0
// (mxfp4, mxfp8: 32 elements and one 8-bit scale), vLLM v1/kv_cache_interface.py (nvfp4: 16 elements and one fp8
// scale), transformers cache_utils.py QuantizedLayer (groups with a scale and a zero point).
#pragma once

#include <kvbudget/core/units.hpp>

namespace kvbudget {

/// What one element is, for names in reports and logs. `grouped` formats carry their geometry in `storage_type`.
enum class element_type : std::uint8_t {
  f32,
  f16,
  bf16,
  fp8_e4m3,
  fp8_e5m2,
  int8,
  int4,
  int2,
  q8_0,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  iq4_nl,
  nvfp4,
  mxfp4,
  mxfp8,
  int64
};

/// A block of `block_elements` elements takes `block_bytes` bytes; plain types have blocks of one element, or of as
/// many as fill one byte.
struct storage_type {
  element_type element = element_type::f16;
  std::uint32_t block_elements = 1;
  std::uint32_t block_bytes = 2;

  friend constexpr bool operator==(const storage_type&, const storage_type&) noexcept = default;

  /// Bytes of `elements` elements in a row. A row that does not divide into whole blocks is a failure.
  [[nodiscard]] constexpr checked_count row_bytes(checked_count elements) const noexcept {
    const checked_count rest = elements % block_elements;
    if (!rest.valid()) return rest;
    if (rest.value_or(0) != 0) return checked_count::failed(failure::partial_block);
    return elements / block_elements * block_bytes;
  }
};

inline constexpr storage_type f32{element_type::f32, 1, 4};
inline constexpr storage_type f16{element_type::f16, 1, 2};
inline constexpr storage_type bf16{element_type::bf16, 1, 2};
inline constexpr storage_type fp8_e4m3{element_type::fp8_e4m3, 1, 1};
inline constexpr storage_type fp8_e5m2{element_type::fp8_e5m2, 1, 1};
inline constexpr storage_type int8{element_type::int8, 1, 1};
inline constexpr storage_type int4{element_type::int4, 2, 1};
inline constexpr storage_type int2{element_type::int2, 4, 1};
inline constexpr storage_type int64{element_type::int64, 1, 8};
inline constexpr storage_type q8_0{element_type::q8_0, 32, 34};
inline constexpr storage_type q4_0{element_type::q4_0, 32, 18};
inline constexpr storage_type q4_1{element_type::q4_1, 32, 20};
inline constexpr storage_type q5_0{element_type::q5_0, 32, 22};
inline constexpr storage_type q5_1{element_type::q5_1, 32, 24};
inline constexpr storage_type iq4_nl{element_type::iq4_nl, 32, 18};
inline constexpr storage_type nvfp4{element_type::nvfp4, 16, 9};
inline constexpr storage_type mxfp4{element_type::mxfp4, 32, 17};
inline constexpr storage_type mxfp8{element_type::mxfp8, 32, 33};

/// `value` (int8, int4, int2 …) in groups of `group_size` elements, each with `scales` further numbers of type
/// `scale` beside it: 1 for a scale, 2 for a scale and a zero point.
[[nodiscard]] constexpr storage_type grouped(storage_type value, std::uint32_t group_size, storage_type scale,
                                             std::uint32_t scales) {
  const checked_count size = value.row_bytes(group_size) + scale.row_bytes(scales);
  if (size.valid() && !size.fits(~std::uint32_t{0})) block_of_a_storage_type_is_too_large();
  return {value.element, group_size, static_cast<std::uint32_t>(size.value())};
}

}  // namespace kvbudget
