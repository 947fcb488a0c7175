include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Headers: one package for every architecture.
set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/kvbudget)

# File sets carry their folder from CMake 3.23 on only.
target_include_directories(kvbudget_core INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS kvbudget_core EXPORT kvbudget-core-targets FILE_SET HEADERS)
install(EXPORT kvbudget-core-targets NAMESPACE kvbudget:: DESTINATION ${package_dir})
if(TARGET kvbudget_library)
  install(TARGETS kvbudget_library EXPORT kvbudget-targets FILE_SET HEADERS)
  install(EXPORT kvbudget-targets NAMESPACE kvbudget:: DESTINATION ${package_dir})
endif()
if(TARGET kvbudget_compiled)
  # The one part that is for one architecture and one compiler.
  install(TARGETS kvbudget_compiled EXPORT kvbudget-compiled-targets)
  install(EXPORT kvbudget-compiled-targets NAMESPACE kvbudget:: DESTINATION ${package_dir})
endif()
if(TARGET kvbudget)
  install(TARGETS kvbudget)
endif()

configure_package_config_file(cmake/kvbudget-config.cmake.in ${PROJECT_BINARY_DIR}/kvbudget-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kvbudget-config-version.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/kvbudget-config.cmake ${PROJECT_BINARY_DIR}/kvbudget-config-version.cmake
  DESTINATION ${package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/kvbudget)
