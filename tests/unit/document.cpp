// JSON as it is published: what Python's json module reads, and numbers that are never cut or wrapped.
#include "support/catch.hpp"

#include <filesystem>
#include <fstream>

#include <kvbudget/input/document.hpp>

using namespace kvbudget;
using namespace kvbudget::detail::config;

namespace {

document parse(std::string_view text) { return parse_document(text, "config.json"); }

config_error refusal(std::string_view text) {
  try {
    (void)parse(text);
  } catch (const config_error& e) {
    return e;
  }
  FAIL("accepted: " << text);
  throw 0;
}

/// What is wrong with the number under "x"; empty when nothing is.
std::string problem_of_count(const std::string& value, std::uint64_t lowest = 0) {
  const document d = parse("{\"x\": " + value + "}");
  try {
    (void)node(d).count("x", lowest);
  } catch (const config_error& e) {
    CHECK(e.file() == "config.json");
    CHECK(e.pointer() == "/x");
    CHECK(!e.value().empty());
    CHECK(e.expected() == "a whole number from " + std::to_string(lowest) + " to 2147483647");
    return e.problem();
  }
  return {};
}

std::string repeated_text(std::string_view text, std::size_t n) {
  std::string result;
  for (std::size_t i = 0; i < n; ++i) result += text;
  return result;
}

}  // namespace

TEST_CASE("the bare words for non-finite numbers and their spelling as objects are one") {
  const document d =
      parse(R"({"a": Infinity, "b": -Infinity, "c": NaN, "d": {"__float__": "Infinity"}, "e": [NaN,1]})");
  for (const char* key : {"a", "b", "c", "d"}) CHECK(is_non_finite(d.root[key]));
  CHECK(d.root["a"] == d.root["d"]);
  CHECK(d.root["b"] == json{{"__float__", "-Infinity"}});
  CHECK(is_non_finite(d.root["e"][0]));
  CHECK(d.root["e"][1] == 1);
  CHECK(!is_non_finite(json{{"__float__", "1"}, {"x", 2}}));
  CHECK(is_non_finite(parse("Infinity").root));
}

TEST_CASE("words inside strings are left alone") {
  const document d = parse(R"({"Infinity": "NaN", "a\"NaN": "\\", "b": "-Infinity\\\"NaN", "c": NaN})");
  CHECK(d.root["Infinity"] == "NaN");
  CHECK(d.root["a\"NaN"] == "\\");
  CHECK(d.root["b"] == "-Infinity\\\"NaN");
  CHECK(is_non_finite(d.root["c"]));
}

TEST_CASE("numbers beyond a double and halves of surrogate pairs are read as Python reads them") {
  const document d =
      parse(R"({"a": 1e400, "b": -1e400, "c": [12, 1e5], "d": "x\ud800y", "e": "\udC00", "f": "\uD83D\ude00",
                              "g": "\\ud800", "h": "1e400"})");
  CHECK(is_non_finite(d.root["a"]));
  CHECK(d.root["b"] == json{{"__float__", "-Infinity"}});
  CHECK(d.root["c"] == json{12, 1e5});
  CHECK(d.root["d"] == "x\xef\xbf\xbdy");
  CHECK(d.root["e"] == "\xef\xbf\xbd");
  CHECK(d.root["f"] == "\xf0\x9f\x98\x80");
  CHECK(d.root["g"] == "\\ud800");
  CHECK(d.root["h"] == "1e400");
  CHECK_THROWS_AS(parse(R"({"a": 1e400, "b": })"), config_error);
  CHECK_THROWS_AS(parse(R"({"a": "\ud8"})"), config_error);
}

TEST_CASE("a byte order mark is skipped, of a repeated key the last one counts") {
  CHECK(parse("\xef\xbb\xbf{\"a\": 1}").root["a"] == 1);
  CHECK(parse(R"({"a": 1, "b": {"c": 2}, "a": 3, "b": {"d": 4}})").root == json::parse(R"({"a": 3, "b": {"d": 4}})"));
}

