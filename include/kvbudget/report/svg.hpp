// How a plot becomes SVG.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <fmt/format.h>
#include <kvbudget/report/plot_data.hpp>

namespace kvbudget::detail::svg {

/// Bytes of a UTF-8 character by its first one; 0 where none begins so.
[[nodiscard]] inline std::size_t utf8_length(unsigned first) {
  if (first < 0x80) return 1;
  if (first < 0xC2 || first >= 0xF5) return 0;
  return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/// A character of XML 1.0: no surrogate, no non-character, not spelled with more bytes than it needs.
[[nodiscard]] inline bool is_xml_character(unsigned code, std::size_t length) {
  if (length == 3 && code < 0x800) return false;
  if (length == 4 && (code < 0x10000 || code > 0x10FFFF)) return false;
  return !(code >= 0xD800 && code < 0xE000) && (code & 0xFFFEU) != 0xFFFEU;
}

/// The length of the character at `i`, and its code; length 0 where there is none.
[[nodiscard]] inline std::pair<std::size_t, unsigned> character_at(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  const unsigned first = byte(i);
  const std::size_t length = utf8_length(first);
  if (length == 0) return {0, 0};
  unsigned code = length == 1 ? first : first & (0x7FU >> length);
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0U) != 0x80U) return {0, 0};
    code = code << 6U | (byte(i + k) & 0x3FU);
  }
  return is_xml_character(code, length) ? std::pair{length, code} : std::pair{std::size_t{0}, 0U};
}

/// The characters of a text for XML 1.0 in UTF-8: what is no character of it becomes U+FFFD, white space a space.
[[nodiscard]] inline std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < text.size();) {
    const auto [length, code] = character_at(text, i);
    const bool space = code == '\t' || code == '\n' || code == '\r';
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    if (length > 0 && space) out.emplace_back(" ");
    else if (length == 0 || control) out.emplace_back("\xEF\xBF\xBD");
    else out.emplace_back(text.substr(i, length));
    i += length > 0 ? length : 1;
  }
  return out;
}

[[nodiscard]] inline std::string escaped(const std::vector<std::string>& text) {
  std::string out;
  for (const std::string& c : text) {
    out += c == "&" ? "&amp;" : c == "<" ? "&lt;" : c == ">" ? "&gt;" : c == "\"" ? "&quot;" : c == "'" ? "&#39;" : c;
  }
  return out;
}
[[nodiscard]] inline std::string escaped(std::string_view text) { return escaped(characters(text)); }

/// The width of a character in a wide sans serif, as a share of the font size. Which font there is, is not known.
[[nodiscard]] inline double width_of(const std::string& c) {
  using namespace std::string_view_literals;
  if (c.size() > 1) return c.size() == 2 || c == "…" ? 0.7 : 1.0;
  if ("il.,:;'|!"sv.find(c) != std::string_view::npos) return 0.33;
  if ("fjrt()[]-/ "sv.find(c) != std::string_view::npos) return 0.41;
  if ("mwMW@%"sv.find(c) != std::string_view::npos) return 0.98;
  return c[0] >= 'A' && c[0] <= 'Z' ? 0.74 : 0.64;
}
[[nodiscard]] inline double width_of(const std::vector<std::string>& text, double size) {
  double sum = 0;
  for (const std::string& c : text) sum += width_of(c);
  return sum * size;
}

/// At most `width` wide: the middle is left out, since both ends of a model's name tell it from others.
[[nodiscard]] inline std::vector<std::string> shortened(std::string_view text, double size, double width) {
  std::vector<std::string> all = characters(text);
  if (width_of(all, size) <= width) return all;
  width -= width_of({"…"}, size);
  std::size_t head = 0;
  std::size_t tail = all.size();
  for (double used = 0; head < tail;) {
    const bool front = head <= all.size() - tail;
    used += size * width_of(front ? all[head] : all[tail - 1]);
    if (used > width) break;
    front ? ++head : --tail;
  }
  std::vector<std::string> out(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(head));
  out.emplace_back("…");
  out.insert(out.end(), all.begin() + static_cast<std::ptrdiff_t>(tail), all.end());
  return out;
}

