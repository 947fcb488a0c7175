// The model types that are known.
#pragma once

#include <string>
#include <vector>

#include <kvbudget/compiled.hpp>

namespace kvbudget {

/// A model type, and the kinds of layers that its class defaults have, in words.
struct known_model {
  std::string model_type;
  std::string layers;
};

/// Every model type of transformers that can be read, or is refused by name.
[[nodiscard]] std::vector<known_model> known_models();

}  // namespace kvbudget

#ifndef KVBUDGET_COMPILED
#include <kvbudget/plan/known_models.ipp>
#endif