TEST_CASE("what is no JSON is refused with the file and the place") {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[1,]",
                           "{\"a\": 1,}",
                           "{\"a\" 1}",
                           "{a: 1}",
                           "{'a': 1}",
                           "// c\n{}",
                           "{} // c",
                           "/* c */ {}",
                           "# c\n{}",
                           "{} {}",
                           "{}x",
                           "nan",
                           "infinity",
                           "+1",
                           "01",
                           "0x1",
                           ".5",
                           "1.",
                           "InfinityNaN",
                           "1Infinity",
                           "{Infinity: 1}",
                           "{\"a\": --Infinity}",
                           "\"\n\"",
                           "\"\\x\"",
                           "\"\xff\"",
                           "\"abc",
                           "tru",
                           "\xef\xbb{}"}) {
    const config_error e = refusal(text);
    CAPTURE(text);
    CHECK(e.file() == "config.json");
    CHECK(e.pointer().empty());
    CHECK(e.problem().find("not valid JSON") == 0);
    CHECK(e.expected() == "a JSON document as Python's json module reads it");
  }
  CHECK(refusal("{\"a\": 1,\n  oops}").problem().find("line 2, column 3") != std::string::npos);
  CHECK(refusal(std::string_view("{}\0x", 4)).problem() == "not valid JSON (a zero byte)");
}

TEST_CASE("numbers are read whole, in range, or not at all") {
  CHECK(node(parse(R"({"x": 0})")).count("x") == 0);
  CHECK(problem_of_count("2147483647").empty());
  CHECK(problem_of_count("-0").empty());
  CHECK(problem_of_count("0", 1) == "out of range");
  CHECK(problem_of_count("2147483648") == "out of range");
  CHECK(problem_of_count("18446744073709551615") == "out of range");
  CHECK(problem_of_count("18446744073709551616") == "out of range");
  CHECK(problem_of_count("1e300") == "out of range");
  CHECK(problem_of_count("-1e300") == "out of range");
  CHECK(problem_of_count("-1") == "negative");
  CHECK(problem_of_count("-9223372036854775808") == "negative");
  CHECK(problem_of_count("1.5") == "not a whole number");
  CHECK(problem_of_count("4096.0") == "not a whole number");
  CHECK(problem_of_count("1e3") == "not a whole number");
  CHECK(problem_of_count("\"8\"") == "a string");
  CHECK(problem_of_count("true") == "a boolean");
  CHECK(problem_of_count("[8]") == "not a number");
  CHECK(problem_of_count("{}") == "not a number");
  CHECK(problem_of_count("Infinity") == "not a number");
  CHECK(problem_of_count("{\"__float__\": \"NaN\"}") == "not a number");
}

TEST_CASE("numbers that a program put into a document are numbers too") {
  const document d{json{{"n", 8}, {"minus", -8}, {"large", std::uint64_t{1} << 40U}}, "made"};
  CHECK(node(d).count("n") == 8);
  CHECK(node(d).count("large", 0, ~std::uint64_t{0}) == std::uint64_t{1} << 40U);
  CHECK_THROWS_AS(node(d).count("minus"), config_error);
  CHECK_THROWS_AS(node(d).count("large"), config_error);
}

