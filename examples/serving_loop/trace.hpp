// Request traces: a built-in one, and the two formats in which real ones are published.
#pragma once

#include <charconv>
#include <cstdint>
#include <fstream>
#include <kvbudget/input/errors.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace serving {

/// One request as it came.
struct arrival {
  double seconds = 0;
  std::uint64_t prompt = 0;
  std::uint64_t generated = 0;
  std::optional<double> cancelled;      // seconds; given up by its user
  std::vector<std::uint64_t> hash_ids;  // one for each block of 512 positions of the prompt, the last perhaps not whole
};
inline constexpr std::uint64_t positions_per_hash = 512;

struct trace {
  std::string name;
  std::vector<arrival> arrivals;
};

/// Not measured anywhere: eighty requests in two minutes, half of them with one of two system prompts, a few given up.
inline trace synthetic_trace() {
  trace t{"synthetic", {}};
  std::uint64_t state = 1;
  const auto below = [&state](std::uint64_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33U) % n;
  };
  double now = 0;
  std::uint64_t next_id = 100;
  for (int i = 0; i < 80; ++i) {
    now += 0.05 * static_cast<double>(below(60));
    arrival a{now, 200 + below(3000), 20 + below(700), {}, {}};
    if (below(12) == 0) a.cancelled = now + 3;
    const std::uint64_t system = below(4);
    if (system < 2) a.prompt += 2 * positions_per_hash;
    for (std::uint64_t at = 0; at < a.prompt; at += positions_per_hash) {
      const bool shared = system < 2 && at < 2 * positions_per_hash;
      a.hash_ids.push_back(shared ? system * 10 + at / positions_per_hash : next_id++);
    }
    t.arrivals.push_back(std::move(a));
  }
  return t;
}

namespace detail {

constexpr std::uint64_t most_positions = 0x7fff'ffffU;

[[noreturn]] inline void fail(const std::string& file, std::size_t line, std::string_view value, const char* expected) {
  throw kvbudget::config_error({file, "line " + std::to_string(line), std::string(value.substr(0, 60))},
                               "not understood", expected);
}

inline std::string_view field(std::string_view& rest) {
  const std::size_t comma = rest.find(',');
  const std::string_view text = rest.substr(0, comma);
  rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  return text;
}

/// Seconds of the day in "2023-11-16 18:17:03.9799600". The traces are an hour long and do not reach over midnight.
inline std::optional<double> seconds_of_day(std::string_view text) {
  unsigned hours = 0, minutes = 0;
  double seconds = 0;
  if (text.size() < 19 || text[10] != ' ' || text[13] != ':' || text[16] != ':') return {};
  const auto number = [](std::string_view digits, unsigned& n) {
    return std::from_chars(digits.data(), digits.data() + digits.size(), n).ptr == digits.data() + digits.size();
  };
  double scale = 1;
  for (std::size_t i = 17; i < text.size(); ++i) {
    if (i == 19) {
      if (text[i] != '.') return {};
      continue;
    }
    if (text[i] < '0' || text[i] > '9' || text.size() > 30) return {};
    if (i > 19) seconds += (scale /= 10) * (text[i] - '0');
    else seconds = seconds * 10 + (text[i] - '0');
  }
  if (!number(text.substr(11, 2), hours) || !number(text.substr(14, 2), minutes)) return {};
  return 3600.0 * hours + 60.0 * minutes + seconds;
}

/// Azure's public dataset: TIMESTAMP,ContextTokens,GeneratedTokens.
inline std::vector<arrival> read_azure_csv(std::istream& in, const std::string& file) {
  constexpr std::string_view header = "TIMESTAMP,ContextTokens,GeneratedTokens";
  std::vector<arrival> result;
  std::string line;
  double first = 0;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (number == 1) {
      if (line != header) fail(file, number, line, "TIMESTAMP,ContextTokens,GeneratedTokens");
      continue;
    }
    if (line.empty()) continue;
    std::string_view rest = line;
    const std::optional<double> time = seconds_of_day(field(rest));
    if (!time) fail(file, number, line, "a time as in 2023-11-16 18:17:03.9799600");
    arrival a;
    for (std::uint64_t* const to : {&a.prompt, &a.generated}) {
      const std::string_view text = field(rest);
      const auto end = std::from_chars(text.data(), text.data() + text.size(), *to);
      if (text.empty() || end.ptr != text.data() + text.size() || end.ec != std::errc() || *to > most_positions) {
        fail(file, number, line, "two numbers of tokens below 2^31");
      }
    }
    if (!rest.empty()) fail(file, number, line, "three columns");
    if (result.empty()) first = *time;
    a.seconds = *time - first;
    if (a.seconds < (result.empty() ? 0 : result.back().seconds)) fail(file, number, line, "times in order");
    result.push_back(std::move(a));
  }
  return result;
}

/// Mooncake's traces: one object a line, times in milliseconds.
inline std::vector<arrival> read_mooncake_jsonl(std::istream& in, const std::string& file) {
  std::vector<arrival> result;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    const auto row = nlohmann::json::parse(line, nullptr, false);
    const auto count = [&](const char* name) {
      const auto at = row.is_object() ? row.find(name) : row.end();
      if (!row.is_object() || at == row.end() || !at->is_number_unsigned() ||
          at->get<std::uint64_t>() > most_positions) {
        fail(file, number, line, "timestamp, input_length and output_length, numbers below 2^31");
      }
      return at->get<std::uint64_t>();
    };
    arrival a;
    a.seconds = static_cast<double>(count("timestamp")) / 1000;
    a.prompt = count("input_length");
    a.generated = count("output_length");
    const auto ids = row.find("hash_ids");
    if (ids == row.end() || !ids->is_array() ||
        ids->size() != (a.prompt + positions_per_hash - 1) / positions_per_hash) {
      fail(file, number, line, "hash_ids, one for every 512 positions of the prompt");
    }
    for (const auto& id : *ids) {
      if (!id.is_number_unsigned()) fail(file, number, line, "hash_ids that are numbers");
      a.hash_ids.push_back(id.get<std::uint64_t>());
    }
    if (!result.empty() && a.seconds < result.back().seconds) fail(file, number, line, "times in order");
    result.push_back(std::move(a));
  }
  return result;
}

}  // namespace detail

/// By its name: .csv is Azure's format, .jsonl Mooncake's. Throws kvbudget::config_error.
inline trace read_trace(const std::string& file) {
  const std::string name = file.substr(file.find_last_of('/') + 1);
  std::ifstream in(file, std::ios::binary);
  if (!in) throw kvbudget::config_error({file, "", ""}, "cannot be read", "a file");
  if (name.size() > 4 && name.compare(name.size() - 4, 4, ".csv") == 0) return {name, detail::read_azure_csv(in, file)};
  if (name.size() > 6 && name.compare(name.size() - 6, 6, ".jsonl") == 0)
    return {name, detail::read_mooncake_jsonl(in, file)};
  throw kvbudget::config_error({file, "", ""}, "neither .csv nor .jsonl", "a trace of Azure or of Mooncake");
}

}  // namespace serving
