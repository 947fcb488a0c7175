// Tables: as CSV for programs, as Markdown, and with spaces for people.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <kvbudget/input/errors.hpp>

namespace kvbudget::detail {

/// 1234567 as 1,234,567.
[[nodiscard]] inline std::string grouped_digits(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

/// One value of a table: as programs read it, and as people do.
struct cell {
  std::string exact;
  std::string shown;
};
[[nodiscard]] inline cell count_cell(std::uint64_t n) { return {std::to_string(n), grouped_digits(n)}; }
[[nodiscard]] inline cell text_cell(const std::string& text) { return {printable(text), printable(text)}; }

struct column {
  std::string name;   ///< in CSV
  std::string title;  ///< for people
  bool number = true;
};

/// A table in three forms. A column without any value is left out, except in CSV.
struct sheet {
  std::vector<column> columns;
  std::vector<std::vector<cell>> rows;

  [[nodiscard]] std::string csv() const {
    const auto quoted = [](std::string text) {
      // A spreadsheet takes a text that begins so for a formula; an apostrophe says that it is none.
      if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos) text.insert(0, "'");
      if (text.find_first_of(",\"\r\n") == text.npos) return text;
      std::string out = "\"";
      for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
      return out + '"';
    };
    std::string out;
    for (const column& c : columns) out += (out.empty() ? "" : ",") + c.name;
    out += '\n';
    for (const auto& row : rows) {
      for (std::size_t i = 0; i < row.size(); ++i) out += (i == 0 ? "" : ",") + quoted(row[i].exact);
      out += '\n';
    }
    return out;
  }

  [[nodiscard]] std::string markdown() const {
    std::string head = "|";
    std::string line = "|";
    const std::vector<std::size_t> used = columns_used();
    for (const std::size_t i : used) {
      head += ' ' + columns[i].title + " |";
      line += columns[i].number ? " ---: |" : " --- |";
    }
    std::string out = head + '\n' + line + '\n';
    for (const auto& row : rows) {
      out += '|';
      for (const std::size_t i : used) {
        out += ' ';
        for (const char c : row[i].shown) out += c == '|' ? "\\|" : std::string(1, c);
        out += " |";
      }
      out += '\n';
    }
    return out;
  }

  [[nodiscard]] std::string text() const {
    const std::vector<std::size_t> used = columns_used();
    std::vector<std::size_t> widths(columns.size());
    for (const std::size_t i : used) {
      widths[i] = columns[i].title.size();
      for (const auto& row : rows) widths[i] = std::max(widths[i], row[i].shown.size());
    }
    std::string out;
    const auto add = [&](const auto& text_of) {
      std::string line;
      for (const std::size_t i : used) {
        const std::string text = text_of(i);
        const std::string space(widths[i] - text.size(), ' ');
        line += (line.empty() ? "" : "  ") + (columns[i].number ? space + text : text + space);
      }
      out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    };
    add([&](std::size_t i) { return columns[i].title; });
    for (const auto& row : rows) add([&](std::size_t i) { return row[i].shown; });
    return out;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> columns_used() const {
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto has_value = [&](const auto& row) { return !row[i].shown.empty(); };
      if (std::any_of(rows.begin(), rows.end(), has_value)) used.push_back(i);
    }
    return used;
  }
};

}  // namespace kvbudget::detail
