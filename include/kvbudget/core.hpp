// The core: constexpr, without allocation, strings, JSON or printing.
#pragma once

#include <kvbudget/budget.hpp>
#include <kvbudget/cache.hpp>
#include <kvbudget/checked.hpp>
#include <kvbudget/failure.hpp>
#include <kvbudget/layer.hpp>
#include <kvbudget/layers.hpp>
#include <kvbudget/placement.hpp>
#include <kvbudget/print.hpp>
#include <kvbudget/request.hpp>
#include <kvbudget/shared_prefix.hpp>
#include <kvbudget/storage_type.hpp>
#include <kvbudget/units.hpp>
#include <kvbudget/version.hpp>
