// Plots: well-formed whatever the names hold, exact ticks, names that do not collide, inputs without a picture.
#include "support/catch.hpp"

#include <cmath>
#include <limits>

#include <kvbudget/report/svg.hpp>
#include <kvbudget/report/plot.hpp>

using namespace kvbudget;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Is this UTF-8 without what XML 1.0 forbids? By the table of RFC 3629, not by the library's code.
bool is_xml_text(const std::string& s) {
  for (std::size_t i = 0; i < s.size();) {
    const auto at = [&](std::size_t k) { return i + k < s.size() ? static_cast<unsigned char>(s[i + k]) : 0U; };
    const auto tail = [&](std::size_t k, unsigned low = 0x80, unsigned high = 0xBF) {
      return at(k) >= low && at(k) <= high;
    };
    const unsigned c = at(0);
    if (c == '\n' || (c >= 0x20 && c < 0x7F)) i += 1;
    else if (c >= 0xC2 && c <= 0xDF && tail(1)) i += 2;
    else if (c == 0xE0 && tail(1, 0xA0) && tail(2)) i += 3;
    else if (c == 0xED && tail(1, 0x80, 0x9F) && tail(2)) i += 3;
    else if (c == 0xEF && at(1) == 0xBF && at(2) >= 0xBE) return false;  // U+FFFE, U+FFFF
    else if (c >= 0xE1 && c <= 0xEF && c != 0xED && tail(1) && tail(2)) i += 3;
    else if (c == 0xF0 && tail(1, 0x90) && tail(2) && tail(3)) i += 4;
    else if (c >= 0xF1 && c <= 0xF3 && tail(1) && tail(2) && tail(3)) i += 4;
    else if (c == 0xF4 && tail(1, 0x80, 0x8F) && tail(2) && tail(3)) i += 4;
    else return false;
  }
  return true;
}

/// Well-formed: one root, elements closed in turn, attributes quoted and once each, references that XML knows.
std::string problem_of(const std::string& s) {
  if (!is_xml_text(s)) return "not UTF-8 for XML";
  const auto references_are_known = [](const std::string& t) {
    for (std::size_t at = t.find('&'); at != t.npos; at = t.find('&', at + 1)) {
      const std::string name = t.substr(at + 1, t.find(';', at) - at - 1);
      if (name != "amp" && name != "lt" && name != "gt" && name != "quot" && name != "#39") return false;
    }
    return true;
  };
  std::vector<std::string> open;
  std::size_t roots = 0;
  for (std::size_t i = 0; i < s.size();) {
    if (s[i] != '<') {
      const std::string content = s.substr(i, s.find('<', i) - i);
      if (open.empty() && content.find_first_not_of('\n') != content.npos) return "text outside: " + content;
      if (!references_are_known(content) || content.find('>') != content.npos) return "text: " + content;
      i += content.size();
      continue;
    }
    std::size_t at = i + 1;
    const bool closes = s[at] == '/';
    if (closes) ++at;
    const std::size_t name_end = s.find_first_of(" />", at);
    if (name_end == s.npos) return "no name";
    const std::string name = s.substr(at, name_end - at);
    if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != name.npos) return "name: " + name;
    at = name_end;
    std::vector<std::string> attributes;
    while (at < s.size() && s[at] == ' ') {
      const std::size_t equals = s.find("=\"", at);
      const std::size_t end = equals == s.npos ? s.npos : s.find('"', equals + 2);
      if (end == s.npos) return "attribute of " + name;
      const std::string key = s.substr(at + 1, equals - at - 1);
      const std::string value = s.substr(equals + 2, end - equals - 2);
      for (const std::string& before : attributes) {
        if (before == key) return "attribute twice: " + key;
      }
      if (key.empty() || key.find_first_of(" <>&") != key.npos) return "attribute: " + key;
      if (value.find('<') != value.npos || !references_are_known(value)) return "value: " + value;
      attributes.push_back(key);
      at = end + 1;
    }
    const bool empty = s.compare(at, 2, "/>") == 0;
    if (!empty && s.compare(at, 1, ">") != 0) return "tag: " + s.substr(i, 80);
    if (closes) {
      if (open.empty() || open.back() != name || empty || !attributes.empty()) return "closes " + name;
      open.pop_back();
    } else {
      roots += open.empty() ? 1U : 0U;
      if (!empty) open.push_back(name);
    }
    i = at + (empty ? 2 : 1);
  }
  if (!open.empty()) return "open: " + open.back();
  return roots == 1 ? "" : "roots";
}