[[nodiscard]] inline bool drawable(double value) { return std::isfinite(value) && std::fabs(value) <= 1e300; }
[[nodiscard]] inline bool drawable(const plot_point& p) { return drawable(p.x) && drawable(p.y); }

struct tick {
  double at;
  std::string label;
};

/// One axis: its ends in the units of the data, where it lies in the picture, and its ticks.
struct axis {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  std::vector<tick> ticks;
  std::string factor;  ///< what the labels were divided by: "", or " (×10⁹)"
  double from = 0;
  double to = 0;

  [[nodiscard]] double place(double value) const {
    const auto scaled = [&](double v) { return logarithmic ? std::log2(v) : v; };
    return from + (to - from) * ((scaled(value) - scaled(low)) / (scaled(high) - scaled(low)));
  }
};

/// Below this a range counts as empty; its ticks could not be told apart.
inline constexpr double smallest_range = 1e-290;

/// 1-2-5: the smallest such step with at most `most` intervals.
[[nodiscard]] inline std::pair<int, int> decimal_step(double range, int most) {
  const int start = static_cast<int>(std::floor(std::log10(range / most))) - 1;
  for (int exponent = start;; ++exponent) {
    for (const int digit : {1, 2, 5}) {
      if (range / (digit * std::pow(10.0, exponent)) <= most * (1 + 1e-9)) return {digit, exponent};
    }
  }
}

[[nodiscard]] inline std::string superscript(int number) {
  constexpr std::array<const char*, 10> digits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out = number < 0 ? "⁻" : "";
  for (const char c : std::to_string(std::abs(number))) out += digits[static_cast<std::size_t>(c - '0')];
  return out;
}

