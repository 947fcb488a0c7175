// The ledger of a server's cache: who holds how much, and who may come in.
#pragma once

#include <kvbudget/ledger/ledger.hpp>