/// The contents of the text elements of a class, in their order.
std::vector<std::string> texts(const std::string& svg, const std::string& kind) {
  std::vector<std::string> out;
  const std::string mark = "class=\"" + kind + "\"";
  for (std::size_t at = svg.find("<text"); at != svg.npos; at = svg.find("<text", at + 1)) {
    const std::size_t begin = svg.find('>', at) + 1;
    if (svg.substr(at, begin - at).find(mark) == std::string::npos) continue;
    out.push_back(svg.substr(begin, svg.find('<', begin) - begin));
  }
  return out;
}
using strings = std::vector<std::string>;

std::vector<double> heights(const std::string& svg, const std::string& kind) {
  std::vector<double> out;
  const std::string mark = "class=\"" + kind + "\"";
  for (std::size_t at = svg.find("<text"); at != svg.npos; at = svg.find("<text", at + 1)) {
    const std::string tag = svg.substr(at, svg.find('>', at) - at);
    if (tag.find(mark) != tag.npos) out.push_back(std::stod(tag.substr(tag.find(" y=\"") + 4)));
  }
  return out;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

plot with_line(std::vector<plot_point> points) {
  plot p;
  p.lines.push_back({"line", std::move(points)});
  return p;
}

/// Well-formed, and no number that is none.
void check_sound(const plot& p) {
  const std::string svg = to_svg(p);
  CHECK(problem_of(svg) == "");
  CHECK(svg.find("nan") == svg.npos);
  CHECK(svg.find("inf") == svg.npos);
  CHECK(svg == to_svg(p));
}

}  // namespace

TEST_CASE("the checker of this file finds what is wrong") {
  CHECK(problem_of("<a>x &amp; y</a>\n") == "");
  for (const char* bad :
       {"<a>", "<a></b>", "<a/><b/>", "<a x=1/>", "<a>&nbsp;</a>", "<a>&</a>", "<a x=\"<\"/>", "x<a/>", "<a>\x01</a>",
        "<a>\xFF</a>", "<a>\xC0\x80</a>", "<a>\xED\xA0\x80</a>", "<a>\xEF\xBF\xBF</a>", "<a x=\"\" x=\"\"/>", ""}) {
    CAPTURE(bad);
    CHECK(problem_of(bad) != "");
  }
}

TEST_CASE("ticks of positions are powers of two where the points are") {
  const auto ticks = [](double low, double high) { return texts(to_svg(with_line({{low, 1}, {high, 2}})), "x-tick"); };
  CHECK(ticks(512, 131072) == strings{"0", "16 Ki", "32 Ki", "48 Ki", "64 Ki", "80 Ki", "96 Ki", "112 Ki", "128 Ki"});
  CHECK(ticks(1024, 40960) == strings{"0", "8 Ki", "16 Ki", "24 Ki", "32 Ki", "40 Ki"});
  CHECK(ticks(0, 1048576) ==
        strings{"0", "128 Ki", "256 Ki", "384 Ki", "512 Ki", "640 Ki", "768 Ki", "896 Ki", "1 Mi"});
  CHECK(ticks(1, 64) == strings{"0", "8", "16", "24", "32", "40", "48", "56", "64"});
  CHECK(ticks(256, 4096) == strings{"0", "512", "1,024", "1,536", "2,048", "2,560", "3,072", "3,584", "4,096"});
  // 1-2-5 where they are not
  CHECK(ticks(1000, 100000) == strings{"0", "20,000", "40,000", "60,000", "80,000", "100,000"});
  CHECK(ticks(1, 6) == strings{"0", "1", "2", "3", "4", "5", "6"});
  CHECK(ticks(0, 0.6) == strings{"0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6"});
  CHECK(ticks(1, 2) == strings{"1", "2"});  // no halves of whole things
  CHECK(ticks(1000, 1003) == strings{"1,000", "1,001", "1,002", "1,003"});
  CHECK(ticks(-3, 3) == strings{"-3", "-2", "-1", "0", "1", "2", "3"});
  // Fewer where they would touch.
  CHECK(ticks(1000001, 9000000) == strings{"0", "2,000,000", "4,000,000", "6,000,000", "8,000,000"});
}