/// 1234567.5 with one digit behind the point as 1,234,567.5
[[nodiscard]] inline std::string decimal(double value, int digits) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (text.find_first_not_of("-0.") == text.npos) return "0";
  const std::size_t first = text[0] == '-' ? 1 : 0;
  for (std::size_t at = std::min(text.find('.'), text.size()); at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

/// Ticks at whole multiples of a 1-2-5 step. With `round_up` the axis ends at one of them.
inline void decimal_ticks(axis& a, int most, bool whole, bool round_up) {
  auto [digit, exponent] = decimal_step(a.high - a.low, most);
  if (whole && exponent < 0) digit = 1, exponent = 0;
  const double largest = std::max(std::fabs(a.low), std::fabs(a.high));
  // Long labels are divided by a power of 1000, which the label of the axis then names.
  const int group = largest >= 1e7 || largest < 1e-3 ? static_cast<int>(std::floor(std::log10(largest) / 3)) * 3 : 0;
  if (group != 0) a.factor = " (×10" + superscript(group) + ")";
  const double unit = std::pow(10.0, exponent);
  const double first = std::ceil(a.low / unit / digit - 1e-9);
  double last = std::floor(a.high / unit / digit + 1e-9);
  if (round_up && last * digit * unit < a.high * (1 - 1e-9)) ++last;
  for (int i = 0; i <= 2 * most && first + i <= last; ++i) {
    const double n = (first + i) * digit;
    a.ticks.push_back({n * unit, decimal(n * std::pow(10.0, exponent - group), std::max(0, group - exponent))});
  }
  if (round_up && last > first) a.high = last * digit * unit;
}

/// 49152 as 48 Ki
[[nodiscard]] inline std::string binary(double value) {
  constexpr std::array<const char*, 6> units = {"", " Ki", " Mi", " Gi", " Ti", " Pi"};
  std::size_t unit = 0;
  for (; unit + 1 < units.size() && value >= 1024 && std::fmod(value, 1024) == 0; ++unit) value /= 1024;
  return decimal(value, 0) + units[unit];
}

[[nodiscard]] inline bool is_power_of_two(double value) {
  int exponent = 0;
  return value >= 1 && std::frexp(value, &exponent) == 0.5;
}

/// Powers of two along a logarithmic axis, at most ten.
inline void logarithmic_ticks(axis& a) {
  a.logarithmic = true;
  const int first = static_cast<int>(std::ceil(std::log2(a.low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(a.high) + 1e-9));
  const int stride = (last - first) / 9 + 1;
  for (int e = last - (last - first) / stride * stride; e <= last; e += stride) {
    const double at = std::ldexp(1.0, e);
    a.ticks.push_back({at, e > 59 || e < -3 ? "2" + superscript(e) : e < 0 ? fmt::format("{}", at) : binary(at)});
  }
}

/// Multiples of a power of two, as the values are.
inline void binary_ticks(axis& a) {
  const double step = std::exp2(std::max(0.0, std::ceil(std::log2((a.high - a.low) / 8))));
  for (double at = std::ceil(a.low / step) * step; at <= a.high; at += step) {
    a.ticks.push_back({at, step < 1024 ? decimal(at, 0) : binary(at)});
  }
}

/// As many decimal ticks as there is room for their labels.
[[nodiscard]] inline axis with_fitting_ticks(const axis& a, bool whole, double width, double text_size) {
  for (const int most : {8, 5, 3, 2}) {
    axis fitting = a;
    decimal_ticks(fitting, most, whole, false);
    double widest = 0;
    for (const tick& t : fitting.ticks) widest = std::max(widest, width_of(characters(t.label), text_size));
    const auto& t = fitting.ticks;
    const double between = t.size() < 2 ? width : width * ((t[1].at - t[0].at) / (a.high - a.low));
    if (widest + text_size <= between || most == 2) return fitting;
  }
  return a;
}

/// From 0 where the values come near it, and wide enough to be drawn.
inline void widen(axis& a) {
  const bool one_place = a.high - a.low <= 1e-9 * std::max(std::fabs(a.low), std::fabs(a.high));
  if (a.low > 0 && (a.low < 0.4 * a.high || one_place)) a.low = 0;
  if (a.high < 0 && one_place) a.high = 0;
  if (a.high - a.low < smallest_range) a.high = a.low + 1;
}

/// Ticks for positions: in powers of two where all of them are so, which they are up to 2^50.
[[nodiscard]] inline axis x_axis(const std::vector<double>& values, plot_scale scale, double width, double text_size) {
  axis a;
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  if (!values.empty()) a.low = *lowest, a.high = *highest;
  if (scale == plot_scale::logarithmic && a.low > 0 && a.high >= 4 * a.low) {
    logarithmic_ticks(a);
    return a;
  }
  const auto all = [&](auto test) { return std::all_of(values.begin(), values.end(), test); };
  const bool whole = all([](double v) { return std::floor(v) == v; });
  const bool binary_values = a.high >= 8 && a.high <= 0x1p50 && all([](double v) {
                               return v == 0 || is_power_of_two(v) || (v > 0 && std::fmod(v, 256) == 0);
                             });
  widen(a);
  if (!binary_values || values.empty()) return with_fitting_ticks(a, whole && !values.empty(), width, text_size);
  binary_ticks(a);
  return a;
}

/// Desired heights, ascending, become heights at least `gap` apart within [top, bottom], each as near to its own as
/// the squares of the distances allow (isotonic regression).
inline void push_apart(std::vector<double>& heights, double gap, double top, double bottom) {
  struct block {
    double sum;
    double count;
  };
  std::vector<block> blocks;
  for (std::size_t i = 0; i < heights.size(); ++i) {
    blocks.push_back({heights[i] - gap * static_cast<double>(i), 1});
    while (blocks.size() > 1) {
      const block b = blocks.back();
      block& before = blocks[blocks.size() - 2];
      if (before.sum / before.count <= b.sum / b.count) break;
      before = {before.sum + b.sum, before.count + b.count};
      blocks.pop_back();
    }
  }
  const double lowest = std::max(top, bottom - gap * static_cast<double>(heights.size() - 1));
  std::size_t i = 0;
  for (const block& b : blocks) {
    const double height = std::clamp(b.sum / b.count, top, lowest);
    for (double n = 0; n < b.count; ++n, ++i) heights[i] = height + gap * static_cast<double>(i);
  }
}

/// How lines look: 8 dash patterns and 8 markers, and 64 lines before a pair comes again. Colour only helps.
struct line_look {
  const char* dashes;
  const char* colour;
};
inline constexpr std::array<line_look, 8> line_looks = {{{"none", "#000000"},
                                                         {"9 4", "#0063a6"},
                                                         {"2 3", "#b5460f"},
                                                         {"11 3 2 3", "#00795a"},
                                                         {"16 4", "#8a3d78"},
                                                         {"6 3 2 3 2 3", "#7a5c00"},
                                                         {"4 4", "#3d5a80"},
                                                         {"16 3 4 3", "#555555"}}};
[[nodiscard]] inline const line_look& look_of(std::size_t line) { return line_looks[line % line_looks.size()]; }

/// The marker of a line around (x, y). Every second shape is open.
[[nodiscard]] inline std::string marker(std::size_t line, double x, double y) {
  constexpr std::array<const char*, 8> shapes = {"m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z",
                                                 "m-3.3 -3.3h6.6v6.6h-6.6z",
                                                 "m0 -4.4l4.2 7.4h-8.4z",
                                                 "m0 -4.8l4.8 4.8l-4.8 4.8l-4.8 -4.8z",
                                                 "m0 4.4l4.2 -7.4h-8.4z",
                                                 "m-4 -4l8 8m0 -8l-8 8",
                                                 "m-4.6 0h9.2m-4.6 -4.6v9.2",
                                                 "m-4.4 -2.6h8.8v5.2h-8.8z"};
  const std::size_t shape = (line + line / line_looks.size()) % shapes.size();
  const char* colour = look_of(line).colour;
  return fmt::format("<path class=\"marker\" d=\"M{:.2f} {:.2f}{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.3\"/>\n",
                     x, y, shapes[shape], shape % 2 == 0 ? colour : "#ffffff", colour);
}

/// Grey levels and hatchings of areas, from below.
inline constexpr std::array<const char*, 6> area_fills = {
    "#d9d9d9", "url(#kvbudget-rising)", "#8c8c8c", "url(#kvbudget-dots)", "#f2f2f2", "url(#kvbudget-falling)"};

[[nodiscard]] inline std::string hatching(std::string_view name, std::string_view content) {
  return fmt::format(
      "<pattern id=\"kvbudget-{}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
      "<rect width=\"6\" height=\"6\" fill=\"#ffffff\"/>{}</pattern>\n",
      name, content);
}

[[nodiscard]] inline std::string stroke(const std::string& path, double width, std::string_view more = {}) {
  return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"#000000\" stroke-width=\"{:g}\"{}/>\n", path, width, more);
}
[[nodiscard]] inline std::string stroke_of_line(const std::string& path, std::size_t line) {
  return fmt::format(
      "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\" "
      "stroke-dasharray=\"{}\"/>\n",
      path, look_of(line).colour, look_of(line).dashes);
}
[[nodiscard]] inline std::string rectangle(double x, double y, double width, double height, std::string_view look) {
  return fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" {}/>\n", x, y, width, height,
                     look);
}
[[nodiscard]] inline std::string text(double x, double y, double size, std::string_view more,
                                      const std::string& content) {
  return fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{:g}\"{}{}>{}</text>\n", x, y, size,
                     more.empty() ? "" : " ", more, content);
}
/// An SVG group with the whole name of what it draws.
[[nodiscard]] inline std::string group(std::string_view kind, std::string_view name, const std::string& content) {
  return fmt::format("<g class=\"{}\"><title>{}</title>\n{}</g>\n", kind, escaped(name), content);
}