TEST_CASE("absent and null are nothing; another kind of value is an error") {
  const document d = parse(R"({"null": null, "n": 1, "s": "x", "b": true, "a": [], "o": {}, "f": 0.5})");
  const node root(d);
  for (const char* key : {"null", "absent"}) {
    CHECK(!root.find(key));
    CHECK(!root.count(key));
    CHECK(!root.boolean(key));
    CHECK(!root.string(key));
    CHECK(!root.number(key));
    CHECK(!root.array(key));
    CHECK(!root.object(key));
  }
  CHECK(root.boolean("b") == true);
  CHECK(root.string("s") == "x");
  CHECK(root.number("f") == 0.5);
  CHECK(root.number("n") == 1.0);
  CHECK(root.array("a")->pointer() == "/a");
  CHECK(root.object("o")->pointer() == "/o");
  CHECK_THROWS_AS(root.boolean("n"), config_error);
  CHECK_THROWS_AS(root.string("n"), config_error);
  CHECK_THROWS_AS(root.number("s"), config_error);
  CHECK_THROWS_AS(root.array("o"), config_error);
  CHECK_THROWS_AS(root.object("a"), config_error);
  CHECK(!node(parse("[1]")).find("x"));
}

TEST_CASE("an error is one line: file, pointer, value, problem, expectation") {
  const document d = parse(R"({"a/b": {"c~d": [1, {"": -3}]}})");
  const node inner = node(d).object("a/b")->array("c~d")->child(1);
  try {
    (void)inner.count("");
    FAIL("accepted");
  } catch (const config_error& e) {
    CHECK(e.pointer() == "/a~1b/c~0d/1/");
    CHECK(std::string(e.what()) == "config.json: /a~1b/c~0d/1/: -3: negative: a whole number from 0 to 2147483647");
    CHECK(d.root.at(json::json_pointer(e.pointer())) == -3);
  }
}

TEST_CASE("long and nested values are shortened, between characters") {
  CHECK(detail::config::shown(json("short")) == "\"short\"");
  CHECK(detail::config::shown(json::parse("[1,2,3]")) == "[1,2,3]");
  CHECK(detail::config::shown(json::parse("[1,2,3,4,5,6,7,8,9]")) == "an array of 9 entries");
  CHECK(detail::config::shown(json::parse(R"({"a": {}})")) == "an object of 1 entries");
  const std::string shown = detail::config::shown(json(repeated_text("\xc3\xa4", 100)));
  CHECK(shown == "\"" + repeated_text("\xc3\xa4", 38) + "...");
  CHECK_NOTHROW(json(shown).dump());  // valid UTF-8
  CHECK(detail::config::shown(json("\xff")) == "\"\xef\xbf\xbd\"");
}

TEST_CASE("deep nesting neither crashes nor is printed") {
  constexpr std::size_t depth = 100'000;
  const std::string arrays = repeated_text("[", depth) + repeated_text("]", depth);
  const std::string objects = repeated_text("{\"x\":", depth) + "1" + repeated_text("}", depth);
  CHECK(parse(arrays).root.size() == 1);
  CHECK(problem_of_count(arrays) == "not a number");
  CHECK(problem_of_count(objects) == "not a number");
  CHECK(refusal(repeated_text("[", 10 * depth)).problem().find("not valid JSON") == 0);
  CHECK(refusal(repeated_text("{\"a\":[", depth)).problem().find("not valid JSON") == 0);
  const document d = parse("{\"x\": " + arrays + "}");
  try {
    (void)node(d).boolean("x");
    FAIL("accepted");
  } catch (const config_error& e) {
    CHECK(e.value() == "an array of 1 entries");
  }
}

TEST_CASE("files that cannot be read") {
  const auto folder = std::filesystem::temp_directory_path();
  const auto file = folder / "kvbudget-document-test.json";
  for (const std::string& path : {(folder / "kvbudget-no-such-file.json").string(), folder.string(), std::string()}) {
    try {
      (void)read_document(path);
      FAIL("read: " << path);
    } catch (const config_error& e) {
      CHECK(e.file() == path);
      CHECK(e.problem() == "cannot be read");
    }
  }
  std::ofstream(file, std::ios::binary) << "\xef\xbb\xbf{\"limit\": Infinity}\r\n";
  const document d = read_document(file.string());
  CHECK(is_non_finite(d.root["limit"]));
  CHECK(d.file == file.string());
  std::filesystem::remove(file);
}