TEST_CASE("a logarithmic axis has powers of two") {
  plot p = with_line({{512, 1}, {131072, 2}});
  p.x_scale = plot_scale::logarithmic;
  CHECK(texts(to_svg(p), "x-tick") ==
        strings{"512", "1 Ki", "2 Ki", "4 Ki", "8 Ki", "16 Ki", "32 Ki", "64 Ki", "128 Ki"});
  p.lines[0].points = {{1, 1}, {1048576, 2}, {0, 1}, {-5, 3}};  // what has no logarithm is left out
  CHECK(texts(to_svg(p), "x-tick") == strings{"4", "32", "256", "2 Ki", "16 Ki", "128 Ki", "1 Mi"});
  CHECK(texts(to_svg(p), "y-tick").back() == "2.0");
  p.lines[0].points = {{0.25, 1}, {2, 2}};
  CHECK(texts(to_svg(p), "x-tick") == strings{"0.25", "0.5", "1", "2"});
  p.lines[0].points = {{5000, 1}, {7000, 2}};  // no power of two in between: linear
  CHECK(texts(to_svg(p), "x-tick") == strings{"5,000", "5,500", "6,000", "6,500", "7,000"});
}

TEST_CASE("ticks of heights") {
  const auto ticks = [](double most) { return texts(to_svg(with_line({{1, 0}, {2, most}})), "y-tick"); };
  CHECK(ticks(17.7) == strings{"0", "5", "10", "15", "20"});
  CHECK(ticks(24) == strings{"0", "5", "10", "15", "20", "25"});
  CHECK(ticks(0.7) == strings{"0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7"});
  CHECK(ticks(3) == strings{"0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"});
  CHECK(ticks(640) == strings{"0", "100", "200", "300", "400", "500", "600", "700"});
  CHECK(ticks(0) == strings{"0", "0.2", "0.4", "0.6", "0.8", "1.0"});
  // A limit has room for its hatching above it.
  plot p = with_line({{1, 3}});
  p.limits = {{"device", 25}};
  CHECK(texts(to_svg(p), "y-tick") == strings{"0", "5", "10", "15", "20", "25", "30"});
  // Long numbers are divided by what the label says.
  p = with_line({{1, 2.5e12}});
  p.y_label = "bytes";
  CHECK(texts(to_svg(p), "y-tick") == strings{"0", "0.5", "1.0", "1.5", "2.0", "2.5"});
  CHECK(to_svg(p).find(">bytes (×10¹²)<") != std::string::npos);
  p = with_line({{1, 0.00002}});
  CHECK(texts(to_svg(p), "y-tick") == strings{"0", "5", "10", "15", "20"});
  CHECK(to_svg(p).find("> (×10⁻⁶)<") != std::string::npos);
}

TEST_CASE("any bytes in names give well-formed XML") {
  plot p = with_line({{1, 1}, {2, 2}});
  const std::string ugly =
      "a<b>&\"'\t\n\r\x01\x7F\xC2\x85\xFF\xC0\xAF\xED\xA0\x80\xEF\xBF\xBF\xF5\x80\xE2\x82]]>--€😀\xE2";
  p.title = p.subtitle = p.x_label = p.y_label = p.lines[0].name = ugly;
  p.areas = {{ugly, {{1, 1}, {2, 1}}}};
  p.limits = {{ugly, 3}};
  check_sound(p);
  CHECK(to_svg(p).find("a&lt;b&gt;&amp;&quot;&#39;   \xEF\xBF\xBD") != std::string::npos);
  CHECK(to_svg(p).find("]]&gt;--€😀\xEF\xBF\xBD<") != std::string::npos);
  p.x_names = {ugly, ugly, ugly};
  check_sound(p);
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  p.lines[0].name = all + all;
  check_sound(p);
  for (int first = 0; first < 256; ++first) {  // every pair of bytes at the end, and within
    for (int second = 0x70; second < 256; second += 5) {
      const std::string pair{static_cast<char>(first), static_cast<char>(second)};
      const std::string longer = pair + "\x80\x80|";
      if (!is_xml_text(detail::svg::escaped(pair)) || !is_xml_text(detail::svg::escaped(longer)))
        FAIL(first << " " << second);
    }
  }
}