/// A path through points in the picture; a gap begins a new piece.
class path {
 public:
  explicit path(bool steps) : steps_(steps) {}
  void to(double x, double y) {
    if (open_ && steps_) data_ += fmt::format("L{:.2f} {:.2f}", x, y_);
    data_ += fmt::format("{}{:.2f} {:.2f}", open_ ? 'L' : 'M', x, y);
    open_ = true;
    y_ = y;
  }
  void gap() { open_ = false; }
  [[nodiscard]] const std::string& data() const { return data_; }

 private:
  std::string data_;
  double y_ = 0;
  bool steps_;
  bool open_ = false;
};

/// The tops of a stack at each x where all its layers have a point.
struct stack {
  std::vector<double> x;
  std::vector<std::vector<double>> tops;  ///< [layer][x]

  [[nodiscard]] double below(std::size_t layer, std::size_t at) const { return layer == 0 ? 0 : tops[layer - 1][at]; }
};

template <class Visible>
[[nodiscard]] stack stacked(const std::vector<plot_area>& areas, const Visible& visible) {
  stack s;
  std::vector<std::vector<plot_point>> layers;
  for (const plot_area& a : areas) {
    auto& points = layers.emplace_back();
    std::copy_if(a.points.begin(), a.points.end(), std::back_inserter(points), visible);
    std::stable_sort(points.begin(), points.end(), [](const plot_point& p, const plot_point& q) { return p.x < q.x; });
  }
  s.tops.resize(areas.size());
  if (areas.empty()) return s;
  std::vector<std::size_t> at(areas.size(), 0);
  for (const plot_point& p : layers[0]) {
    if (!s.x.empty() && s.x.back() == p.x) continue;
    double top = 0;
    std::vector<double> tops;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      while (at[l] < layers[l].size() && layers[l][at[l]].x < p.x) ++at[l];
      if (at[l] == layers[l].size() || layers[l][at[l]].x != p.x) break;
      top += layers[l][at[l]].y;
      if (!drawable(top)) break;
      tops.push_back(top);
    }
    if (tops.size() < layers.size()) continue;
    s.x.push_back(p.x);
    for (std::size_t l = 0; l < layers.size(); ++l) s.tops[l].push_back(tops[l]);
  }
  return s;
}

