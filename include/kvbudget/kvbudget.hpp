// Everything. A program that only computes needs core.hpp, which costs a tenth of it.
#pragma once

#include <kvbudget/compare.hpp>
#include <kvbudget/config/bare.hpp>
#include <kvbudget/config/capacity.hpp>
#include <kvbudget/config/engines.hpp>
#include <kvbudget/config/known_devices.hpp>
#include <kvbudget/config/locate.hpp>
#include <kvbudget/config/plan.hpp>
#include <kvbudget/core.hpp>
#include <kvbudget/ledger/from_layers.hpp>
#include <kvbudget/ledger/metrics.hpp>
#include <kvbudget/ledger/vllm.hpp>
#include <kvbudget/model.hpp>
#include <kvbudget/plan.hpp>
#include <kvbudget/plans.hpp>
#include <kvbudget/plot.hpp>
#include <kvbudget/report.hpp>
#include <kvbudget/spelling.hpp>
#include <kvbudget/sweep.hpp>
#include <kvbudget/weights.hpp>
