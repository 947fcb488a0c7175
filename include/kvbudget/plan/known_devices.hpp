// A device by its name.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <kvbudget/plan/devices.hpp>
#include <kvbudget/input/errors.hpp>

namespace kvbudget {

namespace detail {

[[nodiscard]] inline std::string lower_letters(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

[[nodiscard]] inline std::vector<std::string_view> names_of(const known_device& d) {
  std::vector<std::string_view> names{d.name};
  std::string_view rest = d.aliases;
  while (!rest.empty()) {
    const std::size_t bar = std::min(rest.find('|'), rest.size());
    names.push_back(rest.substr(0, bar));
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  return names;
}

/// `wanted` stands in the name, from the start of a word on: "m1" is not in "SXM 141GB".
[[nodiscard]] inline bool has_words(std::string_view name, const std::string& wanted) {
  bool in_word = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool letter = !lower_letters(name.substr(i, 1)).empty();
    if (letter && !in_word && lower_letters(name.substr(i)).rfind(wanted, 0) == 0) return true;
    in_word = letter;
  }
  return false;
}

}  // namespace detail

/// The device whose name or alias is `text` (letters and digits count, their case does not), else the only one in whose
/// names it occurs. Throws usage_error for an unknown name, and for one that stands for several: it lists them.
[[nodiscard]] inline const known_device& find_device(std::string_view text, std::string_view option) {
  const std::string wanted = detail::lower_letters(text);
  std::vector<const known_device*> found;
  for (const known_device& d : known_devices) {
    for (const std::string_view text_of_name : detail::names_of(d)) {
      const std::string name = detail::lower_letters(text_of_name);
      if (name == wanted || name == "nvidia" + wanted || name == "amd" + wanted) return d;
      if (wanted.empty() || !detail::has_words(text_of_name, wanted) || (!found.empty() && found.back() == &d)) {
        continue;
      }
      found.push_back(&d);
    }
  }
  if (found.size() == 1) return *found.front();
  std::string listed;
  for (const known_device* const d : found) listed += (listed.empty() ? "" : ", ") + std::string(d->name);
  throw usage_error({"", std::string(option), std::string(text)},
                    found.empty() ? "neither a size nor a known device" : "stands for several devices",
                    found.empty() ? "a size such as 80GiB, or a name such as H100 PCIe" : "one of " + listed);
}

}  // namespace kvbudget
