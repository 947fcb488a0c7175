// Element types of weights in files, and the bytes that a block of elements takes.
//
// Sources: safetensors 0.8.0 src/tensor.rs (Dtype, 22 of them); ggml.h (ggml_type) and the block structs of
// ggml-common.h. gguf-py's GGML_QUANT_SIZES says the same, but for q8_1 in versions to 0.19 (40 bytes). Types that ggml
// has removed (4, 5, 31 … 33, 36 … 38) are not here: no engine loads them.
#pragma once

#include <string_view>

#include <kvbudget/core/checked.hpp>

namespace kvbudget {

/// A block of `block_elements` elements takes `block_bytes` bytes. Beside storage_type, which has the types of caches.
struct tensor_type {
  std::string_view name;  ///< as the format writes it: BF16; q4_K
  std::uint32_t block_elements = 1;
  std::uint32_t block_bytes = 1;

  /// Bytes of whole blocks; a rest is a failure.
  [[nodiscard]] constexpr checked_count bytes_of(checked_count elements) const noexcept {
    if (elements.valid() && !(elements % block_elements == checked_count(0U))) {
      return checked_count::failed(failure::partial_block);
    }
    return elements / block_elements * block_bytes;
  }
};

/// The types smaller than a byte have the smallest number of elements that fills whole bytes.
inline constexpr tensor_type safetensors_types[] = {
    {"BOOL", 1, 1},        {"F4", 2, 1},      {"F6_E2M3", 4, 3}, {"F6_E3M2", 4, 3}, {"U8", 1, 1},
    {"I8", 1, 1},          {"F8_E5M2", 1, 1}, {"F8_E4M3", 1, 1}, {"F8_E8M0", 1, 1}, {"F8_E4M3FNUZ", 1, 1},
    {"F8_E5M2FNUZ", 1, 1}, {"I16", 1, 2},     {"U16", 1, 2},     {"F16", 1, 2},     {"BF16", 1, 2},
    {"I32", 1, 4},         {"U32", 1, 4},     {"F32", 1, 4},     {"C64", 1, 8},     {"F64", 1, 8},
    {"I64", 1, 8},         {"U64", 1, 8}};

struct ggml_type_row {
  std::uint32_t number;
  tensor_type type;
};
inline constexpr ggml_type_row ggml_types[] = {
    {0, {"f32", 1, 4}},         {1, {"f16", 1, 2}},         {2, {"q4_0", 32, 18}},      {3, {"q4_1", 32, 20}},
    {6, {"q5_0", 32, 22}},      {7, {"q5_1", 32, 24}},      {8, {"q8_0", 32, 34}},      {9, {"q8_1", 32, 36}},
    {10, {"q2_K", 256, 84}},    {11, {"q3_K", 256, 110}},   {12, {"q4_K", 256, 144}},   {13, {"q5_K", 256, 176}},
    {14, {"q6_K", 256, 210}},   {15, {"q8_K", 256, 292}},   {16, {"iq2_xxs", 256, 66}}, {17, {"iq2_xs", 256, 74}},
    {18, {"iq3_xxs", 256, 98}}, {19, {"iq1_s", 256, 50}},   {20, {"iq4_nl", 32, 18}},   {21, {"iq3_s", 256, 110}},
    {22, {"iq2_s", 256, 82}},   {23, {"iq4_xs", 256, 136}}, {24, {"i8", 1, 1}},         {25, {"i16", 1, 2}},
    {26, {"i32", 1, 4}},        {27, {"i64", 1, 8}},        {28, {"f64", 1, 8}},        {29, {"iq1_m", 256, 56}},
    {30, {"bf16", 1, 2}},       {34, {"tq1_0", 256, 54}},   {35, {"tq2_0", 256, 66}},   {39, {"mxfp4", 32, 17}},
    {40, {"nvfp4", 64, 36}},    {41, {"q1_0", 128, 18}},    {42, {"q2_0", 64, 18}}};

/// nullptr for a name that safetensors does not have.
[[nodiscard]] constexpr const tensor_type* find_safetensors_type(std::string_view name) noexcept {
  for (const tensor_type& t : safetensors_types) {
    if (t.name == name) return &t;
  }
  return nullptr;
}

/// nullptr for a number that ggml does not have, or has no more.
[[nodiscard]] constexpr const tensor_type* find_ggml_type(std::uint32_t number) noexcept {
  for (const ggml_type_row& row : ggml_types) {
    if (row.number == number) return &row.type;
  }
  return nullptr;
}

}  // namespace kvbudget
