// The engines.
#pragma once

#include <span>
#include <string_view>

#include <kvbudget/compiled.hpp>
#include <kvbudget/engine/engine.hpp>

namespace kvbudget {

/// All engines, in the order of registration.
[[nodiscard]] std::span<const engine> engines();

/// An engine by its name. Throws usage_error that lists the known ones.
[[nodiscard]] const engine& find_engine(std::string_view name);

}  // namespace kvbudget

#ifndef KVBUDGET_COMPILED
#include <kvbudget/engines/engines.ipp>
#endif
