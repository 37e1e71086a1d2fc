# `cmake --install build --prefix DIR`, then `find_package(cerar)` elsewhere (tests/consumer does exactly that).
install(TARGETS cerar RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS cerar_pacing LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/cerar)
install(TARGETS cerar_coding cerar_optimize cerar_collective EXPORT cerarTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(folder coding optimize collective)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cerar
          FILES_MATCHING PATTERN "*.h")
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/catalogue/ DESTINATION ${CMAKE_INSTALL_DATADIR}/cerar/catalogue
        PATTERN make.sh EXCLUDE)
install(EXPORT cerarTargets NAMESPACE cerar:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/cerar)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/cerarConfig.cmake.in ${CMAKE_BINARY_DIR}/cerarConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/cerar)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cerarConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cerarConfig.cmake ${CMAKE_BINARY_DIR}/cerarConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/cerar)
