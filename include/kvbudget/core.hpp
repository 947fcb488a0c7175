// The core: constexpr, without allocation, strings, JSON or printing.
#pragma once

#include <kvbudget/core/budget.hpp>
#include <kvbudget/core/cache.hpp>
#include <kvbudget/core/checked.hpp>
#include <kvbudget/core/failure.hpp>
#include <kvbudget/core/layer.hpp>
#include <kvbudget/core/layers.hpp>
#include <kvbudget/core/placement.hpp>
#include <kvbudget/core/print.hpp>
#include <kvbudget/core/request.hpp>
#include <kvbudget/core/shared_prefix.hpp>
#include <kvbudget/core/storage_type.hpp>
#include <kvbudget/core/units.hpp>
#include <kvbudget/version.hpp>
