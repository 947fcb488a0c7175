// Where a quantity of a model came from.
#pragma once

#include <string>

#include <kvbudget/input/json_value.hpp>

namespace kvbudget {

struct provenance {
  std::string quantity;
  json_value value;
  std::string source;  ///< a JSON pointer, "class default (…)" or a rule
};

}  // namespace kvbudget
