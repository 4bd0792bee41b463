# fg_test(NAME LABELS source...): adds a cmocka program and registers it with ctest under its labels: one of
# unit, cts, golden, fault, e2e; and tsan if it also runs under ThreadSanitizer ("unit;tsan"). It can use the
# library's internal headers, including generated ones, and symbols.
# Programs compiled by examples and by tests that use the default cache are stored in this folder, not in the
# user's cache.
set(FG_TEST_CACHE_FOLDER "${CMAKE_BINARY_DIR}/tests/cache" CACHE PATH "folder of the tests' compiled programs")
set(FG_TEST_CACHE "XDG_CACHE_HOME=${FG_TEST_CACHE_FOLDER}")
set(FG_TEST_ENVIRONMENT "${FG_TEST_CACHE}"
    # Reports show four frames of an allocation instead of 30: the plugin allocates a lot, and recording where
    # takes 18 % of the time (perf, test_train_resume). `ASAN_OPTIONS=malloc_context_size=30 build-asan/...` shows them all.
    "ASAN_OPTIONS=allocator_may_return_null=1:malloc_context_size=4"
    "TSAN_OPTIONS=allocator_may_return_null=1:suppressions=${CMAKE_SOURCE_DIR}/tests/support/tsan.supp"
    "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/support/lsan.supp:print_suppressions=0")
add_custom_target(tsan_tests) # what is built for ThreadSanitizer

# There are hundreds of tests, and gold (binutils) links them in half of the time.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=gold FG_HAS_GOLD)

# Sources of several tests, which are compiled once.
set(FG_TEST_SHARED aug_host aug_host_levels board catalog_text coefficient_pack csv_text disk effects fit_run
    fuzz_main image_files machine made_jpeg pack_made photo_pack photos reference run_program server trace_file trace_values)

function(fg_test_options name)
    target_include_directories(${name} PRIVATE
        ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/src
        ${CMAKE_SOURCE_DIR}/tests/support)
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE
        FGT_SOURCE_DIR="${CMAKE_SOURCE_DIR}" FGT_BINARY_DIR="${CMAKE_BINARY_DIR}")
    # a test runs once or twice
    target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
    if(FG_SANITIZE AND NOT FG_FUZZ)
        target_compile_options(${name} PRIVATE -O0)
    endif()
    fg_warnings(${name})
endfunction()

# Replaces the sources in FG_TEST_SHARED by their objects.
function(fg_test_objects out)
    set(result)
    foreach(source ${ARGN})
        cmake_path(GET source STEM stem)
        if(stem IN_LIST FG_TEST_SHARED)
            if(NOT TARGET shared_${stem})
                add_library(shared_${stem} OBJECT ${source})
                fg_test_options(shared_${stem})
            endif()
            list(APPEND result $<TARGET_OBJECTS:shared_${stem}>)
        else()
            list(APPEND result ${source})
        endif()
    endforeach()
    set(${out} ${result} PARENT_SCOPE)
endfunction()

function(fg_test name label)
    fg_test_objects(sources ${ARGN})
    add_executable(${name} ${sources})
    fg_test_options(${name})
    target_link_libraries(${name} PRIVATE fgt fulgurite_static cmocka ${FG_LIBRARIES})
    target_link_options(${name} PRIVATE $<$<BOOL:${FG_HAS_GOLD}>:-fuse-ld=gold>)
    add_test(NAME ${name} COMMAND ${name})
    if("unit" IN_LIST label)
        set_property(GLOBAL APPEND PROPERTY FG_UNIT_TESTS ${name})
    endif()
    if("tsan" IN_LIST label)
        add_dependencies(tsan_tests ${name})
    endif()
    set_tests_properties(${name} PROPERTIES
        LABELS "${label}" SKIP_RETURN_CODE 77 ENVIRONMENT "${FG_TEST_ENVIRONMENT}")
endfunction()

# fg_compile_quickly(test...): these tests run programs that XLA's CPU compiler does not optimize, which takes
# a fifth of the time. For tests of what surrounds the programs (the Trainer, files, devices, the program
# `fulgurite`), and of models whose operations other tests compile. Not for tests of operations, gradients,
# precisions or lowerings, nor for examples and the tutorial: they compile what users run.
function(fg_compile_quickly)
    set_property(TEST ${ARGN} APPEND PROPERTY ENVIRONMENT
        "XLA_FLAGS=--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false")
endfunction()

# fg_compile_without_llvm(test...): XLA's CPU compiler optimizes these tests' programs, but LLVM does not optimize
# the machine code, which saves half of the time. For tests of the program itself, which two programs are compared
# in or whose optimized form is examined. test_ops and the tests of models and precisions cover LLVM's optimizations.
function(fg_compile_without_llvm)
    set_property(TEST ${ARGN} APPEND PROPERTY ENVIRONMENT "XLA_FLAGS=--xla_backend_optimization_level=0")
endfunction()
