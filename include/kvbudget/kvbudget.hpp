// Everything. A program that only computes needs core.hpp, which costs a tenth of it.
#pragma once

#include <kvbudget/config/model.hpp>
#include <kvbudget/core.hpp>
#include <kvbudget/core/pool.hpp>
#include <kvbudget/engine/parse_option.hpp>
#include <kvbudget/engines/engines.hpp>
#include <kvbudget/engines/vllm/block_pool.hpp>
#include <kvbudget/input/locate.hpp>
#include <kvbudget/input/read_weights.hpp>
#include <kvbudget/input/spelling.hpp>
#include <kvbudget/ledger.hpp>
#include <kvbudget/ledger/from_layers.hpp>
#include <kvbudget/ledger/metrics.hpp>
#include <kvbudget/plan/known_devices.hpp>
#include <kvbudget/plan/known_models.hpp>
#include <kvbudget/plan/make_plan.hpp>
#include <kvbudget/plan/model_length.hpp>
#include <kvbudget/report/compare.hpp>
#include <kvbudget/report/plans.hpp>
#include <kvbudget/report/plot.hpp>
#include <kvbudget/report/report.hpp>
#include <kvbudget/report/sweep.hpp>
