// How people write sizes and element types, and how sizes are printed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <kvbudget/core/budget.hpp>
#include <kvbudget/input/errors.hpp>
#include <kvbudget/core/storage_type.hpp>

namespace kvbudget {

namespace detail {

struct type_spelling {
  std::string_view name;
  storage_type type;
};

/// The first name of a type is the one that is printed. Sources: torch dtypes, vLLM --kv-cache-dtype (CacheDType),
/// SGLang --kv-cache-dtype, llama.cpp --cache-type-k (common/arg.cpp), safetensors dtypes.
inline constexpr type_spelling type_spellings[] = {
    {"float32", f32},
    {"f32", f32},
    {"fp32", f32},
    {"float", f32},
    {"F32", f32},
    {"float16", f16},
    {"f16", f16},
    {"fp16", f16},
    {"half", f16},
    {"F16", f16},
    {"bfloat16", bf16},
    {"bf16", bf16},
    {"BF16", bf16},
    {"fp8_e4m3", fp8_e4m3},
    {"fp8", fp8_e4m3},
    {"float8_e4m3fn", fp8_e4m3},
    {"fp8_e4m3fn", fp8_e4m3},
    {"e4m3", fp8_e4m3},
    {"F8_E4M3", fp8_e4m3},
    {"float8_e4m3fnuz", fp8_e4m3},
    {"fp8_e5m2", fp8_e5m2},
    {"float8_e5m2", fp8_e5m2},
    {"e5m2", fp8_e5m2},
    {"F8_E5M2", fp8_e5m2},
    {"float8_e5m2fnuz", fp8_e5m2},
    {"int8", int8},
    {"i8", int8},
    {"I8", int8},
    {"int4", int4},
    {"i4", int4},
    {"int2", int2},
    {"i2", int2},
    {"q8_0", q8_0},
    {"q4_0", q4_0},
    {"q4_1", q4_1},
    {"q5_0", q5_0},
    {"q5_1", q5_1},
    {"iq4_nl", iq4_nl},
    {"nvfp4", nvfp4},
    {"fp4_e2m1", mxfp4},
    {"mxfp4", mxfp4},
    {"mxfp8", mxfp8},
    {"int64", int64},
    {"I64", int64},
};

struct size_unit {
  std::string_view name;
  std::uint64_t bytes;
};
inline constexpr size_unit size_units[] = {{"", 1},      {"B", 1},     {"KiB", kib}, {"MiB", mib},
                                           {"GiB", gib}, {"TiB", tib}, {"kB", kb},   {"KB", kb},
                                           {"MB", mb},   {"GB", gb},   {"TB", tb}};

}  // namespace detail

/// The element type of a cache by any of its usual names, with or without "torch.". Nothing when it is unknown.
[[nodiscard]] constexpr std::optional<storage_type> find_storage_type(std::string_view name) noexcept {
  if (name.substr(0, 6) == "torch.") name.remove_prefix(6);
  for (const detail::type_spelling& s : detail::type_spellings) {
    if (s.name == name) return s.type;
  }
  return std::nullopt;
}

/// The same; throws usage_error that lists the known names.
[[nodiscard]] inline storage_type parse_storage_type(std::string_view name, const std::string& option = {}) {
  if (const auto type = find_storage_type(name)) return *type;
  std::string known;
  for (const detail::type_spelling& s : detail::type_spellings) {
    known += known.empty() ? "" : ", ";
    known += s.name;
  }
  throw usage_error({"", option, std::string(name)}, "unknown element type", "one of " + known);
}

/// The usual name of a type; groups of small integers say their geometry.
[[nodiscard]] inline std::string name_of(const storage_type& type) {
  for (const detail::type_spelling& s : detail::type_spellings) {
    if (s.type == type) return std::string(s.name);
  }
  for (const detail::type_spelling& s : detail::type_spellings) {
    if (s.type.element != type.element) continue;
    return std::string(s.name) + " (" + std::to_string(type.block_elements) + " elements in " +
           std::to_string(type.block_bytes) + " bytes)";
  }
  return "unknown";
}

namespace detail {

/// Digits with at most one point among them: the number without the point, and 10 for each digit behind it.
struct decimal_number {
  checked_count digits = 0U;
  checked_count scale = 1U;
  std::size_t length = 0;  ///< of the text; 0: no number
};
[[nodiscard]] constexpr decimal_number decimal_at_start(std::string_view text) noexcept {
  decimal_number n;
  bool point = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (c == '.' && !point && n.length > 0) point = true;
    else if (!digit) break;
    if (digit) n.digits = n.digits * 10U + static_cast<unsigned>(c - '0');
    if (digit && point) n.scale *= 10U;
    ++n.length;
  }
  return point && n.scale == checked_count(1U) ? decimal_number() : n;
}

/// digits / scale x factor where that is a whole number of 64 bits. Powers of ten are taken out first, so that
/// 24.000000001GB does not overflow on the way.
[[nodiscard]] constexpr std::optional<bytes> scaled(const decimal_number& number, std::uint64_t factor) noexcept {
  if (!number.digits.valid() || !number.scale.valid()) return std::nullopt;
  std::uint64_t n = number.digits.value(), per = number.scale.value();
  for (; per > 1 && n % 10 == 0; per /= 10) n /= 10;
  for (; per > 1 && factor % 10 == 0; per /= 10) factor /= 10;
  const checked_count product = checked_count(n) * factor;
  if (!product.valid() || product.value() % per != 0) return std::nullopt;
  return bytes(product / per);
}

}  // namespace detail

