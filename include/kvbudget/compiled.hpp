// Header-only, or compiled once: with KVBUDGET_COMPILED the definitions of the edges (the .ipp files) are in a library.
#pragma once

#if defined(KVBUDGET_COMPILED)
#define KVBUDGET_INLINE
#else
#define KVBUDGET_INLINE inline
#endif