/// One plot laid out: the axes know where they lie, the names to the right are in their places.
class picture {
 public:
  explicit picture(const plot& p)
      : p_(p), areas_(stacked(p.areas, [this](const plot_point& q) { return visible(q); })) {
    lay_out_axes();
    lay_out_names();
  }

  [[nodiscard]] std::string svg() const {
    const double width = std::ceil(right_ + (names_.empty() ? 24 : 74 + widest_name_));
    const double below_ticks = bottom_ + (slanted_ ? 105 : 20);
    const double height = below_ticks + (x_label().empty() ? 10 : 30);
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" "
        "font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\">\n",
        width, height);
    out += fmt::format("<title>{}</title>\n<desc>{}</desc>\n<defs>\n", escaped(p_.title), escaped(description()));
    out += hatching("rising", stroke("M-1 1L1 -1M0 6L6 0M5 7L7 5", 0.9));
    out += hatching("falling", stroke("M-1 5L1 7M0 0L6 6M5 -1L7 1", 0.9));
    out += hatching("dots", "<circle cx=\"3\" cy=\"3\" r=\"1.1\"/>");
    out += "</defs>\n" + rectangle(0, 0, width, height, "fill=\"#ffffff\"");
    double y = 4;
    const auto heading = [&](const std::string& content, double step, double size, std::string_view look) {
      if (content.empty()) return;
      y += step;
      out += text(left_, y, size, look, escaped(shortened(content, size * 1.1, width - left_ - 10)));
    };
    heading(p_.title, 20, 16, "font-weight=\"bold\"");
    heading(p_.subtitle, 18, text_size, "fill=\"#333333\"");
    const auto label = [](const std::string& content) { return escaped(shortened(content, text_size, plot_width)); };
    if (!y_label().empty()) out += text(left_, top_ - 9, text_size, "", label(y_label()));
    if (!x_label().empty()) out += text(right_, below_ticks + 20, text_size, "text-anchor=\"end\"", label(x_label()));
    out += drawn_areas() + drawn_axes() + drawn_limits() + drawn_lines() + drawn_names();
    return out + "</svg>\n";
  }

 private:
  static constexpr double text_size = 12;
  static constexpr double line_height = 17;
  static constexpr double plot_width = 560;
  static constexpr double longest_name = 230;

  /// The name of something and where that ends.
  struct side_name {
    enum class kind : std::uint8_t { area, line, limit } of;
    std::size_t number;
    std::string_view name;
    double x;
    double y;
    double height = 0;  ///< where the name stands
  };

  [[nodiscard]] bool named() const { return !p_.x_names.empty(); }
  [[nodiscard]] double slot() const { return plot_width / static_cast<double>(p_.x_names.size()); }
  [[nodiscard]] std::string x_label() const { return p_.x_label + x_.factor; }
  [[nodiscard]] std::string y_label() const { return p_.y_label + y_.factor; }

  [[nodiscard]] bool visible(const plot_point& q) const {
    if (!drawable(q)) return false;
    if (named()) return q.x >= 0 && q.x < static_cast<double>(p_.x_names.size()) && std::floor(q.x) == q.x;
    return p_.x_scale == plot_scale::linear || q.x > 0;
  }

  /// Where a point of a line lies. Above a name the lines stand side by side.
  [[nodiscard]] double x_of(std::size_t line, double x) const {
    const double count = static_cast<double>(p_.lines.size());
    const double apart = named() ? std::min(14.0, slot() * 0.7 / count) : 0;
    return x_.place(x) + (static_cast<double>(line) - (count - 1) / 2) * apart;
  }

  void lay_out_axes() {
    std::vector<double> xs = areas_.x;
    y_.high = 0;
    const auto reaches = [&](double value) { y_.low = std::min(y_.low, value), y_.high = std::max(y_.high, value); };
    for (const auto& tops : areas_.tops) std::for_each(tops.begin(), tops.end(), reaches);
    for (const plot_line& line : p_.lines) {
      for (const plot_point& q : line.points) {
        if (!visible(q)) continue;
        xs.push_back(q.x);
        reaches(q.y);
      }
    }
    for (const plot_limit& l : p_.limits) {
      if (drawable(l.y)) reaches(l.y * (l.y > 0 ? 1.03 : 1));  // its hatching stays below the upper edge
    }
    if (y_.high - y_.low < smallest_range) y_.high = 1;
    decimal_ticks(y_, 7, false, true);
    if (named()) {
      x_.low = -0.5, x_.high = static_cast<double>(p_.x_names.size()) - 0.5;
      for (const std::string& name : p_.x_names) {
        x_.ticks.push_back({static_cast<double>(x_.ticks.size()), escaped(shortened(name, text_size, 150))});
        slanted_ = slanted_ || width_of(characters(name), text_size) > slot() - 8;
      }
    } else {
      x_ = x_axis(xs, p_.x_scale, plot_width, text_size);
    }

    double widest = 14;
    for (const tick& t : y_.ticks) widest = std::max(widest, width_of(characters(t.label), text_size));
    left_ = std::max(slanted_ ? 115 : 0, static_cast<int>(widest) + 16);
    right_ = left_ + plot_width;
    top_ = 18 + (p_.title.empty() ? 0 : 22) + (p_.subtitle.empty() ? 0 : 18) + (y_label().empty() ? 4 : 20);
    // As high as the names beside it need.
    const auto names = static_cast<double>(p_.limits.size() + p_.lines.size() + p_.areas.size());
    bottom_ = top_ + std::max(330.0, line_height * names);
    x_.from = left_, x_.to = right_;
    y_.from = bottom_, y_.to = top_;
  }

  void lay_out_names() {
    using kind = typename side_name::kind;
    for (std::size_t i = 0; i < p_.areas.size() && !areas_.x.empty(); ++i) {
      const std::size_t last = areas_.x.size() - 1;
      names_.push_back({kind::area, i, p_.areas[i].name, x_.place(areas_.x[last]) + (named() ? slot() * 0.3 : 0),
                        (y_.place(areas_.below(i, last)) + y_.place(areas_.tops[i][last])) / 2});
    }
    for (std::size_t i = 0; i < p_.lines.size(); ++i) {
      const auto& points = p_.lines[i].points;
      const auto last = std::find_if(points.rbegin(), points.rend(), [&](const plot_point& q) { return visible(q); });
      if (last == points.rend()) continue;
      names_.push_back({kind::line, i, p_.lines[i].name, x_of(i, last->x), y_.place(last->y)});
    }
    for (std::size_t i = 0; i < p_.limits.size(); ++i) {
      const plot_limit& l = p_.limits[i];
      if (drawable(l.y)) names_.push_back({kind::limit, i, l.name, right_, y_.place(l.y)});
    }
    // From above; where several end in one place, the order of the plot.
    std::stable_sort(names_.begin(), names_.end(), [](const side_name& a, const side_name& b) {
      return std::round(a.y * 100) < std::round(b.y * 100);
    });
    std::vector<double> heights;
    for (const side_name& n : names_) {
      heights.push_back(n.y);
      widest_name_ = std::max(widest_name_, width_of(shortened(n.name, text_size, longest_name), text_size));
    }
    push_apart(heights, line_height, top_, bottom_);
    for (std::size_t i = 0; i < names_.size(); ++i) names_[i].height = heights[i];
  }

  /// What the picture shows, in words.
  [[nodiscard]] std::string description() const {
    std::string out = fmt::format("{} against {}.", p_.y_label, p_.x_label);
    const auto place = [&](double x) {
      return named() ? p_.x_names[static_cast<std::size_t>(x)] : fmt::format("{:.6g}", x);
    };
    for (const side_name& n : names_) {
      if (n.of == side_name::kind::limit) {
        out += fmt::format(" Limit {}: {:.6g}.", n.name, p_.limits[n.number].y);
        continue;
      }
      const bool area = n.of == side_name::kind::area;
      const auto& points = area ? p_.areas[n.number].points : p_.lines[n.number].points;
      const auto shown = [&](const plot_point& q) { return visible(q); };
      const auto first = std::find_if(points.begin(), points.end(), shown);
      const auto last = std::find_if(points.rbegin(), points.rend(), shown);
      out += fmt::format(" {} {}: {:.6g} at {} to {:.6g} at {}.", area ? "Area" : "Line", n.name, first->y,
                         place(first->x), last->y, place(last->x));
    }
    return out;
  }

  [[nodiscard]] std::string drawn_areas() const {
    std::string out;
    for (std::size_t i = 0; i < p_.areas.size() && !areas_.x.empty(); ++i) {
      const bool steps = p_.areas[i].steps;
      std::string shape;
      path upper(steps);
      path lower(false);  // backwards; its steps rise before they run
      for (std::size_t k = 0; k < areas_.x.size(); ++k) {
        const double x = x_.place(areas_.x[k]);
        upper.to(x, y_.place(areas_.tops[i][k]));
        if (!named()) continue;
        const double wide = slot() * 0.6;
        shape += fmt::format("M{:.2f} {:.2f}h{:.2f}V{:.2f}h{:.2f}Z", x - wide / 2, y_.place(areas_.tops[i][k]), wide,
                             y_.place(areas_.below(i, k)), -wide);
      }
      for (std::size_t k = areas_.x.size(); k-- > 0;) {
        const double y = y_.place(areas_.below(i, k));
        if (steps && k + 1 < areas_.x.size()) lower.to(x_.place(areas_.x[k + 1]), y);
        lower.to(x_.place(areas_.x[k]), y);
      }
      if (!named()) shape = upper.data() + "L" + lower.data().substr(1) + "Z";
      out += group("area", p_.areas[i].name,
                   fmt::format("<path d=\"{}\" fill=\"{}\" stroke=\"#000000\" stroke-width=\"0.8\"/>\n", shape,
                               area_fills[i % area_fills.size()]));
    }
    return out;
  }

  [[nodiscard]] std::string drawn_axes() const {
    std::string out;
    constexpr std::string_view faint = " stroke-opacity=\"0.22\"";
    for (const tick& t : y_.ticks) {
      const double y = y_.place(t.at);
      out += stroke(fmt::format("M{:.2f} {:.2f}H{:.2f}", left_, y, right_), 0.7, faint);
      out += text(left_ - 8, y + 4, text_size, "class=\"y-tick\" text-anchor=\"end\"", t.label);
    }
    for (const tick& t : x_.ticks) {
      const double x = x_.place(t.at);
      out += stroke(fmt::format("M{:.2f} {:.2f}V{:.2f}", x, top_, bottom_ + 5), 0.7, faint);
      const std::string turned = fmt::format(
          "class=\"x-tick\" text-anchor=\"end\" transform=\"rotate(-35 {:.2f} {:.2f})\"", x + 4, bottom_ + 16);
      out += slanted_ ? text(x + 4, bottom_ + 16, text_size, turned, t.label)
                      : text(x, bottom_ + 20, text_size, "class=\"x-tick\" text-anchor=\"middle\"", t.label);
    }
    out += stroke(fmt::format("M{:.2f} {:.2f}V{:.2f}H{:.2f}", left_, top_, bottom_, right_), 1.2);
    if (y_.low < 0) out += stroke(fmt::format("M{:.2f} {:.2f}H{:.2f}", left_, y_.place(0), right_), 1);
    if (names_.empty()) {
      out += text((left_ + right_) / 2, (top_ + bottom_) / 2, 14, "text-anchor=\"middle\" fill=\"#333333\"", "no data");
    }
    return out;
  }

  [[nodiscard]] static std::string limit_line(double x, double y, double width) {
    return rectangle(x, y - 6, width, 6, "fill=\"url(#kvbudget-rising)\"") +
           stroke(fmt::format("M{:.2f} {:.2f}h{:.2f}", x, y, width), 1.6);
  }

  [[nodiscard]] std::string drawn_limits() const {
    std::string out;
    for (const plot_limit& l : p_.limits) {
      if (drawable(l.y)) out += group("limit", l.name, limit_line(left_, y_.place(l.y), plot_width));
    }
    return out;
  }

  [[nodiscard]] std::string drawn_lines() const {
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < p_.lines.size(); ++i) {
      path way(p_.lines[i].steps);
      for (const plot_point& q : p_.lines[i].points) {
        if (!visible(q)) way.gap();
        else way.to(x_of(i, q.x), y_.place(q.y));
        if (named()) way.gap();
      }
      paths.push_back(way.data());
    }
    std::string out;
    for (std::size_t i = 0; i < p_.lines.size(); ++i) {
      if (paths[i].empty()) continue;
      // Lines that coincide show their markers in turn.
      const auto here = paths.begin() + static_cast<std::ptrdiff_t>(i);
      const auto all = std::count(paths.begin(), paths.end(), *here);
      const auto before = std::count(paths.begin(), here, *here);
      out += group("line", p_.lines[i].name, (named() ? "" : stroke_of_line(*here, i)) + markers(i, all, before));
    }
    return out;
  }

  /// At every point, or where those are dense at some; the line takes part in every `all`-th turn.
  [[nodiscard]] std::string markers(std::size_t line, std::ptrdiff_t all, std::ptrdiff_t before) const {
    std::string out;
    const auto& points = p_.lines[line].points;
    const auto shown = [&](std::size_t k) { return k < points.size() && visible(points[k]); };
    const double apart = points.size() > 24 ? 60 : 12;
    double last_x = -1e9;
    double last_y = -1e9;
    std::ptrdiff_t turn = 0;
    for (std::size_t k = 0; k < points.size(); ++k) {
      if (!shown(k)) continue;
      const double x = x_of(line, points[k].x);
      const double y = y_.place(points[k].y);
      const bool alone = named() || !(shown(k + 1) || (k > 0 && shown(k - 1)));
      if (!alone && std::hypot(x - last_x, y - last_y) < apart) continue;
      last_x = x, last_y = y;
      if (turn++ % all == before) out += marker(line, x, y);
    }
    return out;
  }

  /// Names, each with a sample of what it names and a fine line to where that ends.
  [[nodiscard]] std::string drawn_names() const {
    std::string out;
    for (const side_name& n : names_) {
      const double x = right_ + 22;
      const double y = n.height;
      std::string shown =
          stroke(fmt::format("M{:.2f} {:.2f}L{:.2f} {:.2f}", n.x + 4, n.y, x - 2, y), 0.7, " stroke-dasharray=\"1 2\"");
      if (n.of == side_name::kind::area) {
        shown += rectangle(x, y - 5.5, 34, 11,
                           fmt::format("fill=\"{}\" stroke=\"#000000\" stroke-width=\"0.8\"",
                                       area_fills[n.number % area_fills.size()]));
      } else if (n.of == side_name::kind::limit) {
        shown += limit_line(x, y + 2, 34);
      } else {
        if (!named()) shown += stroke_of_line(fmt::format("M{:.2f} {:.2f}h34", x, y), n.number);
        shown += marker(n.number, x + 17, y);
      }
      shown += text(x + 40, y + 4, text_size, "class=\"name\"", escaped(shortened(n.name, text_size, longest_name)));
      out += group("label", n.name, shown);
    }
    return out;
  }

  const plot& p_;
  stack areas_;
  axis x_{};
  axis y_{};
  bool slanted_ = false;  ///< the names below x
  double left_ = 0, right_ = 0, top_ = 0, bottom_ = 0;
  std::vector<side_name> names_;
  double widest_name_ = 0;
};

}  // namespace kvbudget::detail::svg
