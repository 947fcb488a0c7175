// Any text as a size, a share, an element type or a version.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <kvbudget/config/engine_version.hpp>
#include <kvbudget/input/spelling.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvbudget;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto bytes_read = find_bytes(text)) {
    // What is printed with all its digits reads back as the same size.
    if (find_bytes(to_decimal(*bytes_read, gb, 9) + "GB") != bytes_read) __builtin_trap();
    if (!lacks_unit(text, *bytes_read) && parse_bytes(text) != *bytes_read) __builtin_trap();
  }
  if (const auto share_read = find_share(text)) {
    if (share_read->denominator == 0 || share_read->denominator > 1'000'000'000) __builtin_trap();
    (void)share_read->of(~std::uint64_t{0});
  }
  if (const auto type = find_storage_type(text)) {
    if (find_storage_type(name_of(*type)) != type) __builtin_trap();
  }
  const auto refuses = [&](const auto& parse) {
    try {
      (void)parse();
      return false;
    } catch (const usage_error& e) {
      if (e.value() != text) __builtin_trap();
      return true;
    }
  };
  const auto size_read = find_bytes(text);
  const bool no_size = !size_read || lacks_unit(text, *size_read);
  if (refuses([&] { return parse_bytes(text); }) != no_size) __builtin_trap();
  if (refuses([&] { return parse_share(text); }) != !find_share(text)) __builtin_trap();
  if (refuses([&] { return parse_storage_type(text); }) != !find_storage_type(text)) __builtin_trap();
  (void)refuses([&] { return detail::config::engine_version::parse(text); });
  return 0;
}