TEST_CASE("no script, nothing from elsewhere") {
  plot p = with_line({{1, 1}});
  p.title = "<script>alert(1)</script>";
  const std::string svg = to_svg(p);
  CHECK(svg.find("<script") == svg.npos);
  CHECK(svg.find("href") == svg.npos);
  CHECK(count_of(svg, "http") == 1);  // the name of the format
}

TEST_CASE("inputs without a picture") {
  check_sound({});
  CHECK(to_svg({}).find(">no data<") != std::string::npos);
  const double nan = std::nan("");
  check_sound(with_line({}));
  check_sound(with_line({{nan, 1}, {1, infinite}, {-infinite, nan}}));
  CHECK(to_svg(with_line({{nan, 1}})).find(">no data<") != std::string::npos);
  for (const double value : {0.0, 1.0, -1.0, 4096.0, 1e300, -1e300, 1e-320, 1e301, 0x1p63, 0.1}) {
    CAPTURE(value);
    check_sound(with_line({{value, value}}));
    check_sound(with_line({{value, value}, {value, value}}));
    check_sound(with_line({{-value, 1}, {value, value}}));
    check_sound(with_line({{value, 0}, {std::nextafter(value, infinite), value}}));
    plot p = with_line({{value, 1}});
    p.x_scale = plot_scale::logarithmic;
    check_sound(p);
    p.lines[0].points.push_back({value * 1e9, 2});
    check_sound(p);
    p.areas = {{"a", {{value, 1e300}}}, {"b", {{value, 1e300}}}};
    p.limits = {{"l", value}, {"m", nan}};
    check_sound(p);
  }
  // One point is one marker, beside its sample.
  CHECK(count_of(to_svg(with_line({{4096, 3}})), "class=\"marker\"") == 2);
}

TEST_CASE("a point that is left out is a gap, and a point between two gaps is seen") {
  const double nan = std::nan("");
  const std::string svg = to_svg(with_line({{1, 1}, {2, 2}, {3, nan}, {4, 4}, {5, nan}, {6, 6}, {7, 7}}));
  const std::size_t at = svg.find("<path d=\"M", svg.find("class=\"line\""));
  const std::string path = svg.substr(at + 9, svg.find('"', at + 9) - at - 9);
  CHECK(count_of(path, "M") == 3);
  CHECK(count_of(path, "L") == 2);
}

TEST_CASE("names at the ends do not collide") {
  plot p;
  for (int i = 0; i < 70; ++i) p.lines.push_back({"line " + std::to_string(i), {{0, 0}, {1, 1 + (i % 3) * 0.001}}});
  p.limits = {{"limit", 1.001}};
  check_sound(p);
  const auto names = heights(to_svg(p), "name");
  REQUIRE(names.size() == 71);
  for (std::size_t i = 1; i < names.size(); ++i) CHECK(names[i] - names[i - 1] > 16.9);
  // Alone a name stands where its line ends: half way up, 4 below the middle of its letters.
  const std::string one = to_svg(with_line({{0, 0}, {1, 0.5}, {2, 1}}));
  CHECK(heights(one, "name")[0] == heights(one, "y-tick").back());
}

TEST_CASE("pushing apart is the least squares one") {
  const auto pushed = [](std::vector<double> heights) {
    detail::svg::push_apart(heights, 10, 0, 100);
    return heights;
  };
  CHECK(pushed({}).empty());
  CHECK(pushed({50}) == std::vector<double>{50});
  CHECK(pushed({20, 40, 90}) == std::vector<double>{20, 40, 90});
  CHECK(pushed({50, 50}) == std::vector<double>{45, 55});
  CHECK(pushed({50, 50, 50}) == std::vector<double>{40, 50, 60});
  CHECK(pushed({20, 48, 52, 56, 90}) == std::vector<double>{20, 42, 52, 62, 90});
  CHECK(pushed({0, 0, 5}) == std::vector<double>{0, 10, 20});
  CHECK(pushed({99, 100}) == std::vector<double>{90, 100});
}

