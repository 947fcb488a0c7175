// Definitions of question.hpp.
#pragma once

#include <kvbudget/plan/question.hpp>

namespace kvbudget {

KVBUDGET_INLINE plan_question::plan_question() = default;
KVBUDGET_INLINE plan_question::plan_question(const plan_question& other) = default;
KVBUDGET_INLINE plan_question::plan_question(plan_question&& other) noexcept = default;
KVBUDGET_INLINE plan_question& plan_question::operator=(const plan_question& other) = default;
KVBUDGET_INLINE plan_question& plan_question::operator=(plan_question&& other) noexcept = default;
KVBUDGET_INLINE plan_question::~plan_question() = default;

KVBUDGET_INLINE plan_report::plan_report() = default;
KVBUDGET_INLINE plan_report::plan_report(const plan_report& other) = default;
KVBUDGET_INLINE plan_report::plan_report(plan_report&& other) noexcept = default;
KVBUDGET_INLINE plan_report& plan_report::operator=(const plan_report& other) = default;
KVBUDGET_INLINE plan_report& plan_report::operator=(plan_report&& other) noexcept = default;
KVBUDGET_INLINE plan_report::~plan_report() = default;

}  // namespace kvbudget