/// A size as people write it: 24GiB, 80GB, 512 MiB, 1.5GiB, 1000000 (bytes). Nothing when it is no size, is not a
/// whole number of bytes or does not fit in 64 bits. "24G" is no size: it could mean GiB or GB.
[[nodiscard]] constexpr std::optional<bytes> find_bytes(std::string_view text) noexcept {
  const detail::decimal_number number = detail::decimal_at_start(text);
  if (number.length == 0) return std::nullopt;
  std::size_t at = number.length;
  while (at < text.size() && text[at] == ' ') ++at;
  for (const detail::size_unit& unit : detail::size_units) {
    if (unit.name == text.substr(at)) return detail::scaled(number, unit.bytes);
  }
  return std::nullopt;
}

/// A number alone below this is hardly meant as bytes.
inline constexpr bytes smallest_bare_number{mb};
[[nodiscard]] constexpr bool lacks_unit(std::string_view text, bytes size) noexcept {
  return size != bytes() && size < smallest_bare_number && text.find_first_not_of("0123456789.") == text.npos;
}

/// The same; throws usage_error, also for a small number without a unit: "24" is hardly 24 bytes.
[[nodiscard]] inline bytes parse_bytes(std::string_view text, const std::string& option = {}) {
  if (const auto size = find_bytes(text)) {
    if (!lacks_unit(text, *size)) return *size;
    throw usage_error({"", option, std::string(text)}, "a number of bytes so small that a unit may be missing",
                      "a unit, such as " + std::string(text) + "GiB or " + std::string(text) + "B");
  }
  const char last = text.empty() ? ' ' : text.back();
  const bool ambiguous = last == 'G' || last == 'M' || last == 'K' || last == 'k' || last == 'T' || last == 'g';
  throw usage_error({"", option, std::string(text)},
                    ambiguous ? "ambiguous: binary or decimal" : "not a size in whole bytes",
                    "a number with B, KiB, MiB, GiB, TiB, kB, MB, GB or TB, or a number of bytes");
}

/// A fraction as people write it: 0.9, 1, 15%. Nothing when it is none, or has more than eight digits.
[[nodiscard]] constexpr std::optional<share> find_share(std::string_view text) noexcept {
  share result{0, 1};
  if (!text.empty() && text.back() == '%') {
    result.denominator = 100;
    text.remove_suffix(1);
  }
  bool point = false;
  std::size_t digits = 0;
  for (const char c : text) {
    if (c == '.' && !point && digits > 0) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9' || ++digits > 8) return std::nullopt;
    result.numerator = result.numerator * 10 + static_cast<unsigned>(c - '0');
    if (point) result.denominator *= 10;
  }
  if (digits == 0 || text.back() == '.') return std::nullopt;
  return result;
}

/// The same; throws usage_error.
[[nodiscard]] inline share parse_share(std::string_view text, const std::string& option = {}) {
  if (const auto result = find_share(text)) return *result;
  throw usage_error({"", option, std::string(text)}, "not a share", "a number such as 0.9 or 15%");
}

/// `amount` / `unit` as a decimal number of `digits` digits behind the point, computed exactly and rounded to the
/// nearest, ties to even.
[[nodiscard]] inline std::string to_decimal(bytes amount, std::uint64_t unit, unsigned digits) {
  std::uint64_t rest = amount.count() % unit;
  std::string text = std::to_string(amount.count() / unit);
  if (digits > 0) text += '.';
  for (unsigned i = 0; i < digits; ++i) {  // units are at most 2^40, so rest * 10 fits
    rest *= 10;
    text += static_cast<char>('0' + rest / unit);
    rest %= unit;
  }
  const auto is_odd = [](char digit) { return (digit - '0') % 2 != 0; };
  if (rest > unit - rest || (rest == unit - rest && is_odd(text.back()))) {
    std::size_t at = text.size();
    while (at > 0) {
      char& digit = text[--at];
      if (digit == '.') continue;
      if (digit != '9') {
        ++digit;
        return text;
      }
      digit = '0';
    }
    text.insert(text.begin(), '1');
  }
  return text;
}
[[nodiscard]] inline std::string to_gib(bytes amount, unsigned digits = 2) { return to_decimal(amount, gib, digits); }
[[nodiscard]] inline std::string to_gb(bytes amount, unsigned digits = 2) { return to_decimal(amount, gb, digits); }

}  // namespace kvbudget
