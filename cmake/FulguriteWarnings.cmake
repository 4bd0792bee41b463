# The compiler warnings of this project. The development presets turn them into errors.
function(fg_warnings target)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:
        -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
        -Wstrict-prototypes -Wmissing-prototypes -Wvla -Walloca -Wundef -Wformat=2 -Wdouble-promotion
        -Wwrite-strings -Wpointer-arith -Wimplicit-fallthrough -Wno-unused-parameter
        ${FG_SANITIZE_WARNINGS}>)
endfunction()

# Rejects the functions listed in src/base/banned.h.
function(fg_banned target)
    target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:C>:SHELL:-include ${CMAKE_SOURCE_DIR}/src/base/banned.h>)
endfunction()
