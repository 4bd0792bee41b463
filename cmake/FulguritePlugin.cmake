# The header of the PJRT C API is part of the CPU plugin's wheel, which tools/fetch-plugin installs in the same
# folder as `fulgurite setup cpu`. This tree contains no copy.
#   FG_PJRT_INCLUDE   folder that contains pjrt_c_api.h
if(NOT FG_PJRT_INCLUDE)
    execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/fetch-plugin cpu
        OUTPUT_VARIABLE fg_plugin_folder OUTPUT_STRIP_TRAILING_WHITESPACE
        RESULT_VARIABLE fg_plugin_result)
    if(NOT fg_plugin_result EQUAL 0)
        message(FATAL_ERROR "tools/fetch-plugin cpu failed: see above")
    endif()
    find_path(FG_PJRT_INCLUDE pjrt_c_api.h NO_DEFAULT_PATH REQUIRED
        PATHS ${fg_plugin_folder}/xla_plugins/xla_cpu_pjrt/include)
endif()
