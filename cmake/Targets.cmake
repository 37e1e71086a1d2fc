# Compile settings shared by all of CERAR's own targets.
add_library(cerar_settings INTERFACE)
target_compile_features(cerar_settings INTERFACE cxx_std_20)
# No contraction: an encoding that is added and later removed must be the same bits on every path (docs/theory.md).
target_compile_options(cerar_settings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -ffp-contract=off)
# GCC 12 takes std::string's own copies for overlapping ones (GCC bug 105651).
target_compile_options(cerar_settings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(CERAR_WERROR)
  target_compile_options(cerar_settings INTERFACE -Werror)
endif()
if(CERAR_SANITIZE)
  target_compile_options(cerar_settings INTERFACE -fsanitize=${CERAR_SANITIZE} -fno-omit-frame-pointer
                                                  -fno-sanitize-recover=all)
  target_link_options(cerar_settings INTERFACE -fsanitize=${CERAR_SANITIZE})
  target_compile_definitions(cerar_settings INTERFACE CERAR_SANITIZED)
endif()

# cerar_library(<folder> SOURCES ... LINK ...): the static library of one folder, exported as cerar::<folder>.
function(cerar_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE" ${ARGN})
  add_library(cerar_${folder} STATIC ${ARG_SOURCES})
  add_library(cerar::${folder} ALIAS cerar_${folder})
  set_target_properties(cerar_${folder} PROPERTIES EXPORT_NAME ${folder} POSITION_INDEPENDENT_CODE ON)
  target_include_directories(cerar_${folder} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/cerar>)
  target_link_libraries(cerar_${folder} PUBLIC ${ARG_LINK} PRIVATE $<BUILD_INTERFACE:cerar_settings> ${ARG_PRIVATE})
  target_compile_features(cerar_${folder} PUBLIC cxx_std_20)
endfunction()
