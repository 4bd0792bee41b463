# fg_test(NAME LABEL source...): a cmocka program registered with ctest under one label
# (unit, cts, golden, fault, fuzz, e2e). It sees the library's internal headers and symbols.
function(fg_test name label)
    add_executable(${name} ${ARGN})
    target_include_directories(${name} PRIVATE
        ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests/support)
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE
        FGT_SOURCE_DIR="${CMAKE_SOURCE_DIR}" FGT_BINARY_DIR="${CMAKE_BINARY_DIR}")
    target_link_libraries(${name} PRIVATE fgt fulgurite_static cmocka m Threads::Threads
        ZLIB::ZLIB PkgConfig::JANSSON PkgConfig::PROTOBUF_C PkgConfig::XXHASH ${CMAKE_DL_LIBS})
    fg_warnings(${name})
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77)
endfunction()