TEST_CASE("lines differ without colour") {
  plot p;
  for (int i = 0; i < 64; ++i) p.lines.push_back({std::to_string(i), {{0, 0}, {1, 1.0 + i}}});
  const std::string svg = to_svg(p);
  std::vector<std::string> looks;
  for (std::size_t at = svg.find("class=\"line\""); at != svg.npos; at = svg.find("class=\"line\"", at + 1)) {
    const std::string part = svg.substr(at, svg.find("</g>", at) - at);
    const auto after = [&](const std::string& mark, std::size_t from) {
      const std::size_t begin = part.find(mark, from) + mark.size();
      return part.substr(begin, part.find('"', begin) - begin);
    };
    const std::string marker = after(" d=\"", part.find("class=\"marker\""));
    looks.push_back(after("stroke-dasharray=\"", 0) + "|" + marker.substr(marker.find('m')));
  }
  REQUIRE(looks.size() == 64);
  std::sort(looks.begin(), looks.end());
  CHECK(std::adjacent_find(looks.begin(), looks.end()) == looks.end());
}

TEST_CASE("lines that coincide show their markers in turn") {
  plot p;
  for (const char* name : {"none", "transformers"}) p.lines.push_back({name, {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}}});
  const std::string svg = to_svg(p);
  const std::size_t first = svg.find("class=\"line\"");
  const std::size_t second = svg.find("class=\"line\"", first + 1);
  CHECK(count_of(svg.substr(first, second - first), "class=\"marker\"") == 3);
  CHECK(count_of(svg.substr(second, svg.find("</g>", second) - second), "class=\"marker\"") == 2);
}

TEST_CASE("areas are stacked where each has a point") {
  plot p;
  p.areas = {{"weights", {{0, 8}, {1, 8}, {2, 8}}}, {"cache", {{2, 4}, {0, 2}, {1, std::nan("")}}}};
  const std::string svg = to_svg(p);
  check_sound(p);
  CHECK(texts(svg, "y-tick") == strings{"0", "2", "4", "6", "8", "10", "12"});
  CHECK(count_of(svg, "class=\"area\"") == 2);
  CHECK(texts(svg, "name") == strings{"cache", "weights"});  // from above
  // Two columns: over the left end, and back.
  const std::size_t at = svg.find("<path d=\"", svg.find("class=\"area\"")) + 9;
  CHECK(count_of(svg.substr(at, svg.find('"', at) - at), "L") == 3);
  p.areas[1].points = {{5, 1}};  // nowhere both
  check_sound(p);
  CHECK(to_svg(p).find(">no data<") != std::string::npos);
}

TEST_CASE("steps hold until the next point") {
  plot p = with_line({{0, 1}, {1, 2}, {2, 1}});
  p.lines[0].steps = true;
  const std::string svg = to_svg(p);
  const std::size_t at = svg.find("<path d=\"", svg.find("class=\"line\"")) + 9;
  CHECK(svg.substr(at, svg.find('"', at) - at) ==
        "M35.00 187.00L315.00 187.00L315.00 22.00L595.00 22.00L595.00 187.00");
  p.areas = {{"a", p.lines[0].points, true}, {"b", p.lines[0].points, true}};
  check_sound(p);
}

TEST_CASE("names in place of numbers") {
  plot p;
  p.x_names = {"float32", "bfloat16", "q8_0"};
  p.areas = {{"weights", {{0, 15}, {1, 15}, {2, 15}}},
             {"cache", {{0, 16}, {1, 8}, {2, 4.25}, {3, 9}, {0.5, 9}, {-1, 9}}}};
  p.lines = {{"other", {{0, 1}, {1, 2}, {7, 99}}}};
  check_sound(p);
  const std::string svg = to_svg(p);
  CHECK(texts(svg, "x-tick") == p.x_names);
  CHECK(texts(svg, "y-tick").back() == "35");
  const std::size_t at = svg.find("<path d=\"", svg.find("class=\"area\"")) + 9;
  CHECK(count_of(svg.substr(at, svg.find('"', at) - at), "Z") == 3);  // a bar each
  p.x_names = strings(300, "a rather long name of a device");
  check_sound(p);
}

TEST_CASE("long names lose their middle, and are whole in the title") {
  plot p = with_line({{1, 1}});
  p.lines[0].name = "organisation/a-model-of-a-very-long-name-that-is-not-shown-whole-Instruct-FP8";
  const std::string svg = to_svg(p);
  CHECK(texts(svg, "name") == strings{"organisation/a-m…ole-Instruct-FP8"});
  CHECK(svg.find("<title>" + p.lines[0].name + "</title>") != std::string::npos);
  CHECK(svg.find("Line " + p.lines[0].name + ": 1 at 1 to 1 at 1.") != std::string::npos);
}
