# libfulgurite_recipe (shared and static): runs configured by YAML files, from src/doc, src/verdict, src/report and src/recipe. It is
# a separate library because it depends on libfyaml.
#
# It uses helpers of libfulgurite (src/base, readers of JSON and CSV) that libfulgurite doesn't export. The static library
# gets them from libfulgurite.a. The shared library contains a hidden copy, fulgurite_helpers. Code with state
# (src/base/log.c) is excluded from the copy, so that a program has one log.
pkg_check_modules(LIBFYAML REQUIRED IMPORTED_TARGET libfyaml)
add_library(fulgurite_recipe_objects OBJECT)
target_include_directories(fulgurite_recipe_objects
    PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
target_compile_definitions(fulgurite_recipe_objects PRIVATE _GNU_SOURCE FG_NO_HERE)
set(FG_RECIPE_LIBRARIES PkgConfig::LIBFYAML PkgConfig::JANSSON ZLIB::ZLIB m)
target_link_libraries(fulgurite_recipe_objects PRIVATE ${FG_RECIPE_LIBRARIES})
fg_banned(fulgurite_recipe_objects)
fg_warnings(fulgurite_recipe_objects)
add_subdirectory(src/doc)
add_subdirectory(src/verdict)
add_subdirectory(src/report)
add_subdirectory(src/recipe)

foreach(kind shared static)
    add_library(fulgurite_recipe_${kind} ${FG_KIND_${kind}} $<TARGET_OBJECTS:fulgurite_recipe_objects>)
    set_target_properties(fulgurite_recipe_${kind} PROPERTIES
        OUTPUT_NAME fulgurite_recipe$<$<BOOL:${FG_REPLACEABLE}>:_${kind}>
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    target_link_libraries(fulgurite_recipe_${kind} PUBLIC fulgurite_${kind}
        PRIVATE ${FG_RECIPE_LIBRARIES})
endforeach()
set_target_properties(fulgurite_recipe_shared PROPERTIES EXPORT_NAME fulgurite_recipe)
add_library(fulgurite::fulgurite_recipe ALIAS fulgurite_recipe_shared)

set(FG_HELPERS base/alloc.c base/arena.c base/buf.c base/crc32c.c base/duration.c base/error.c base/file.c base/file_content.c base/hash.c base/library.c base/map.c base/number.c base/rng.c
    base/resources.c base/output.c base/print.c base/reserved.c base/run_lock.c base/temporary.c base/text.c base/thread.c catalog/catalog_options.c catalog/class_counts.c catalog/draft.c data/csv_images.c data/npy_header.c
    option/choice.c option/describe.c option/fill.c option/format.c option/parse.c option/range.c option/values.c
    input/block.c input/csv_cell.c input/csv_table.c input/json_file.c
    nn/published_names.c train/state/metrics.c train/watch/input_report.c callback/prediction_file.c)
list(TRANSFORM FG_HELPERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/src/)
add_library(fulgurite_helpers STATIC ${FG_HELPERS})
target_include_directories(fulgurite_helpers PRIVATE include src)
target_compile_definitions(fulgurite_helpers PRIVATE _GNU_SOURCE FG_NO_HERE)
target_link_libraries(fulgurite_helpers PRIVATE ${FG_LIBRARIES} PkgConfig::XXHASH)
fg_banned(fulgurite_helpers)
fg_warnings(fulgurite_helpers)
target_link_libraries(fulgurite_recipe_shared PRIVATE fulgurite_helpers)
target_link_options(fulgurite_recipe_shared PRIVATE
    -Wl,--exclude-libs,libfulgurite_helpers.a -Wl,--no-undefined)
