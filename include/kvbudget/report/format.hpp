// The library's values as strings, and in the format strings of fmt (where it is installed) and std::format (where the
// standard library has it). Streams need no more than print.hpp.
#pragma once

#include <string>
#include <version>

#if defined(__cpp_lib_format)
#include <format>
#endif
#if __has_include(<fmt/format.h>)
#include <fmt/format.h>
#endif

#include <kvbudget/core/print.hpp>
#include <kvbudget/input/spelling.hpp>

namespace kvbudget {

/// As a stream prints it: "671088640 B", "16 tokens", "at most 157286", "no_room".
template <prints_itself Value>
[[nodiscard]] std::string to_string(const Value& value) {
  const short_text text = text_of(value);
  return std::string(text.data(), text.size());
}

}  // namespace kvbudget

#if defined(__cpp_lib_format)
/// A width, an alignment and a fill may be given, as for a string.
template <kvbudget::prints_itself Value>
struct std::formatter<Value, char> : std::formatter<std::string, char> {
  template <class Context>
  auto format(const Value& value, Context& context) const {
    return std::formatter<std::string, char>::format(kvbudget::to_string(value), context);
  }
};
#endif

#if __has_include(<fmt/format.h>)
/// A width, an alignment and a fill may be given, as for a string.
template <kvbudget::prints_itself Value>
struct fmt::formatter<Value, char> : fmt::formatter<std::string, char> {
  template <class Context>
  auto format(const Value& value, Context& context) const {
    return fmt::formatter<std::string, char>::format(kvbudget::to_string(value), context);
  }
};

/// "{}" prints the exact number and B; "{:g}" GiB and "{:G}" GB of two digits, "{:.3g}" of three. An alignment and a
/// width may stand before: "{:>12}", "{:<10.1g}".
template <>
struct fmt::formatter<kvbudget::bytes> {
  char align = '>';
  unsigned width = 0;
  unsigned digits = 2;
  char unit = 'B';

  constexpr auto parse(fmt::format_parse_context& context) {
    auto at = context.begin();
    const auto end = context.end();
    const auto number = [&](unsigned otherwise) {
      if (at == end || *at < '0' || *at > '9') return otherwise;
      unsigned n = 0;
      while (at != end && *at >= '0' && *at <= '9' && n < 1000) n = n * 10 + static_cast<unsigned>(*at++ - '0');
      return n;
    };
    if (at != end && (*at == '<' || *at == '>')) align = *at++;
    width = number(0);
    if (at != end && *at == '.') digits = number((++at, 2U));
    if (at != end && (*at == 'g' || *at == 'G' || *at == 'B')) unit = *at++;
    if (at != end && *at != '}') throw fmt::format_error("kvbudget::bytes knows B, g (GiB) and G (GB)");
    return at;
  }

  template <class Context>
  auto format(const kvbudget::bytes& amount, Context& context) const {
    const std::string text = unit == 'g'   ? kvbudget::to_gib(amount, digits) + " GiB"
                             : unit == 'G' ? kvbudget::to_gb(amount, digits) + " GB"
                                           : std::to_string(amount.count()) + " B";
    if (align == '<') return fmt::format_to(context.out(), "{:<{}}", text, width);
    return fmt::format_to(context.out(), "{:>{}}", text, width);
  }
};
#endif
