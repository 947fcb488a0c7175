// Two translation units with every header: all that headers define is inline or has no linkage twice.
#include <kvbudget/kvbudget.hpp>

kvbudget::bytes from_second(kvbudget::tokens length);

int main() { return from_second(kvbudget::tokens(1)).count() == 4096 ? 0 : 1; }
