// The version of the library, stated once: CMakeLists.txt reads it from here.
#pragma once

#define KVBUDGET_VERSION_MAJOR 0
#define KVBUDGET_VERSION_MINOR 1
#define KVBUDGET_VERSION_PATCH 0
