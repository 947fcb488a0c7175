// kvbudget: what a model's KV cache takes, and what fits. See `kvbudget --help`.

#include <cstdio>
#include <exception>
#include <string_view>

#include <fmt/format.h>

#include "command.hpp"

namespace {

int run(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "models") return models();
  if (command == "sweep") return sweep(argc - 1, argv + 1);
  if (command == "compare") return compare(argc - 1, argv + 1);
  return plan(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const kvbudget::usage_error& e) {
    fmt::print(stderr, "kvbudget: error: {}\n", e.what());
    return wrong_usage;
  } catch (const kvbudget::engine_refusal& e) {
    fmt::print(stderr, "kvbudget: error: {}\n", e.what());
    return engine_refuses;
  } catch (const std::exception& e) {
    fmt::print(stderr, "kvbudget: error: {}\n", e.what());
    return not_understood;
  }
}
