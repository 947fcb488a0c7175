// The shape of the table of class defaults: what a transformers configuration class says when a file says nothing.
//
// The rows themselves are data made from an installed transformers (class_defaults.hpp).
#pragma once

#include <cstdint>

namespace kvbudget::detail::families {

/// How `class_default::value` is to be read.
enum class default_kind : std::uint8_t {
  integer,     ///< the value itself
  boolean,     ///< 0 or 1
  null_value,  ///< an explicit null that overrides a default of the text class
  json_text    ///< an index into `default_texts`: a JSON text (a list, a fraction, a word)
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

/// What becomes of a field of the file in the class that reads it. Fields that are not listed are ignored: nobody asks
/// for them.
enum class field_fate : std::uint8_t {
  declared,     ///< the class has the field
  computed,     ///< the class computes it, and the file's own word comes last
  overwritten,  ///< the class has the field, and computes it whatever the file says
  refused,      ///< a property of the class: a file that states it does not load
  read,         ///< the class does not know it, but its model or the cache asks for it
  for_text      ///< at the root of a composite without a sub-config: it goes to the language model
};
/// What an explicit null means for a field. The classes check their fields since 5.4.
enum class null_word : std::uint8_t {
  absent,   ///< as if the file did not state it
  refused,  ///< the class, or the model that computes with it, takes none
  zero_too  ///< as if absent, and 0 is the same
};
struct class_field {
  std::uint8_t field;
  field_fate fate;
  null_word null = null_word::absent;
};

/// What is known of one model type. Ranges index `class_defaults`, `attribute_aliases` and
/// `class_fields`.
struct model_type_row {
  const char* model_type;
  std::uint16_t defaults_begin;
  std::uint8_t defaults_size;
  std::uint16_t aliases_begin;
  std::uint8_t aliases_size;
  const char* text_field;  ///< key of the language model's sub-config ("text_config"; nested keys joined by '/'), or
                           ///< nullptr: the config itself
  const char* text_model_type;        ///< model type of that sub-config where it does not say its own, or nullptr
  std::uint16_t text_defaults_begin;  ///< defaults of the composite that differ from the text class: they hold when the
                                      ///< sub-config is missing
  std::uint8_t text_defaults_size;
  bool merges_text_defaults;     ///< those defaults also fill a sub-config that is present but partial
  bool fixed_text_class;         ///< the sub-config is of `text_model_type`, whatever type it says
  const char* other_text_field;  ///< another key that takes the place of `text_field`, or nullptr
  bool root_is_text;             ///< without a sub-config, every field of the root goes to the language model
  std::uint16_t fields_begin;    ///< into `class_fields`
  std::uint8_t fields_size;
  bool layers_may_differ;  ///< its model asks `per_layer_config` for the fields of each layer
  bool caches_as_decoder;  ///< its bare model keeps a cache only where `is_decoder` is set
  bool heads_divide;       ///< hidden_size has to be a multiple of the heads; where not, head_dim is rounded down
};

}  // namespace kvbudget::detail::families
