// The list of engines. A new one is its folder and one line here.
#pragma once

#include <kvbudget/engine/option_row.hpp>
#include <kvbudget/engines/engines.hpp>
#include <kvbudget/engines/llama_cpp/engine.hpp>
#include <kvbudget/engines/mlx_lm/engine.hpp>
#include <kvbudget/engines/none/engine.hpp>
#include <kvbudget/engines/transformers/engine.hpp>
#include <kvbudget/engines/vllm/engine.hpp>

namespace kvbudget {

namespace detail {
inline constexpr engine engine_list[] = {none::definition, transformers::definition, llama_cpp::definition,
                                         vllm::definition, mlx_lm::definition};
}

KVBUDGET_INLINE std::span<const engine> engines() { return detail::engine_list; }

KVBUDGET_INLINE const engine& find_engine(std::string_view name) {
  std::string known;
  for (const engine& e : engines()) {
    if (e.name == name || detail::is_listed(e.also, name)) return e;
    known += (known.empty() ? "" : ", ") + std::string(e.name);
  }
  throw usage_error({"", "engine", std::string(name)}, "unknown engine", "one of " + known);
}

}  // namespace kvbudget
