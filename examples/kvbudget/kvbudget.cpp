// kvbudget: what a model's KV cache takes, and what fits. See `kvbudget --help`.

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include <kvbudget/core/failure.hpp>

#include "command.hpp"

namespace {

int run(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "models") {
    if (argc > 2) fail_usage("models", argv[2], "not understood", "no argument");
    return models();
  }
  if (command == "engines") {
    if (argc > 3) fail_usage("engines", argv[3], "not understood", "one name at most");
    return engines(argc > 2 ? argv[2] : "");
  }
  if (command == "sweep") return sweep(argc - 1, argv + 1);
  if (command == "compare") return compare(argc - 1, argv + 1);
  return plan(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int result = run(argc, argv);
    if (std::fflush(stdout) == 0) return result;
    throw std::runtime_error("standard output: cannot be written");
  } catch (const kvbudget::usage_error& e) {
    fmt::print(stderr, "kvbudget: error: {}\n", e.what());
    return wrong_usage;
  } catch (const kvbudget::size_error& e) {
    const std::string_view what = e.what();
    fmt::print(stderr, "kvbudget: error: {}: sizes and counts that together stay below 2^64 bytes\n",
               what.substr(what.find(": ") == what.npos ? 0 : what.find(": ") + 2));
    return wrong_usage;
  } catch (const kvbudget::engine_refusal& e) {
    fmt::print(stderr, "kvbudget: error: {}\n", e.what());
    return engine_refuses;
  } catch (const std::exception& e) {
    fmt::print(stderr, "kvbudget: error: {}\n", e.what());
    return not_understood;
  }
}
