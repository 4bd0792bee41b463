# The warning set of this project. The presets for development make them errors.
function(fg_warnings target)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:
        -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
        -Wstrict-prototypes -Wmissing-prototypes -Wvla -Walloca -Wundef -Wformat=2 -Wdouble-promotion
        -Wwrite-strings -Wpointer-arith -Wimplicit-fallthrough -Wno-unused-parameter
        ${FG_SANITIZE_WARNINGS}>)
endfunction()

# Refuses the functions that src/base/banned.h lists.
function(fg_banned target)
    target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:C>:SHELL:-include ${CMAKE_SOURCE_DIR}/src/base/banned.h>)
endfunction()
