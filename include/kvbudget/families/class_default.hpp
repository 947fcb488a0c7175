// The shape of the table of class defaults: what a transformers configuration class says when a file says nothing.
//
// The rows themselves are data made from an installed transformers (class_defaults.hpp).
#pragma once

#include <cstdint>

namespace kvbudget::families {

/// How `class_default::value` is to be read.
enum class default_kind : std::uint8_t {
  integer,    ///< the value itself
  boolean,    ///< 0 or 1
  null_value, ///< an explicit null that overrides a default of the text class
  json_text   ///< an index into `default_texts`: a JSON text (a list, a fraction, a word)
};

/// One raw class default: the value of field `field_names[field]` before any post-processing of the class.
struct class_default {
  std::uint8_t field;
  default_kind kind;
  std::int32_t value;
};

/// One entry of a class's attribute_map: attribute `field_names[attribute]` is stored under `field_names[field]`.
struct attribute_alias {
  std::uint8_t attribute;
  std::uint8_t field;
};

/// What is known of one model type. Ranges index `class_defaults` and `attribute_aliases`.
struct model_type_row {
  const char* model_type;
  std::uint16_t defaults_begin;
  std::uint8_t defaults_size;
  std::uint16_t aliases_begin;
  std::uint8_t aliases_size;
  const char* text_field;          ///< key of the language model's sub-config ("text_config"; nested keys joined by '/'), or nullptr: the config itself
  const char* text_model_type;     ///< model type of that sub-config where it does not say its own, or nullptr
  std::uint16_t text_defaults_begin; ///< defaults of the composite that differ from the text class: they hold when the sub-config is missing
  std::uint8_t text_defaults_size;
  bool merges_text_defaults;       ///< those defaults also fill a sub-config that is present but partial
};

}  // namespace kvbudget::families
